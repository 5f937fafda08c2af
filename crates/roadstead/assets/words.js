// Numbers, times and the scheduler's own terms, in words.

/** The places of the queue, in the order in which the page tells of them. */
export const PLACES = [
  { id: "active", name: "Active", says: "ready to be tried", mark: "●" },
  { id: "inFlight", name: "In flight", says: "being tried now", mark: "▶" },
  { id: "backoff", name: "Backing off", says: "tried again soon", mark: "◔" },
  { id: "unschedulable", name: "Unschedulable", says: "wait for an event", mark: "■" },
  { id: "gated", name: "Gated", says: "held by a gate", mark: "◇" },
];

const PLACE_WORDS = {
  active: "active",
  inFlight: "in flight",
  backoff: "backing off",
  errorBackoff: "backing off after an error",
  unschedulable: "unschedulable",
  gated: "gated",
  binding: "being bound",
  bound: "bound",
  new: "new",
  gone: "gone",
  finished: "finished",
  notOurs: "another scheduler’s",
};

export function placeWords(place) {
  return PLACE_WORDS[place] ?? String(place ?? "unknown");
}

const CAUSES = {
  ScheduleAttemptFailure: "no node fits",
  BackoffComplete: "backoff ended",
  ForceActivate: "a plugin asked for it",
  UnschedulableTimeout: "waited too long",
  Pop: "tried",
  PopFromBackoffQ: "tried early",
  Done: "node found",
  Delete: "deleted",
  Discard: "replaced by its namesake",
  PodAdd: "new pod",
  PodUpdate: "the pod changed",
  PodDelete: "deleted",
  UnschedulablePodAdd: "new pod",
  UnschedulablePodUpdate: "the pod changed",
  UnschedulablePodDelete: "deleted",
};

const RESOURCES = {
  AssignedPod: "a pod on a node",
  UnschedulablePod: "the waiting pod",
  Pod: "a pod",
  Node: "a node",
  PersistentVolumeClaim: "a volume claim",
  PersistentVolume: "a volume",
  StorageClass: "a storage class",
  CSINode: "a CSI node",
  CSIDriver: "a CSI driver",
  CSIStorageCapacity: "a storage capacity",
  VolumeAttachment: "a volume attachment",
  DeviceClass: "a device class",
  ResourceClaim: "a resource claim",
  ResourceSlice: "a resource slice",
};

const ACTIONS = {
  Add: "{} was added",
  Delete: "{} was deleted",
  Update: "{} changed",
  UpdateNodeAllocatable: "capacity of {} changed",
  UpdateNodeLabel: "labels of {} changed",
  UpdateNodeTaint: "taints of {} changed",
  UpdateNodeCondition: "conditions of {} changed",
  UpdateNodeAnnotation: "annotations of {} changed",
  UpdateNodeDeclaredFeature: "features of {} changed",
  UpdatePodLabel: "labels of {} changed",
  UpdatePodScaleDown: "{} asks for less",
  UpdatePodToleration: "{} tolerates more",
  UpdatePodSchedulingGatesEliminated: "last gate of {} is gone",
  UpdatePodGeneratedResourceClaim: "a claim was made for {}",
};

/** What an event or a cause is called by people: `NodeAdd` is "a node was added". */
export function causeWords(cause, from) {
  if (!cause) return "";
  // A preemptor is held until its victims are evicted; nobody else is let go like this.
  if (cause === "ForceActivate" && from === "gated") return "its evictions are answered";
  if (CAUSES[cause]) return CAUSES[cause];
  if (cause === "AssignedPodDelete") return "a pod left its node";
  if (cause === "AssignedPodAdd") return "a pod came to a node";
  // The longest name first: PersistentVolumeClaim begins as PersistentVolume does.
  const names = Object.keys(RESOURCES).sort((one, other) => other.length - one.length);
  const resource = names.find((name) => cause.startsWith(name));
  const action = resource && ACTIONS[cause.slice(resource.length)];
  if (action) return action.replace("{}", RESOURCES[resource]);
  return cause.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
// Never more than there are: 99,980 are not 100K.
const short = new Intl.NumberFormat("en", {
  notation: "compact",
  maximumFractionDigits: 1,
  roundingMode: "trunc",
});

export function count(number) {
  return Number.isFinite(number) ? whole.format(number) : "–";
}

export function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** A count in at most six characters. */
export function compact(number) {
  if (!Number.isFinite(number)) return "–";
  return number < 10000 ? whole.format(number) : short.format(number);
}

let isPerMinute = true;

/** One unit for the whole page: by the second only where much moves. */
export function chooseRateUnit(flows) {
  const fastest = flows.reduce((most, flow) => Math.max(most, flow.rate), 0);
  // Between the two it stays as it is.
  if (fastest >= MANY_A_SECOND) isPerMinute = false;
  else if (fastest < MANY_A_SECOND / 2) isPerMinute = true;
}

/** The unit of rates now: how it is called, and how many seconds it has. */
export function rateUnit() {
  return isPerMinute
    ? { name: "min", words: "a minute", seconds: 60 }
    : { name: "s", words: "a second", seconds: 1 };
}

/** Of a rate a second, what one reads at a glance. */
export function rate(perSecond) {
  const { name, seconds } = rateUnit();
  const value = Number.isFinite(perSecond) ? perSecond * seconds : 0;
  const least = isPerMinute ? 1 : 0.1;
  if (value <= 0) return `0/${name}`;
  if (value < least * 0.95) return `<${least}/${name}`;
  if (value < 10 && !isPerMinute) return `${value.toFixed(1).replace(/\.0$/, "")}/${name}`;
  return `${compact(Math.round(value))}/${name}`;
}

const MANY_A_SECOND = 20;

export function percent(share) {
  if (!Number.isFinite(share)) return "–";
  const value = share * 100;
  if (value > 0 && value < 1) return "<1 %";
  return `${value < 10 ? value.toFixed(1).replace(/\.0$/, "") : whole.format(value)} %`;
}

/** How long, in the largest unit that says it well. */
export function span(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  const value = Math.max(0, seconds);
  if (value === 0) return "0 s";
  if (value < 0.001) return `${(value * 1e6).toFixed(0)} µs`;
  if (value < 1) return `${(value * 1000).toPrecision(value < 0.01 ? 2 : 3).replace(/\.0+$/, "")} ms`;
  if (value < 10) return `${value.toFixed(1).replace(/\.0$/, "")} s`;
  if (value < 60) return `${Math.floor(value)} s`;
  const whole = Math.floor(value);
  if (whole < 3600) return two(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 86400) return two(Math.floor(whole / 3600), "h", Math.floor(whole / 60) % 60, "min");
  return two(Math.floor(whole / 86400), "d", Math.floor(whole / 3600) % 24, "h");
}

function two(large, unit, small, smaller) {
  return small ? `${large} ${unit} ${small} ${smaller}` : `${large} ${unit}`;
}

/** A moment: by the clock on the wall, or since the start where there is none. */
export function moment(seconds, epoch) {
  if (!Number.isFinite(seconds)) return "–";
  if (epoch === "unix") {
    return new Date(seconds * 1000).toLocaleTimeString(undefined, { hour12: false });
  }
  const value = Math.max(0, Math.floor(seconds));
  const pad = (number) => String(number).padStart(2, "0");
  const days = Math.floor(value / 86400);
  const clock = `${pad(Math.floor(value / 3600) % 24)}:${pad(Math.floor(value / 60) % 60)}:${pad(value % 60)}`;
  return days ? `+${days}d ${clock}` : `+${clock}`;
}

/** The moment that a text like `1:02:03`, `2:03` or `90` names; `null` if it names none. */
export function secondsOf(text, from, epoch) {
  const parts = text.trim().replace(/^\+/, "").split(":");
  if (parts.length > 3 || !parts.every((part) => /^\d+(\.\d+)?$/.test(part))) return null;
  if (epoch !== "unix") return parts.reduce((sum, part) => sum * 60 + Number(part), 0);
  // By the clock on the wall, on the day of the recording or the one after it.
  const [hours, minutes = 0, seconds = 0] = parts.map(Number);
  const day = new Date(from * 1000);
  const at = day.setHours(hours, minutes, seconds) / 1000;
  return at < Math.floor(from) ? at + 86400 : Math.max(at, from);
}

/** An amount of cpu, given in thousandths. */
export function cpu(millicores) {
  if (!Number.isFinite(millicores)) return "–";
  return millicores % 1000 === 0 || millicores >= 10000
    ? whole.format(millicores / 1000)
    : `${whole.format(millicores)}m`;
}

export function bytes(amount) {
  if (!Number.isFinite(amount)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = amount;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 || value % 1 === 0 ? whole.format(value) : value.toFixed(1)} ${units[unit]}`;
}
