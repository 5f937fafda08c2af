// What happened to a pod, entry by entry; attempts that all went the same way are folded into one.

import { h } from "./dom.js";
import { causeWords, count, counted, moment, span } from "./words.js";

const MOST_ENTRIES = 200;
/** As many attempts alike as are worth folding. */
const FOLDED = 3;

export function timeline({ history }, live) {
  if (!history) return [];
  const [first, ...others] = history.entries;
  const entries = others.slice(-MOST_ENTRIES);
  const dropped = history.dropped + others.length - entries.length;
  const list = h("ol", { class: "timeline" });
  const item = (entry) => {
    const { text, kind, mark } = tell(entry);
    return h(
      "li",
      { class: kind },
      h("time", { title: moment(entry.at, live.epoch) }, after(entry, history)),
      h("span", null, h("i", { class: "mark", "aria-hidden": "true" }, mark), text),
    );
  };
  if (first) list.append(item(first));
  if (dropped) {
    const text = `${count(dropped)} ${dropped === 1 ? "entry" : "entries"} no longer kept`;
    list.append(h("li", { class: "detail" }, h("time"), h("span", null, text)));
  }
  for (const rounds of alike(entries)) {
    const last = rounds.pop();
    if (rounds.length + 1 >= FOLDED) list.append(fold(rounds, history, item));
    else list.append(...rounds.flat().map(item));
    list.append(...last.map(item));
  }
  return [h("h3", null, "What happened to it"), list];
}

/** Which folds are open, so that they can be opened again when all is drawn anew. */
export function openFolds(content) {
  return [...content.querySelectorAll("details[open][data-fold]")].map(({ dataset }) => dataset.fold);
}

export function reopen(content, folds) {
  for (const fold of content.querySelectorAll("details[data-fold]"))
    if (folds.includes(fold.dataset.fold)) fold.open = true;
}

/** Runs of rounds that went the same way; a round is an attempt and what came of it. */
function alike(entries) {
  const rounds = [];
  for (const entry of entries) {
    if (!rounds.length || entry.what === "popped") rounds.push([]);
    rounds.at(-1).push(entry);
  }
  const runs = [];
  for (const round of rounds) {
    const course = courseOf(round);
    if (runs.length && runs.at(-1).course === course) runs.at(-1).push(round);
    else runs.push(Object.assign([round], { course }));
  }
  return runs;
}

/** What was done and said in a round, without times and numbers. */
function courseOf(round) {
  const parts = round.map(({ what, plugin, reason, event, verdict, to, cause, node, message }) => [
    what,
    plugin,
    reason,
    event,
    verdict,
    to,
    cause,
    node,
    message,
  ]);
  return JSON.stringify(parts);
}

function fold(rounds, history, item) {
  const [first, last] = [rounds[0][0], rounds.at(-1)[0]];
  const which = `attempts ${count(first.attempt)}–${count(last.attempt)}`;
  const inside = h("ol", { class: "timeline" }, rounds.flat().map(item));
  const summary = h("summary", null, `${which}: the same as the next, ${count(rounds.length)} times`);
  const details = h("details", { "data-fold": String(last.attempt) }, summary, inside);
  return h("li", { class: "fold" }, h("time", null, after(first, history)), details);
}

function after(entry, history) {
  return `+${span(entry.at - history.queued)}`;
}

const DESTINATIONS = {
  active: ["ready to be tried", "ink-active", "●"],
  backoff: ["backs off", "ink-backoff", "◔"],
  errorBackoff: ["backs off after an error", "ink-backoff", "◔"],
  unschedulable: ["waits for an event", "ink-unschedulable", "■"],
};

const VERDICTS = { queue: "worth a retry", skip: "no help", error: "failed, so worth a retry" };

function tell(entry) {
  const step = (text, kind, mark) => ({ text, kind, mark });
  const detail = (text, mark = "") => ({ text, kind: "detail", mark });
  switch (entry.what) {
    case "queued":
      return step(`queued: ${causeWords(entry.event)}`, "", "○");
    case "gated":
      return step(`held by ${entry.by}: ${causeWords(entry.cause)}`, "ink-gated", "◇");
    case "popped":
      return step(
        `attempt ${entry.attempt}${entry.early ? ", before its backoff ended: nothing else was ready" : ""}`,
        "ink-inFlight",
        "▶",
      );
    case "refused":
      return detail(`${entry.plugin || "rejected"}: ${count(entry.nodes)} ${entry.reason}`, "✕");
    case "failed":
      return detail(`failed: ${entry.message}`, "!");
    case "hint":
      return detail(
        `${causeWords(entry.event)}: ${entry.plugin} says ${VERDICTS[entry.verdict] ?? entry.verdict}${entry.times > 1 ? ` (${count(entry.times)} times)` : ""}`,
        "?",
      );
    case "moved": {
      const [words, kind, mark] = DESTINATIONS[entry.to] ?? [entry.to, "", "○"];
      const by = entry.by ? `, for ${entry.by}` : "";
      return step(`${words}: ${causeWords(entry.cause)}${by}`, kind, mark);
    }
    case "nominated":
      return step(`${entry.node} is kept for it`, "", "○");
    case "preempting":
      return step(
        `${counted(entry.victims, "pod")} ${entry.victims === 1 ? "is" : "are"} to leave ${entry.node} for it`,
        "",
        "○",
      );
    case "preemptedBy":
      return step(`is to make room for ${entry.pod}`, "", "○");
    case "placed":
      return step("a node was found", "ink-bound", "✓");
    case "bound":
      return step(`bound to ${entry.node} after ${counted(entry.attempts, "attempt")}`, "ink-bound", "⚓");
    case "deleted":
      return step("left the queue", "", "○");
    default:
      return step(String(entry.what), "", "○");
  }
}
