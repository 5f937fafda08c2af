// The pods of one place: a page of them, sorted and filtered by the server.

import { ask } from "./api.js";
import { fillRows, h, setHidden, setText } from "./dom.js";
import { podHref } from "./log.js";
import { refusalNote, repeat } from "./pane.js";
import { PLACES, count, span } from "./words.js";

const PAGE = 50;
const EVERY_MS = 3000;
const TYPING_MS = 250;

const COLUMNS = [
  { sort: "name", name: "Pod" },
  { sort: "priority", name: "Priority", isNumber: true },
  { sort: "attempts", name: "Tries", isNumber: true },
  { sort: "queued", name: "Waits", isNumber: true },
  { name: "Why" },
];

/** A view of the pane for `#place/…`. */
export function placeView(live) {
  return (pane, [id]) => {
    const place = PLACES.find((known) => known.id === id);
    if (!place) {
      pane.title("No such place");
      pane.body.append(
        h(
          "p",
          { class: "note" },
          `The queue has these places: ${PLACES.map((known) => known.id).join(", ")}.`,
        ),
      );
      return { close() {} };
    }
    pane.title([h("i", { class: `mark ink-${id}`, "aria-hidden": "true" }, place.mark), ` ${place.name}`]);
    return new PlaceList(live, pane.body, place);
  };
}

class PlaceList {
  #live;
  #place;
  #sort = "place";
  #search = "";
  #tokens = [undefined];
  #total = h("p", { class: "note" });
  #rows = h("tbody", { role: "rowgroup" });
  #refusal = h("div");
  #heads = [];
  #back;
  #next;
  #nextToken;
  #table;
  #turns;

  constructor(live, body, place) {
    this.#live = live;
    this.#place = place;
    this.#back = h("button", { type: "button", onclick: () => this.#page(-1) }, "← Back");
    this.#next = h("button", { type: "button", onclick: () => this.#page(1) }, "More →");
    this.#table = h(
      "table",
      { class: "pods", role: "table" },
      h("caption", { class: "unseen" }, `Pods that are ${place.name.toLowerCase()}`),
      h(
        "thead",
        { role: "rowgroup" },
        h(
          "tr",
          { role: "row" },
          COLUMNS.map((column) => this.#head(column)),
        ),
      ),
      this.#rows,
    );
    const filter = h("input", {
      type: "search",
      "aria-label": "Filter these pods by name",
      placeholder: "Filter by name",
      autocomplete: "off",
      spellcheck: "false",
    });
    let typing;
    filter.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.#restart({ search: filter.value.trim() }), TYPING_MS);
    });
    body.append(
      h("p", { class: "lead" }, ABOUT[place.id]),
      h("div", { class: "tools" }, filter, this.#total),
      this.#refusal,
      h("div", { class: "wide", tabIndex: 0, role: "region", "aria-label": "Table of pods" }, this.#table),
      h("div", { class: "pager" }, this.#back, this.#next),
    );
    this.#turns = repeat(
      (isClosed) => this.#isRead() || this.#load(isClosed),
      () => EVERY_MS,
    );
  }

  close() {
    this.#turns.close();
  }

  #head({ sort, name, isNumber }) {
    if (!sort) return h("th", { scope: "col", role: "columnheader" }, name);
    const button = h(
      "button",
      { type: "button", class: "sort", onclick: () => this.#restart({ sort }) },
      name,
    );
    const head = h("th", { scope: "col", role: "columnheader", class: isNumber ? "n" : undefined }, button);
    this.#heads.push({ head, sort, name, button });
    return head;
  }

  /** Rows stay as they are while somebody points at them. */
  #isRead() {
    return (
      this.#rows.children.length > 0 &&
      (this.#rows.matches(":hover") || this.#rows.contains(document.activeElement))
    );
  }

  #restart({ sort, search }) {
    if (sort) this.#sort = this.#sort === sort ? `-${sort}` : sort;
    if (search !== undefined) this.#search = search;
    this.#tokens = [undefined];
    this.#load(() => false);
  }

  #page(step) {
    if (step > 0) this.#tokens.push(this.#nextToken);
    else this.#tokens.pop();
    this.#load(() => false);
  }

  async #load(isClosed) {
    const asked = {
      place: this.#place.id,
      sort: this.#sort,
      search: this.#search,
      limit: PAGE,
      continue: this.#tokens.at(-1),
    };
    let page;
    try {
      page = await ask("queue", asked);
    } catch (error) {
      if (!isClosed()) this.#refusal.replaceChildren(refusalNote(error));
      return;
    }
    // Another order may have been asked for meanwhile; its answer comes.
    if (
      isClosed() ||
      asked.sort !== this.#sort ||
      asked.search !== this.#search ||
      asked.continue !== this.#tokens.at(-1)
    )
      return;
    this.#refusal.replaceChildren();
    this.#show(page);
  }

  #show({ total, now, items, continue: next }) {
    this.#nextToken = next;
    const first = (this.#tokens.length - 1) * PAGE;
    setText(
      this.#total,
      items.length
        ? `${count(first + 1)}–${count(first + items.length)} of ${count(total)}`
        : this.#search
          ? "No pod here has that in its name."
          : "None now.",
    );
    this.#back.disabled = this.#tokens.length === 1;
    this.#next.disabled = !next;
    setHidden(this.#back.parentElement, this.#tokens.length === 1 && !next);
    setHidden(this.#table, items.length === 0);
    for (const { head, sort } of this.#heads) {
      const order = this.#sort === sort ? "ascending" : this.#sort === `-${sort}` ? "descending" : "none";
      if (head.getAttribute("aria-sort") !== order) head.setAttribute("aria-sort", order);
    }
    fillRows(this.#rows, items, makeRow, (row, item) => fillRow(row, item, now ?? this.#live.now()));
  }
}

function makeRow() {
  const number = (name) => h("td", { role: "cell", class: "n", "data-of": name });
  return h(
    "tr",
    { role: "row" },
    h("th", { scope: "row", role: "rowheader" }, h("a"), h("small")),
    number("Priority"),
    number("Tries"),
    number("Waits"),
    h("td", { role: "cell", class: "why" }),
  );
}

function fillRow(row, item, now) {
  const [pod, priority, attempts, waits, why] = row.children;
  const href = podHref(item.namespace, item.name);
  const [link, namespace] = pod.children;
  setText(link, item.name);
  if (link.getAttribute("href") !== href) link.setAttribute("href", href);
  setText(namespace, item.namespace);
  setText(priority, count(item.priority));
  setText(attempts, count(item.attempts));
  setText(waits, span(now - item.queued));
  setText(why, whyWords(item, now));
  why.title = item.message ?? "";
}

function whyWords(item, now) {
  const parts = [];
  if (item.gatedBy) parts.push(`held by ${item.gatedBy}`);
  if (item.place === "active" && item.position !== undefined && item.position !== null) {
    parts.push(item.position === 0 ? "next" : `${count(item.position)} before it`);
  }
  if (item.backoffUntil > now) parts.push(`tried again in ${span(item.backoffUntil - now)}`);
  // The gate itself is no second reason.
  const others = (item.rejectors ?? []).filter((plugin) => plugin !== item.gatedBy);
  if (others.length) parts.push(`rejected by ${others.join(", ")}`);
  if (item.nominatedNode) parts.push(`${item.nominatedNode} is kept for it`);
  return parts.join("; ") || item.message || "–";
}

const ABOUT = {
  active: "Ready. The first in line is tried next, by priority, then by time.",
  inFlight: "Taken from the queue: a node is being looked for, or the binding is under way.",
  backoff: "A try failed, and something happened since that may help. The wait doubles with each try.",
  unschedulable:
    "No node fits. A pod sleeps here until an event happens that one of its rejectors waits for.",
  gated: "A gate holds these: they are not tried before it is removed.",
};
