// What the scheduler tells all the time: a stream of activity, and its status now and then.

import { ask } from "./api.js";

const KEPT_SAMPLES = 600;
const RATE_WINDOW_MS = 4000;
const SHORTEST_RATE_SECONDS = 0.9;
const STATUS_EVERY_MS = 5000;
const RETRY_FIRST_MS = 1000;
const RETRY_LAST_MS = 5000;

const SILENCE = "No connection to the scheduler. What you see is the last that is known; trying again.";

function troubleOf(error) {
  return error.isSilence ? SILENCE : `The scheduler refuses to answer: ${error.message}`;
}

/** Columns of a sample of the series. */
export const COLUMN = {
  active: 0,
  backoff: 1,
  unschedulable: 2,
  gated: 3,
  inFlight: 4,
  attempts: 5,
  bound: 6,
  moves: 7,
  waitP50: 8,
  waitP99: 9,
};

/**
 * Tells `activity` for each message, `series` when there are new samples, `status` when it was
 * asked for, and `connection` when it is lost or found again.
 */
export class Live extends EventTarget {
  status = null;
  activity = null;
  /** Why nothing is heard; `null` while something is. */
  trouble = null;
  /** Flows with their rates, by `from to cause`. */
  flows = new Map();
  series = { step: 1, start: 0, samples: [] };

  #snapshots = [];
  #received = 0;
  #retry = RETRY_FIRST_MS;
  #source = null;
  #isFilling = false;

  start() {
    this.#listen();
    this.refreshStatus();
    setInterval(() => document.hidden || this.refreshStatus(), STATUS_EVERY_MS);
    // A page in the background keeps no connection that others could use.
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.#hangUp();
      else {
        this.#listen();
        this.refreshStatus();
      }
    });
  }

  async refreshStatus() {
    try {
      this.status = await ask("status");
      this.#tell("status");
    } catch (error) {
      // One that is only busy is heard in the stream.
      if (performance.now() - this.#received > STATUS_EVERY_MS) this.#lost(troubleOf(error));
    }
  }

  /** The scheduler's time now, as far as can be told. */
  now() {
    const known = this.activity?.now ?? this.status?.now ?? 0;
    if (this.status?.mode === "replay" || this.trouble !== null) return known;
    const speed = this.status?.speed ?? 1;
    return known + (Math.min(performance.now() - this.#received, 2000) / 1000) * speed;
  }

  get epoch() {
    return this.status?.epoch ?? "start";
  }

  /** A rate over all flows that the test picks. */
  rateOf(picks) {
    let sum = 0;
    for (const flow of this.flows.values()) if (picks(flow)) sum += flow.rate;
    return sum;
  }

  /** The whole series again, after a gap. */
  async refill() {
    if (this.#isFilling) return;
    this.#isFilling = true;
    try {
      const { series } = await ask("activity");
      this.series = { step: 1, start: 0, samples: [] };
      if (this.#takeSeries(series)) this.#tell("series");
    } catch {
      // The stream goes on, and the next gap asks again.
    } finally {
      this.#isFilling = false;
    }
  }

  /** Everything as it was at another time, after a jump there. */
  async jump(status) {
    this.status = status;
    this.#take(await ask("activity"));
    this.#tell("status");
  }

  #listen() {
    if (this.#source) return;
    const source = new EventSource("api/v1/stream");
    this.#source = source;
    source.addEventListener("activity", (message) => {
      this.#retry = RETRY_FIRST_MS;
      this.#take(JSON.parse(message.data));
      this.#found();
    });
    source.addEventListener("error", () => {
      // It tries again by itself, except after an answer that is no stream.
      if (source.readyState !== EventSource.CLOSED) {
        this.#lost(SILENCE);
        return;
      }
      this.#hangUp();
      this.#look();
      setTimeout(() => document.hidden || this.#listen(), this.#retry);
      this.#retry = Math.min(this.#retry * 2, RETRY_LAST_MS);
    });
  }

  /** One look in place of a stream: there may be too many of those. */
  async #look() {
    try {
      this.#take(await ask("activity"));
      this.#found();
    } catch (error) {
      this.#lost(troubleOf(error));
    }
  }

  #hangUp() {
    this.#source?.close();
    this.#source = null;
  }

  #take(activity) {
    // Another run, or a jump back in time: nothing counted before is comparable.
    const moves = ({ totals }) => totals?.moves ?? 0;
    if (this.activity && (activity.now < this.activity.now || moves(activity) < moves(this.activity)))
      this.#forget();
    this.activity = activity;
    this.#received = performance.now();
    this.#takeFlows(activity);
    this.#tell("activity");
    if (this.#takeSeries(activity.series)) this.#tell("series");
  }

  #forget() {
    this.flows.clear();
    this.#snapshots = [];
    this.series = { step: 1, start: 0, samples: [] };
  }

  #takeFlows({ now, flows = [] }) {
    const counts = new Map();
    for (const { from, to, cause, count } of flows) {
      const key = `${from} ${to} ${cause}`;
      counts.set(key, count);
      const known = this.flows.get(key);
      if (known) known.count = count;
      else this.flows.set(key, { from, to, cause, count, rate: 0 });
    }
    const wall = performance.now();
    this.#snapshots.push({ wall, now, counts });
    while (this.#snapshots.length > 2 && wall - this.#snapshots[0].wall > RATE_WINDOW_MS) {
      this.#snapshots.shift();
    }
    const oldest = this.#snapshots[0];
    const elapsed = now - oldest.now;
    // A moment says nothing about a rate yet.
    const isKnown = elapsed >= SHORTEST_RATE_SECONDS;
    for (const [key, flow] of this.flows) {
      const before = oldest.counts.get(key) ?? 0;
      flow.rate = isKnown ? Math.max(0, flow.count - before) / elapsed : 0;
    }
  }

  #takeSeries(news) {
    if (!news?.samples?.length) return false;
    const { series } = this;
    const step = news.step || 1;
    const end = series.start + series.samples.length * step;
    const gap = Math.round((news.start - end) / step);
    if (!series.samples.length || gap < -KEPT_SAMPLES || news.samples.length >= KEPT_SAMPLES) {
      this.series = { step, start: news.start, samples: news.samples.slice(-KEPT_SAMPLES) };
      this.series.start += (news.samples.length - this.series.samples.length) * step;
      return true;
    }
    if (gap > 0) {
      // Messages were missed. What they held is asked for; this one's samples come with it.
      this.refill();
      return false;
    }
    const fresh = news.samples.slice(-gap);
    series.samples.push(...fresh);
    const surplus = series.samples.length - KEPT_SAMPLES;
    if (surplus > 0) {
      series.samples.splice(0, surplus);
      series.start += surplus * step;
    }
    return fresh.length > 0;
  }

  #lost(trouble) {
    // What the server said itself says more than that it is silent.
    if (this.trouble !== null && trouble === SILENCE) return;
    this.trouble = trouble;
    this.#tell("connection");
  }

  #found() {
    if (this.trouble === null) return;
    this.trouble = null;
    this.#snapshots = this.#snapshots.slice(-1);
    this.#tell("connection");
    this.refreshStatus();
  }

  #tell(name) {
    this.dispatchEvent(new Event(name));
  }
}
