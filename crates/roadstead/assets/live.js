// What the scheduler tells all the time: a stream of activity, and its status now and then.

import { ask } from "./api.js";
import { chooseRateUnit, moment } from "./words.js";

const KEPT_SAMPLES = 600;
const SILENT_MS = 3000;
const WATCH_EVERY_MS = 500;
const STATUS_EVERY_MS = 5000;
const RETRY_FIRST_MS = 1000;
const RETRY_LAST_MS = 5000;

const SILENCE = "No connection to the scheduler. What you see is the last that is known; trying again.";

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
 * Tells `activity` for each message, `jump` when it is of another time, `series` when there are new
 * samples, `status` when it was asked for, and `connection` when it is lost or found again.
 */
export class Live extends EventTarget {
  status = null;
  activity = null;
  /** Why nothing is heard; `null` while something is. */
  trouble = null;
  /** Moves from place to place, by cause, each with its rate. */
  flows = [];
  series = { step: 1, start: 0, samples: [] };

  #received = 0;
  /** When something was last heard, or listening began. */
  #heard = 0;
  #retry = RETRY_FIRST_MS;
  #source = null;
  #isFilling = false;

  start() {
    this.#listen();
    this.refreshStatus();
    setInterval(() => document.hidden || this.refreshStatus(), STATUS_EVERY_MS);
    setInterval(() => this.#watch(), WATCH_EVERY_MS);
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
      if (performance.now() - this.#received > STATUS_EVERY_MS) this.#refused(error);
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
    for (const flow of this.flows) if (picks(flow)) sum += flow.rate;
    return sum;
  }

  /** The whole series again, after a gap. */
  async refill() {
    if (this.#isFilling) return;
    this.#isFilling = true;
    try {
      this.#replaceSeries((await ask("activity")).series);
    } catch {
      // The stream goes on, and the next gap asks again.
    } finally {
      this.#isFilling = false;
    }
  }

  /** Everything as it was at another time, after a jump there. */
  async jump(status) {
    this.status = status;
    this.#takeWhole(await ask("activity"));
    this.#tell("jump");
    this.#tell("status");
  }

  #listen() {
    if (this.#source) return;
    const source = new EventSource("api/v1/stream");
    this.#source = source;
    this.#heard = performance.now();
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
      this.#takeWhole(await ask("activity"));
      this.#found();
    } catch (error) {
      this.#refused(error);
    }
  }

  #hangUp() {
    this.#source?.close();
    this.#source = null;
  }

  /** A connection that is open and silent looks alive, unless somebody counts. */
  #watch() {
    if (!this.#source || document.hidden || performance.now() - this.#heard < SILENT_MS) return;
    const last = this.activity ? ` since ${moment(this.activity.now, this.epoch)}` : "";
    this.#lost(
      `Nothing was heard from the scheduler${last}: it is stopped, busy or out of reach. What you see is the last that is known.`,
    );
  }

  /** One message of the stream: its series has what is new. */
  #take(activity) {
    // Another run, or a jump back in time: nothing of before is comparable.
    const moves = ({ totals }) => totals?.moves ?? 0;
    const known = this.activity;
    const isOther = known && (activity.now < known.now || moves(activity) < moves(known));
    this.#keep(activity);
    if (isOther) {
      this.#replaceSeries(activity.series);
      this.#tell("jump");
      this.refill();
    } else if (this.#takeSeries(activity.series)) this.#tell("series");
  }

  #takeWhole(activity) {
    this.#keep(activity);
    this.#replaceSeries(activity.series);
  }

  #keep(activity) {
    this.activity = activity;
    this.#received = this.#heard = performance.now();
    this.flows = activity.flows ?? [];
    chooseRateUnit(this.flows);
    this.#tell("activity");
  }

  #replaceSeries(series) {
    this.series = { step: 1, start: 0, samples: [] };
    this.#takeSeries(series);
    // Also that there is nothing is news.
    this.#tell("series");
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

  #refused(error) {
    if (error.isSilence) this.#lost(SILENCE);
    else this.#lost(`The scheduler refuses to answer: ${error.message}`, true);
  }

  #lost(trouble, isAnswer = false) {
    // What the server said itself says more than that it is silent.
    if (this.trouble === trouble || (this.trouble !== null && !isAnswer)) return;
    this.trouble = trouble;
    this.#tell("connection");
  }

  #found() {
    if (this.trouble === null) return;
    this.trouble = null;
    this.#tell("connection");
    this.refreshStatus();
  }

  #tell(name) {
    this.dispatchEvent(new Event(name));
  }
}
