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
    live.addEventListener("jump", () => this.#update());
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
  return h("th", { scope: "row", role: "rowheader" }, h("span", { class: "called" }), h(below));
}

function precise() {
  return h("td", { role: "cell", class: "precision", "data-of": "Precision" }, bar(0), h("span"));
}

function number(name) {
  return h("td", { role: "cell", class: "n", "data-of": name });
}

function makeEvent() {
  const numbers = ["Woke", "Placed", "In vain", "Seen", "To handle"].map(number);
  return h("tr", { role: "row" }, named("code"), precise(), numbers);
}

function fillEvent(row, { event, seen, woke, placed, precision, seconds, wasted }) {
  const [head, exact, ...numbers] = row.children;
  name(head, causeWords(event), event);
  fillPrecision(exact, precision);
  setCount(numbers[0], woke);
  setCount(numbers[1], placed);
  setText(numbers[2], time(wasted));
  setCount(numbers[3], seen);
  setText(numbers[4], time(seconds));
}

function makeHint() {
  return h(
    "tr",
    { role: "row" },
    named("small"),
    precise(),
    ["Woke", "Placed", "In vain"].map(number),
    h("td", { role: "cell", class: "answers", "data-of": "Says retry" }, bar(0), h("span")),
    ["Asked", "To ask"].map(number),
  );
}

function fillHint(row, { plugin, event, asked, queue, skip, error, woke, placed, precision, seconds, wasted }) {
  const [head, exact, wakes, places, vain, word, asks, cost] = row.children;
  name(head, plugin ?? "without a hint", `when ${causeWords(event)}`);
  head.title = event;
  fillPrecision(exact, precision);
  setCount(wakes, woke);
  setCount(places, placed);
  setText(vain, time(wasted));
  const answers = queue + skip + error;
  setBar(word.firstElementChild, answers ? queue / answers : 0);
  const failed = error ? `, ${compact(error)} failed` : "";
  setText(word.lastElementChild, answers ? `${percent(queue / answers)} yes${failed}` : "–");
  setText(asks, plugin ? compact(asked) : "–");
  setText(cost, plugin ? time(seconds) : "–");
}

/** Nothing was measured where there is no clock, as in a replay. */
function time(seconds) {
  return seconds > 0 ? span(seconds) : "–";
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
