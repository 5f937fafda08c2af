// Which events and hints wake pods, how often that led to a placement, and what it cost.

import { bar, fillRows, h, setBar, setHidden, setText } from "./dom.js";
import { causeWords, compact, count, percent, span } from "./words.js";

const SHOWN = 6;
const EVERY_MS = 1000;

export class WakeUps {
  #live;
  #parts;
  #isWhole = { events: false, hints: false };
  #updated = 0;

  /** `parts`: the bodies of the two tables, the buttons that show all rows, and what stands there while there are none. */
  constructor(live, parts) {
    this.#live = live;
    this.#parts = parts;
    for (const kind of ["events", "hints"]) {
      parts[kind].more.addEventListener("click", () => {
        this.#isWhole[kind] = !this.#isWhole[kind];
        this.#update();
      });
    }
    live.addEventListener("activity", () => {
      if (performance.now() - this.#updated >= EVERY_MS) this.#update();
    });
  }

  #update() {
    this.#updated = performance.now();
    const { events = [], hints = [] } = this.#live.activity ?? {};
    this.#fill("events", events, makeEvent, fillEvent);
    this.#fill("hints", hints, makeHint, fillHint);
  }

  #fill(kind, items, make, fill) {
    const { rows, more, none } = this.#parts[kind];
    const shown = this.#isWhole[kind] ? items.slice(0, 100) : items.slice(0, SHOWN);
    fillRows(rows, shown, make, fill);
    setHidden(none, items.length > 0);
    setHidden(more, items.length <= SHOWN);
    setText(more, this.#isWhole[kind] ? "Show fewer" : `Show all ${items.length}`);
    more.setAttribute("aria-expanded", String(this.#isWhole[kind]));
  }
}

function named(below) {
  return h("th", { scope: "row" }, h("span", { class: "words" }), h(below));
}

function precise() {
  return h("td", { class: "precision" }, bar(0), h("span"));
}

function number() {
  return h("td", { class: "n" });
}

function makeEvent() {
  return h("tr", null, named("code"), precise(), number(), number(), number(), number());
}

function fillEvent(row, { event, seen, woke, placed, precision, seconds }) {
  name(row.children[0], causeWords(event), event);
  fillPrecision(row.children[1], precision);
  setCount(row.children[2], woke);
  setCount(row.children[3], placed);
  setCount(row.children[4], seen);
  setText(row.children[5], span(seconds));
}

function makeHint() {
  return h(
    "tr",
    null,
    named("small"),
    precise(),
    number(),
    h("td", { class: "answers" }, bar(0), h("span")),
    number(),
    number(),
  );
}

function fillHint(row, { plugin, event, asked, queue, skip, error, woke, precision, seconds }) {
  name(row.children[0], plugin, `when ${causeWords(event)}`);
  row.children[0].title = event;
  fillPrecision(row.children[1], precision);
  setCount(row.children[2], woke);
  const answers = queue + skip + error;
  setBar(row.children[3].firstElementChild, answers ? queue / answers : 0);
  setText(
    row.children[3].lastElementChild,
    answers ? `${percent(queue / answers)} yes${error ? `, ${compact(error)} failed` : ""}` : "–",
  );
  setCount(row.children[4], asked);
  setText(row.children[5], span(seconds));
}

function name(cell, words, below) {
  setText(cell.firstElementChild, words);
  setText(cell.lastElementChild, below);
}

function setCount(cell, number) {
  setText(cell, compact(number));
  const title = Number.isFinite(number) ? count(number) : "";
  if (cell.title !== title) cell.title = title;
}

/** As long as no woken pod was tried there is none. */
function fillPrecision(cell, precision) {
  setBar(cell.firstElementChild, precision);
  setText(cell.lastElementChild, percent(precision));
}
