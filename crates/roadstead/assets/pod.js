// One pod: where it is, what it waits for, what would place it, and what happened to it.

import { ask, podPath } from "./api.js";
import { h, setText } from "./dom.js";
import { nodeHref } from "./log.js";
import { refusalNote, repeat, waitingNote } from "./pane.js";
import { openFolds, reopen, timeline } from "./timeline.js";
import { PLACES, count, counted, span } from "./words.js";

const EVERY_MS = 2000;
const TICK_MS = 250;

/** A view of the pane for `#pod/…`; `tools` makes the buttons of a pod that may be changed. */
export function podView(live, tools) {
  return (pane, [namespace, name]) => {
    pane.title([h("small", null, `${namespace}/`), name]);
    const content = h("div", null, waitingNote());
    const buttons = tools(namespace, name);
    pane.body.append(content, buttons.element);
    let shown;
    const turns = repeat(
      async (isClosed) => {
        try {
          const answer = await ask(podPath(namespace, name));
          if (isClosed()) return;
          buttons.offer(answer.explanation !== undefined && answer.explanation !== null);
          const print = fingerprint(answer);
          if (print === shown) return;
          shown = print;
          const folds = openFolds(content);
          content.replaceChildren(...contract(answer, live), ...timeline(answer, live));
          reopen(content, folds);
        } catch (error) {
          if (isClosed()) return;
          // What was shown is still the last that is known.
          if (error.isSilence && shown) return;
          shown = undefined;
          buttons.offer(false);
          content.replaceChildren(refusalNote(error));
        }
      },
      () => EVERY_MS,
    );
    const tick = setInterval(() => countDown(content, live), TICK_MS);
    return {
      close() {
        turns.close();
        buttons.close();
        clearInterval(tick);
      },
    };
  };
}

/** What of an answer is worth drawing again; that time went by is not. */
function fingerprint({ explanation, history }) {
  return JSON.stringify([{ ...explanation, at: 0 }, history]);
}

function countDown(content, live) {
  const now = live.now();
  for (const element of content.querySelectorAll("[data-since]")) {
    setText(element, span(now - Number(element.dataset.since)));
  }
  for (const element of content.querySelectorAll("[data-until]")) {
    const left = Number(element.dataset.until) - now;
    setText(element, left > 0 ? `in ${span(Math.ceil(left))}` : "any moment");
  }
}

function since(time, now) {
  return h("span", { "data-since": time }, span(now - time));
}

function until(time, now) {
  return h("span", { "data-until": time }, time > now ? `in ${span(Math.ceil(time - now))}` : "any moment");
}

function contract({ explanation, history, now }, live) {
  if (!explanation) {
    const last = history?.entries?.at(-1);
    const text = last
      ? "It is not in the queue any more. What is left is its history."
      : "Nothing is known of it now.";
    return [h("p", { class: "lead" }, text)];
  }
  const at = now ?? explanation.at ?? live.now();
  const parts = [headline(explanation, at), facts(explanation, history, at)];
  if (explanation.message) parts.push(h("p", { class: "message" }, explanation.message));
  if (explanation.rejectors?.length) {
    parts.push(
      h("h3", null, "Who keeps it waiting"),
      ...explanation.rejectors.map((rejector) => rejection(rejector, explanation)),
    );
  }
  parts.push(...remedies(explanation));
  return parts;
}

function headline({ place, before, until: end, by, node, plugins, scheduler }, at) {
  const known = { errorBackoff: "backoff", notOurs: "", permit: "bound", binding: "bound" }[place] ?? place;
  const mark = PLACES.find(({ id }) => id === known)?.mark ?? (known === "bound" ? "⚓" : "○");
  const berth = () => h("a", { href: nodeHref(node) }, node);
  const next = () => (end ? [" Tried again ", until(end, at), "."] : [" Its backoff has ended."]);
  const words = {
    active: () => [
      before
        ? `Ready: ${counted(before, "pod")} ${before === 1 ? "is" : "are"} tried before it.`
        : "Ready: it is tried next.",
    ],
    backoff: () => ["Backing off.", ...next()],
    errorBackoff: () => ["Backing off after an error.", ...next()],
    unschedulable: () => ["Waits for an event: no node fits."],
    gated: () => [`Held by ${by}.`],
    inFlight: () => ["Being tried right now."],
    permit: () => ["May go to ", berth(), ` and waits for permission by ${plugins.join(" and ")}.`],
    binding: () => ["Being bound to ", berth(), "."],
    bound: () => ["Bound to ", berth(), "."],
    notOurs: () => [`Waits for scheduler ${scheduler}, which is not this one.`],
  };
  return h(
    "p",
    { class: `headline ink-${known || "soft"}` },
    h("i", { class: "mark", "aria-hidden": "true" }, mark),
    h("span", null, words[place]?.() ?? [place]),
  );
}

function facts({ since: from, attempts, nominatedNode, nodes, fits, place }, history, at) {
  const rows = [];
  const add = (name, ...value) => rows.push(h("div", null, h("dt", null, name), h("dd", null, ...value)));
  if (history) add("First queued", since(history.queued, at), " ago");
  if (from !== undefined && from !== null) add("Here for", since(from, at));
  // Who waits no more has none now, and had some: the history knows.
  const tries = attempts || history?.entries?.findLast(({ what }) => what === "bound")?.attempts;
  const isWaiting = !["bound", "permit", "binding", "notOurs"].includes(place);
  if (tries !== undefined && (tries || isWaiting)) add("Tries", count(tries));
  // One that is held is tried on no node.
  if (isWaiting && place !== "gated") add("Nodes that fit", `${count(fits)} of ${count(nodes)}`);
  if (nominatedNode) add("Kept for it", h("a", { href: nodeHref(nominatedNode) }, nominatedNode));
  return h("dl", { class: "facts" }, rows);
}

function rejection({ plugin, isWaitedFor, refuses, reasons, gate, retriedOn, satisfiedBy }, { nodes }) {
  const scope = gate
    ? "holds it"
    : refuses
      ? `refuses ${count(refuses)} of ${counted(nodes, "node")}`
      : "refuses no node now";
  const card = h("section", { class: "rejection" }, h("h4", null, plugin, " ", h("small", null, scope)));
  if (gate) card.append(h("p", { class: "reason" }, gate));
  for (const { reason, nodes: number } of reasons) {
    card.append(h("p", { class: "reason" }, `${reason} `, h("small", null, `(${count(number)})`)));
  }
  if (satisfiedBy.length) {
    card.append(
      h("p", { class: "term" }, "Satisfied by"),
      h(
        "ul",
        { class: "ticks" },
        satisfiedBy.map((words) => h("li", null, words)),
      ),
    );
  }
  if (isWaitedFor && retriedOn.length) {
    const item = ({ words, event, ifItMayHelp }) =>
      h("li", { title: event }, words, ifItMayHelp ? h("small", null, " if it may help") : null);
    card.append(h("p", { class: "term" }, "Wakes up when"), h("ul", { class: "chips" }, retriedOn.map(item)));
  }
  return card;
}

function remedies({ changes = [], tried = 0, untried = 0, fits, place }) {
  if (fits > 0 || ["bound", "permit", "binding", "inFlight", "notOurs"].includes(place)) return [];
  const parts = [];
  if (changes.length) {
    const item = ({ change, nodes }) =>
      h("li", null, h("b", null, `If ${change}`), ` it fits on ${counted(nodes, "node")}.`);
    parts.push(
      h("h3", null, "Smallest changes that would place it"),
      h("ul", { class: "remedies" }, changes.map(item)),
    );
    const more = untried ? `; ${count(untried)} more were not` : "";
    parts.push(h("p", { class: "note" }, `Each was tried on every node${more}.`));
  } else if (tried) {
    parts.push(
      h(
        "p",
        { class: "note" },
        `None of ${counted(tried, "single change")} that were tried would place it${untried ? `; ${count(untried)} more were not tried` : ""}.`,
      ),
    );
  }
  return parts;
}
