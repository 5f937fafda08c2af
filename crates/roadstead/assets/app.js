// The page: puts its parts together, and what belongs to none of them.

import { Changes } from "./changes.js";
import { byId, fillRows, setHidden, setText } from "./dom.js";
import { Harbour, fillFlows } from "./harbour.js";
import { Live } from "./live.js";
import { startLog } from "./log.js";
import { nodeView } from "./node.js";
import { Nodes } from "./nodes.js";
import { Pane } from "./pane.js";
import { placeView } from "./place.js";
import { DEPTH, Plot, THROUGHPUT, WAIT } from "./plots.js";
import { podView } from "./pod.js";
import { startReplay } from "./replay.js";
import { Search } from "./search.js";
import { memory, nextTheme, startTheme } from "./theme.js";
import { WakeUps } from "./wakeups.js";
import { PLACES, count, moment, rate } from "./words.js";

const KEYS_OFF = "roadstead-keys-off";
const FLOWS_EVERY_MS = 1000;

const live = new Live();
startTheme(byId("theme"));
new Harbour(byId("harbour"), live);
startLog(byId("log"), byId("log-none"), live);
for (const [id, kind] of [
  ["plot-depth", DEPTH],
  ["plot-throughput", THROUGHPUT],
  ["plot-wait", WAIT],
]) {
  new Plot(byId(id), live, kind);
}
const table = (kind) => ({
  rows: byId(`${kind}-rows`),
  more: byId(`${kind}-more`),
  none: byId(`${kind}-none`),
});
new WakeUps(live, { events: table("events"), hints: table("hints") });
const nodes = new Nodes({
  section: byId("nodes"),
  summary: byId("node-summary"),
  histogram: byId("node-histogram"),
  map: byId("node-map"),
  readout: byId("node-readout"),
  rows: byId("node-rows"),
  note: byId("node-note"),
  measures: byId("node-measures"),
});
const changes = new Changes(live, () => {
  nodes.refresh();
  live.refreshStatus();
});
const pane = new Pane(
  { element: byId("pane"), title: byId("pane-title"), body: byId("pane-body"), close: byId("pane-close") },
  {
    place: { parts: 1, open: placeView(live) },
    pod: { parts: 2, open: podView(live, (namespace, name) => changes.podTools(namespace, name)) },
    node: { parts: 1, open: nodeView((name) => changes.nodeTools(name)) },
  },
);
const search = new Search({
  form: byId("search"),
  input: byId("search-input"),
  list: byId("search-list"),
  note: byId("search-note"),
});
startReplay(live, {
  bar: byId("replay"),
  slider: byId("replay-at"),
  time: byId("replay-time"),
  play: byId("replay-play"),
  speed: byId("replay-speed"),
  problem: byId("replay-problem"),
});

startHeader();
startFlows();
startKeys();
live.start();
pane.start();

function startHeader() {
  const words = { run: "live cluster", serve: "cluster in memory", replay: "replay of a recording" };
  live.addEventListener("status", () => {
    const { mode, version, leads, speed, canChange, schedulers = [], nodes: number } = live.status;
    setText(byId("mode"), words[mode] ?? mode);
    const notes = [];
    if (mode === "run" && leads === false) notes.push("stands by: another one leads");
    if (speed && speed !== 1 && mode !== "replay") notes.push(`${speed} × real time`);
    setText(byId("mode-note"), notes.join(", "));
    setText(
      byId("about"),
      `Roadstead ${version ?? ""}, scheduling ${count(number)} nodes as ${schedulers.join(", ") || "no scheduler"}`,
    );
    setHidden(byId("add-open"), !canChange);
    setHidden(byId("add-key"), !canChange);
  });
  live.addEventListener("activity", () => {
    setText(byId("clock"), moment(live.activity.now, live.epoch));
    showTitle();
  });
  live.addEventListener("connection", () => {
    document.body.classList.toggle("lost", live.trouble !== null);
    setText(byId("connection"), live.trouble ?? "");
  });
  byId("add-open").addEventListener("click", () => changes.open());
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  byId("help-close").addEventListener("click", () => byId("help").close());
}

/** What one wants to know first, in the page's title and its first line. */
function showTitle() {
  const { counts } = live.activity;
  const waiting = PLACES.reduce((sum, { id }) => sum + (counts[id] ?? 0), 0);
  const bound = live.rateOf(({ to }) => to === "bound");
  const title = `${count(waiting)} waiting · Roadstead`;
  if (document.title !== title) document.title = title;
  setText(byId("sentence"), waiting ? `${count(waiting)} pods wait` : "No pod waits");
  setText(byId("sentence-rest"), bound > 0 ? `, ${rate(bound)} find a berth.` : ".");
}

function startFlows() {
  const details = byId("flows");
  let filled = 0;
  const fill = () => {
    if (!details.open || performance.now() - filled < FLOWS_EVERY_MS) return;
    filled = performance.now();
    fillFlows(byId("flow-rows"), live, fillRows);
  };
  live.addEventListener("activity", fill);
  details.addEventListener("toggle", fill);
}

function startKeys() {
  const box = byId("keys-on");
  box.addEventListener("change", () => memory.write(KEYS_OFF, box.checked ? "" : "yes"));
  box.checked = memory.read(KEYS_OFF) !== "yes";
  const keys = {
    "/": () => search.focus(),
    "?": () => byId("help").showModal(),
    a: () => changes.open(),
    t: () => nextTheme(),
    n: () => byId("nodes").scrollIntoView({ block: "start" }),
    w: () => byId("wakeups").scrollIntoView({ block: "start" }),
    h: () => window.scrollTo({ top: 0 }),
  };
  PLACES.forEach(({ id }, index) => {
    keys[index + 1] = () => {
      location.hash = `#place/${id}`;
    };
  });
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") {
      pane.close();
      return;
    }
    const isTyping = event.target.closest("input, select, textarea, [contenteditable]");
    if (isTyping || !box.checked || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = Object.hasOwn(keys, event.key) && keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
