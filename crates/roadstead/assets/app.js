// The page: puts its parts together, and what belongs to none of them.

import { Changes } from "./changes.js";
import { byId, onResize, setAttribute, setHidden, setText } from "./dom.js";
import { Harbour } from "./harbour.js";
import { Live } from "./live.js";
import { startLog } from "./log.js";
import { fillFlows } from "./moves.js";
import { nodeView } from "./node.js";
import { Nodes } from "./nodes.js";
import { Pane } from "./pane.js";
import { placeView } from "./place.js";
import { DEPTH, Plot, THROUGHPUT, WAIT } from "./plots.js";
import { podView } from "./pod.js";
import { reasons } from "./reasons.js";
import { startReplay } from "./replay.js";
import { Search } from "./search.js";
import { memory, nextTheme, startTheme } from "./theme.js";
import { WakeUps } from "./wakeups.js";
import { PLACES, count, counted, moment, rate } from "./words.js";

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
  order: byId("node-order"),
  note: byId("node-note"),
  measures: byId("node-measures"),
});
const changes = new Changes(live, () => {
  nodes.refresh();
  live.refreshStatus();
});
const pane = new Pane(
  {
    element: byId("pane"),
    title: byId("pane-title"),
    body: byId("pane-body"),
    close: byId("pane-close"),
    behind: [document.querySelector(".skip"), byId("main"), byId("about")],
    above: byId("top"),
  },
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
  form: byId("replay-form"),
  typed: byId("replay-typed"),
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
      `Roadstead ${version ?? ""}, scheduling ${counted(number, "node")} as ${schedulers.join(", ") || "no scheduler"}`,
    );
    setHidden(byId("add-open"), !canChange);
    setHidden(byId("add-key"), !canChange);
    pane.cover();
  });
  live.addEventListener("activity", () => {
    setText(byId("clock"), moment(live.activity.now, live.epoch));
    showTitle();
    showSums();
  });
  pane.addEventListener("change", showTitle);
  // What is fixed below it starts where it ends.
  const top = byId("top");
  onResize(top, () => document.documentElement.style.setProperty("--bar", `${top.offsetHeight}px`));
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
  const counts = live.activity?.counts ?? {};
  const waiting = PLACES.reduce((sum, { id }) => sum + (counts[id] ?? 0), 0);
  const bound = live.rateOf(({ to }) => to === "bound");
  const title = [pane.name, `${count(waiting)} waiting`, "Roadstead"].filter(Boolean).join(" · ");
  if (document.title !== title) document.title = title;
  const verb = waiting === 1 ? "waits" : "wait";
  setText(byId("sentence"), waiting ? `${counted(waiting, "pod")} ${verb}` : "No pod waits");
  setText(byId("sentence-rest"), bound > 0 ? `, ${rate(bound)} find a node.` : ".");
  const why = reasons(live.activity?.held ?? []);
  setText(byId("reasons"), why);
  setAttribute(byId("reasons"), "title", why);
}

/** What the chart has no place for. */
function showSums() {
  const { attempts, bound, unschedulable, errors, preempted } = live.activity.totals;
  const parts = [
    counted(attempts, "attempt"),
    `${count(bound)} bound`,
    `${count(unschedulable)} refused`,
    `${count(errors)} failed`,
    `${count(preempted)} preempted`,
  ];
  setText(byId("sums"), `Since the start: ${parts.join(", ")}.`);
}

function startFlows() {
  const details = byId("flows");
  let filled = 0;
  const fill = () => {
    if (!details.open || performance.now() - filled < FLOWS_EVERY_MS) return;
    filled = performance.now();
    fillFlows(byId("flow-rows"), live);
  };
  live.addEventListener("activity", fill);
  live.addEventListener("jump", () => {
    filled = 0;
    fill();
  });
  details.addEventListener("toggle", fill);
}

/** The focus goes where the reader goes. */
function go(heading) {
  heading.focus({ preventScroll: true });
  heading.closest("section").scrollIntoView({ block: "start" });
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
    n: () => go(byId("nodes-title")),
    w: () => go(byId("wakeups-title")),
    h: () => go(byId("harbour-title")),
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
