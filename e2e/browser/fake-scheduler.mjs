// A scheduler that only looks like one: pods that move by chance, as many and as fast as a test
// wants. What the page does when the server is slow, silent or very busy is tried with it.

const CAUSES = {
  "new active": ["PodAdd"],
  "gated active": ["PodUpdatePodSchedulingGatesEliminated"],
  "active inFlight": ["Pop"],
  "inFlight bound": ["Done"],
  "inFlight unschedulable": ["ScheduleAttemptFailure"],
  "inFlight backoff": ["ScheduleAttemptFailure"],
  "unschedulable backoff": ["AssignedPodDelete", "AssignedPodDelete", "NodeAdd"],
  "unschedulable active": ["NodeAdd", "NodeUpdateNodeTaint", "UnschedulableTimeout"],
  "backoff active": ["BackoffComplete"],
};
const PLUGINS = [
  "NodeResourcesFit",
  "TaintToleration",
  "NodeAffinity",
  "InterPodAffinity",
  "PodTopologySpread",
];

export class FakeScheduler {
  constructor({
    waiting = 400,
    movesPerSecond = 40,
    nodes = 60,
    anchored = {},
    namespace = "default",
    seed = 7,
  } = {}) {
    this.random = generator(seed);
    this.started = Date.now();
    this.movesPerSecond = movesPerSecond;
    this.places = { active: [], backoff: [], unschedulable: [], gated: [], inFlight: [] };
    this.pods = new Map();
    this.flows = new Map();
    this.totals = { attempts: 0, bound: 0, unschedulable: 0, errors: 0, preempted: 0, moves: 0 };
    this.samples = [];
    this.recent = [];
    this.atSample = { attempts: 0, bound: 0, moves: 0 };
    this.owed = 0;
    this.number = 0;
    this.nodes = Array.from({ length: nodes }, (_, index) => this.node(index));
    for (let index = 0; index < waiting; index += 1) {
      const chance = this.random();
      this.add(
        chance < 0.86 ? "unschedulable" : chance < 0.94 ? "backoff" : chance < 0.97 ? "gated" : "active",
      );
    }
    // These stay where they are.
    for (const [name, place] of Object.entries(anchored)) this.add(place, name, namespace).isAnchored = true;
    for (let second = -600; second < 0; second += 1) this.samples.push(this.sample(Math.sin(second / 60)));
  }

  now() {
    return (Date.now() - this.started) / 1000 + 600;
  }

  node(index) {
    const use = Math.min(1, Math.abs(this.random() * 0.7 + 0.35));
    return {
      name: `berth-${index}`,
      unschedulable: index % 23 === 5,
      taints: index % 11 === 3 ? ["dedicated=gpu:NoSchedule"] : [],
      zone: "abc"[index % 3],
      cpu: { allocatable: 8000, requested: Math.round(8000 * use) },
      memory: { allocatable: 32 * 2 ** 30, requested: Math.round(32 * 2 ** 30 * use * 0.7) },
      pods: { allocatable: 110, requested: Math.round(40 * use) },
      nominated: 0,
    };
  }

  add(place, name = `boat-${this.number}`, namespace = this.number % 5 ? "default" : "batch") {
    this.number += 1;
    const pod = {
      namespace,
      name,
      uid: `uid-${this.number}`,
      priority: this.number % 40 ? 0 : 1000,
      attempts: place === "active" ? 0 : 3,
      queued: this.now() - this.random() * 500,
      since: this.now(),
      place: null,
    };
    this.pods.set(`${namespace}/${name}`, pod);
    this.put(pod, place);
    return pod;
  }

  put(pod, place) {
    pod.place = place;
    pod.since = this.now();
    if (!this.places[place]) return;
    pod.index = this.places[place].length;
    this.places[place].push(pod);
  }

  take(pod) {
    const list = this.places[pod.place];
    if (!list) return;
    const last = list.pop();
    if (last !== pod) {
      list[pod.index] = last;
      last.index = pod.index;
    }
  }

  move(pod, to, cause) {
    const from = pod.place ?? "new";
    cause ??= this.pick(CAUSES[`${from} ${to}`] ?? ["PodUpdate"]);
    this.take(pod);
    if (to === "gone" || to === "bound") pod.place = to;
    else this.put(pod, to);
    const key = `${from} ${to} ${cause}`;
    const flow = this.flows.get(key) ?? { from, to, cause, count: 0, lately: [] };
    flow.count += 1;
    flow.lately.push(this.now());
    this.flows.set(key, flow);
    this.totals.moves += 1;
    if (to === "inFlight") {
      this.totals.attempts += 1;
      pod.attempts += 1;
    }
    if (to === "bound") {
      this.totals.bound += 1;
      pod.node = this.pick(this.nodes)?.name;
    }
    // The last move of each of some pods.
    const known = this.recent.findIndex(
      ({ name, namespace }) => name === pod.name && namespace === pod.namespace,
    );
    if (known >= 0) this.recent.splice(known, 1);
    if (known >= 0 || this.recent.length < 50 || this.random() < 0.1)
      this.recent.push({ at: this.now(), namespace: pod.namespace, name: pod.name, from, to, cause });
    if (this.recent.length > 50) this.recent.shift();
  }

  pick(list) {
    return list[Math.floor(this.random() * list.length)];
  }

  /** As many moves as are due for that many seconds. */
  step(seconds) {
    this.owed += seconds * this.movesPerSecond;
    for (; this.owed >= 1; this.owed -= 1) this.anyMove();
    const due = Math.floor(this.now());
    while (this.samples.length < due) this.samples.push(this.sample());
  }

  anyMove() {
    const { active, backoff, unschedulable, gated, inFlight } = this.places;
    const [held, sleeping] = [this.pick(gated), this.pick(unschedulable)];
    const chance = this.random();
    if (inFlight.length > 8 || (chance < 0.3 && inFlight.length)) {
      const pod = this.pick(inFlight);
      const fate = pod.isLucky ? 0 : this.random();
      this.move(pod, fate < 0.35 ? "bound" : fate < 0.97 ? "unschedulable" : "backoff");
      if (fate < 0.35) {
        const fresh = this.add(null);
        fresh.queued = this.now();
        this.move(fresh, "active");
      }
    } else if (chance < 0.6 && active.length) this.move(this.pick(active), "inFlight");
    else if (chance < 0.8 && backoff.length) this.move(this.pick(backoff), "active");
    else if (chance < 0.81 && gated.length > 3 && !held.isAnchored) this.move(held, "active");
    else if (!sleeping || sleeping.isAnchored) return;
    else if (chance < 0.815) this.move(sleeping, "gone", "PodDelete");
    else this.move(sleeping, this.random() < 0.75 ? "backoff" : "active");
  }

  counts() {
    const counts = { binding: 2 };
    for (const [place, list] of Object.entries(this.places)) counts[place] = list.length;
    return counts;
  }

  sample(swing) {
    const { active, backoff, unschedulable, gated, inFlight } = this.counts();
    const wave = swing === undefined ? 1 : 1 + swing * 0.25;
    const since = (name) => this.totals[name] - this.atSample[name];
    const busy =
      swing === undefined
        ? [since("attempts"), since("bound"), since("moves")]
        : [0.3, 0.1, 1].map((part) =>
            Math.round(this.movesPerSecond * part * wave * (0.8 + this.random() * 0.4)),
          );
    this.atSample = { ...this.totals };
    return [
      Math.round(active * wave),
      Math.round(backoff * wave),
      Math.round(unschedulable * (swing === undefined ? 1 : 0.9 + swing * 0.08)),
      gated,
      Math.round(inFlight * wave),
      ...busy,
      0.4 * wave * (0.8 + this.random() * 0.4),
      40 * wave * (0.7 + this.random() * 0.6),
    ];
  }

  /** A flow with its rate: of the last 5 seconds if that is many, and else of the last minute. */
  flow({ lately, ...flow }) {
    const now = this.now();
    while (lately.length && lately[0] < now - 60) lately.shift();
    const shortly = lately.reduce((sum, at) => sum + (at > now - 5 ? 1 : 0), 0);
    return { ...flow, rate: shortly >= 20 ? shortly / 5 : lately.length / Math.min(60, Math.max(10, now - 600)) };
  }

  held() {
    const { unschedulable, gated } = this.counts();
    const tainted = Math.floor(unschedulable / 3);
    return [
      { rejectors: ["NodeResourcesFit"], pods: unschedulable - tainted },
      { rejectors: ["NodeResourcesFit", "TaintToleration"], pods: tainted },
      { gate: "SchedulingGates", rejectors: [], pods: gated },
    ].filter(({ pods }) => pods > 0);
  }

  /** The document of /activity, with samples from the given one on. */
  activity(from = 0) {
    const first = Math.max(from, this.samples.length - 600);
    const scale = this.totals.moves + 1000;
    const events = [
      "AssignedPodDelete",
      "NodeAdd",
      "NodeUpdateNodeTaint",
      "NodeUpdateNodeLabel",
      "PodUpdatePodLabel",
      "AssignedPodAdd",
      "NodeUpdateNodeAllocatable",
      "PersistentVolumeClaimAdd",
    ].map((event, index) => {
      const woke = Math.round(scale / (index + 1.5));
      const placed = Math.round(woke * [0.41, 0.83, 0.12, 0.05, 0, 0.3, 0.66, 0.9][index]);
      return {
        event,
        seen: Math.round(scale / (index + 1)),
        woke,
        placed,
        precision: placed / woke,
        seconds: scale * 2e-6,
        wasted: (woke - placed) * 3e-4,
      };
    });
    const hints = events.flatMap(({ event }, index) =>
      PLUGINS.slice(0, 3).map((plugin, at) => {
        const asked = Math.round(scale / (index + at + 1));
        const queue = Math.round(asked * 0.3);
        return {
          plugin,
          event,
          asked,
          queue,
          skip: asked - queue,
          error: 0,
          woke: queue,
          placed: Math.round(queue / (at + 2)),
          precision: 1 / (at + 2),
          seconds: asked * 1.3e-6,
          wasted: queue * 2e-4,
        };
      }),
    );
    const none = { asked: 0, queue: 0, skip: 0, error: 0, seconds: 0 };
    hints.splice(2, 0, { event: "NodeAdd", ...none, woke: 12, placed: 3, precision: 0.25, wasted: 0.004 });
    return {
      now: this.now(),
      counts: this.counts(),
      held: this.held(),
      totals: this.totals,
      flows: [...this.flows.values()].map((flow) => this.flow(flow)),
      series: { step: 1, start: first, samples: this.samples.slice(first) },
      events,
      hints,
      recent: this.recent,
    };
  }

  queue({ place, search = "", sort = "place", limit = "100", continue: token = "0" }) {
    const lists = place ? [this.places[place] ?? []] : Object.values(this.places);
    let all = lists.flat();
    if (search) all = all.filter(({ namespace, name }) => `${namespace}/${name}`.includes(search));
    const key = sort.replace(/^-/, "");
    if (key !== "place") {
      const sign = sort.startsWith("-") ? -1 : 1;
      all = [...all].sort((one, other) => (one[key] < other[key] ? -sign : one[key] > other[key] ? sign : 0));
    }
    const first = Number(token);
    const items = all.slice(first, first + Number(limit)).map((pod, index) => this.item(pod, first + index));
    const end = first + items.length;
    return {
      now: this.now(),
      total: all.length,
      items,
      ...(end < all.length ? { continue: String(end) } : {}),
    };
  }

  item({ namespace, name, uid, place, priority, attempts, queued, since }, position) {
    const item = {
      namespace,
      name,
      uid,
      place,
      priority,
      attempts,
      queued,
      since,
      rejectors: [],
      scheduler: "default-scheduler",
    };
    if (place === "active") item.position = position;
    if (place === "backoff") item.backoffUntil = since + 8;
    if (place === "gated") item.gatedBy = "SchedulingGates";
    if (place === "unschedulable" || place === "backoff") {
      item.rejectors = PLUGINS.slice(0, 1 + (uid.length % 3));
      item.message = "0/60 nodes are available: 44 Insufficient cpu, 16 node(s) had untolerated taint(s).";
    }
    return item;
  }

  explain(pod) {
    const { namespace, name, place, attempts, queued, since } = pod;
    const number = this.nodes.length;
    const isWaiting = place !== "bound" && place !== "gone";
    const explanation = {
      namespace,
      name,
      at: this.now(),
      place,
      since,
      // As the program has it: who waits no more has none.
      attempts: place === "bound" ? 0 : attempts,
      nodes: number,
      fits: place === "active" ? 3 : 0,
      rejectors: [],
      changes: [],
      tried: 0,
      untried: 0,
    };
    if (place === "active") explanation.before = pod.index;
    if (place === "backoff") explanation.until = since + 8;
    if (place === "gated") explanation.by = "SchedulingGates";
    if (place === "bound") explanation.node = pod.node;
    if (place === "unschedulable" || place === "backoff") {
      Object.assign(explanation, {
        message: `0/${number} nodes are available: 44 Insufficient cpu, 16 node(s) had untolerated taint(s). preemption: 0/${number} nodes are available: ${number} No preemption victims found for incoming pod.`,
        rejectors: [
          {
            plugin: "TaintToleration",
            isWaitedFor: true,
            refuses: 16,
            reasons: [{ reason: "node(s) had untolerated taint(s)", nodes: 16 }],
            satisfiedBy: [
              "a node without taint dedicated=gpu:NoSchedule, which 16 nodes have",
            ],
            retriedOn: [
              news("NodeAdd", "a node is added"),
              news("NodeUpdateNodeTaint", "a node's taints change or it is uncordoned"),
              news("PodUpdatePodToleration", "the pod's tolerations change"),
            ],
          },
          {
            plugin: "NodeResourcesFit",
            isWaitedFor: true,
            refuses: 44,
            reasons: [{ reason: "Insufficient cpu", nodes: 44 }],
            satisfiedBy: ["a node with 300m more cpu free; berth-7 is nearest"],
            retriedOn: [
              news("AssignedPodDelete", "a pod leaves its node"),
              news("NodeAdd", "a node is added"),
              news("NodeUpdateNodeAllocatable", "a node's allocatable changes"),
            ],
          },
        ],
        changes: [
          { plugin: "NodeResourcesFit", change: "it asked 300m less cpu", nodes: 1 },
          { plugin: "TaintToleration", change: "it tolerated dedicated=gpu:NoSchedule", nodes: 16 },
        ],
        tried: 12,
      });
    }
    const entries = [{ at: queued, what: "queued", event: "PodAdd" }];
    for (let attempt = Math.max(1, attempts - 5); attempt <= attempts; attempt += 1) {
      const at = queued + attempt * 11.4;
      entries.push({ at, what: "popped", attempt, early: false });
      entries.push({
        at,
        what: "refused",
        plugin: "NodeResourcesFit",
        reason: "Insufficient cpu",
        nodes: 44,
      });
      entries.push({
        at,
        what: "refused",
        plugin: "TaintToleration",
        reason: "node(s) had untolerated taint(s)",
        nodes: 16,
      });
      entries.push({ at, what: "moved", to: "unschedulable", cause: "ScheduleAttemptFailure" });
      entries.push({
        at: at + 4,
        what: "hint",
        event: "AssignedPodAdd",
        plugin: "NodeResourcesFit",
        verdict: "skip",
        times: 14,
        until: at + 6,
        forClass: true,
      });
      entries.push({
        at: at + 6,
        what: "hint",
        event: "AssignedPodDelete",
        plugin: "NodeResourcesFit",
        verdict: "queue",
        times: 1,
        until: at + 6,
        forClass: true,
      });
      entries.push({ at: at + 6, what: "moved", to: "backoff", cause: "AssignedPodDelete", until: at + 8 });
    }
    if (place === "bound") entries.push({ at: since, what: "bound", node: pod.node, attempts });
    const history = { namespace, name, queued, dropped: attempts > 6 ? 19 : 0, entries };
    return {
      namespace,
      name,
      now: this.now(),
      ...(isWaiting || place === "bound" ? { explanation } : {}),
      history,
      text: "",
    };
  }
}

function news(event, words) {
  return { event, words, ifItMayHelp: true };
}

/** Numbers between 0 and 1 that are the same for the same seed (mulberry32). */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
