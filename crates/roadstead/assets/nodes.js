// The nodes and their use: a sum, how full they are, and each as a square on one canvas.

import { ask } from "./api.js";
import { bar, fillRows, h, onResize, prepareCanvas, setAttribute, setBar, setText } from "./dom.js";
import { nodeHref } from "./log.js";
import { repeat } from "./pane.js";
import { colour, isForced, theme } from "./theme.js";
import { bytes, compact, count, cpu, percent } from "./words.js";

const PAGE = 1000;
const MOST_NODES = 5000;
const TABLE_ROWS = 50;
const EVERY_MS = 5000;
const EVERY_WHEN_MANY_MS = 15000;
const HEIGHT = 230;

export const RESOURCES = [
  { id: "cpu", name: "CPU", words: cpu },
  { id: "memory", name: "Memory", words: bytes },
  { id: "pods", name: "Pods", words: count },
];

export class Nodes {
  #parts;
  #nodes = [];
  #total = 0;
  #measure = "cpu";
  #cursor = -1;
  #cell = 0;
  #columns = 1;
  #canvas = h("canvas", { "aria-hidden": "true" });
  #isSeen = false;
  #turns = null;

  /** `parts`: summary, histogram, map, readout, rows, order, note, measures. */
  constructor(parts) {
    this.#parts = parts;
    parts.map.append(this.#canvas);
    this.#makeSummary();
    this.#listen();
    new IntersectionObserver(
      (entries) => {
        this.#isSeen = entries.at(-1).isIntersecting;
        if (this.#isSeen && !this.#turns) this.#start();
      },
      { rootMargin: "200px" },
    ).observe(parts.section);
  }

  #start() {
    const turn = () => (this.#isSeen ? this.#load() : undefined);
    this.#turns = repeat(turn, () => (this.#total > PAGE ? EVERY_WHEN_MANY_MS : EVERY_MS));
  }

  /** Asks again at once, after something was changed. */
  refresh() {
    return this.#load();
  }

  #makeSummary() {
    for (const { id, name } of RESOURCES) {
      const line = bar(0);
      this.#parts.summary.append(
        h("div", { "data-of": id }, h("dt", null, name), h("dd", null, h("b"), h("span"), line)),
      );
    }
    for (let tenth = 0; tenth < 10; tenth += 1) {
      const range = `${tenth * 10}–${tenth * 10 + 10} %`;
      this.#parts.histogram.append(
        h(
          "li",
          null,
          h("div", null, h("b"), h("i", { class: "column", "aria-hidden": "true" })),
          h(
            "span",
            null,
            h("span", { class: "unseen" }, `nodes with ${range} of cpu requested`),
            h("span", { "aria-hidden": "true" }, `${tenth * 10}`),
          ),
        ),
      );
    }
  }

  #listen() {
    const { map, measures } = this.#parts;
    onResize(map, () => this.#draw());
    theme.addEventListener("change", () => this.#draw());
    measures.addEventListener("change", (event) => {
      this.#measure = event.target.value;
      this.#fillTable();
      this.#draw();
    });
    const point = (event) => {
      const box = this.#canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - box.left) / this.#cell);
      const row = Math.floor((event.clientY - box.top) / this.#cell);
      const index = row * this.#columns + column;
      this.#point(column >= 0 && column < this.#columns && index < this.#nodes.length ? index : -1);
    };
    map.addEventListener("pointermove", point);
    map.addEventListener("pointerleave", () => this.#point(-1));
    map.addEventListener("click", (event) => {
      point(event);
      this.#open();
    });
    map.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        this.#open();
        return;
      }
      const last = this.#nodes.length - 1;
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.#columns, ArrowDown: this.#columns }[
        event.key
      ];
      const target =
        event.key === "Home"
          ? 0
          : event.key === "End"
            ? last
            : step && (this.#cursor < 0 ? 0 : this.#cursor + step);
      if (target === undefined || target > last || target < 0) return;
      event.preventDefault();
      this.#point(target);
    });
  }

  #open() {
    const node = this.#nodes[this.#cursor];
    if (node) location.hash = nodeHref(node.name);
  }

  #point(index) {
    if (index === this.#cursor) return;
    this.#cursor = index;
    this.#read();
    this.#draw();
  }

  #read() {
    const node = this.#nodes[this.#cursor];
    const text = node
      ? `${node.name}: ${describe(node)}`
      : this.#nodes.length
        ? "Point at a node, or use the arrow keys; Enter opens it."
        : "";
    setText(this.#parts.readout, text);
    setAttribute(this.#parts.map, "aria-valuetext", text || "no nodes");
    setAttribute(this.#parts.map, "aria-valuemax", String(Math.max(0, this.#nodes.length - 1)));
    setAttribute(this.#parts.map, "aria-valuenow", String(Math.max(0, this.#cursor)));
  }

  async #load() {
    const nodes = [];
    let answer;
    let token;
    try {
      do {
        answer = await ask("nodes", { sort: "name", limit: PAGE, continue: token });
        nodes.push(...answer.items);
        token = answer.continue;
      } while (token && nodes.length < MOST_NODES);
    } catch (error) {
      if (!error.isSilence) setText(this.#parts.note, error.message);
      return;
    }
    this.#nodes = nodes;
    this.#total = answer.total;
    this.#show(answer);
  }

  #show({ total, summary }) {
    const { note, histogram, section } = this.#parts;
    const more = total > this.#nodes.length ? `; the map has the first ${count(this.#nodes.length)}` : "";
    setText(note, total ? `${count(total)} in all${more}` : "There are no nodes yet.");
    section.classList.toggle("empty", total === 0);
    for (const { id, words } of RESOURCES) {
      const { allocatable, requested } = summary[id];
      const [number, rest, line] = this.#parts.summary.querySelector(`[data-of=${id}] dd`).children;
      const share = allocatable ? requested / allocatable : 0;
      setText(number, percent(share));
      setText(rest, ` ${words(requested)} of ${words(allocatable)} requested`);
      setBar(line, share);
    }
    const most = Math.max(1, ...summary.histogram);
    summary.histogram.forEach((number, tenth) => {
      const [text, column] = histogram.children[tenth].firstElementChild.children;
      setText(text, compact(number));
      column.style.height = `calc((100% - 1.4em) * ${(number / most).toFixed(3)})`;
    });
    this.#fillTable();
    this.#read();
    this.#draw();
  }

  #fillTable() {
    const { rows, order } = this.#parts;
    const measure = this.#measure;
    const fullest = [...this.#nodes].sort((one, other) => share(other, measure) - share(one, measure));
    fillRows(rows, fullest.slice(0, TABLE_ROWS), makeNode, fillNode);
    const { name } = RESOURCES.find(({ id }) => id === measure);
    const first = fullest.length > TABLE_ROWS ? `The ${TABLE_ROWS} fullest nodes` : "Nodes, fullest first,";
    setText(order, `${first} by ${name === "CPU" ? name : name.toLowerCase()} requested`);
  }

  #draw() {
    const { map } = this.#parts;
    const width = map.clientWidth;
    const number = this.#nodes.length;
    if (!width || !number) {
      this.#canvas.style.height = "0";
      return;
    }
    this.#cell = Math.max(8, Math.min(40, Math.floor(Math.sqrt((width * HEIGHT) / number))));
    this.#columns = Math.max(1, Math.floor(width / this.#cell));
    const height = Math.ceil(number / this.#columns) * this.#cell;
    const context = prepareCanvas(this.#canvas, width, height);
    const gap = this.#cell > 14 ? 3 : 1;
    const [empty, water, ink, rule] = ["basin", "accent", "ink", "soft"].map(colour);
    const size = this.#cell - gap;
    this.#nodes.forEach((node, index) => {
      const left = (index % this.#columns) * this.#cell;
      const top = Math.floor(index / this.#columns) * this.#cell;
      const part = Math.min(1, share(node, this.#measure));
      context.fillStyle = empty;
      context.fillRect(left, top, size, size);
      const level = Math.round(size * part);
      context.fillStyle = water;
      context.globalAlpha = isForced() ? 1 : 0.45 + 0.55 * part;
      context.fillRect(left, top + size - level, size, level);
      context.globalAlpha = 1;
      if (node.unschedulable) {
        context.strokeStyle = ink;
        context.lineWidth = 1.2;
        context.beginPath();
        context.moveTo(left + 1, top + 1);
        context.lineTo(left + size - 1, top + size - 1);
        context.stroke();
      }
      if (index === this.#cursor) {
        context.strokeStyle = ink;
        context.lineWidth = 2;
        context.strokeRect(left, top, size, size);
      } else if (size > 14) {
        context.strokeStyle = rule;
        context.globalAlpha = isForced() ? 1 : 0.35;
        context.lineWidth = 1;
        context.strokeRect(left + 0.5, top + 0.5, size - 1, size - 1);
        context.globalAlpha = 1;
      }
    });
  }
}

/** Which part of what it can be asked for is requested. */
export function share(node, measure) {
  const { allocatable, requested } = node[measure];
  return allocatable ? requested / allocatable : 0;
}

function describe(node) {
  const uses = RESOURCES.map(({ id, name }) => `${name} ${percent(share(node, id))}`);
  if (node.unschedulable) uses.push("cordoned");
  return uses.join(", ");
}

function makeNode() {
  const use = () => h("td", { class: "use" }, bar(0), h("span"));
  return h("tr", null, h("th", { scope: "row" }, h("a"), h("small")), use(), use(), use());
}

function fillNode(row, node) {
  const [link, notes] = row.children[0].children;
  setText(link, node.name);
  setAttribute(link, "href", nodeHref(node.name));
  setText(
    notes,
    [node.zone, node.unschedulable ? "cordoned" : "", ...(node.taints ?? [])].filter(Boolean).join(" · "),
  );
  RESOURCES.forEach(({ id }, index) => {
    const [line, text] = row.children[index + 1].children;
    setBar(line, share(node, id));
    setText(text, percent(share(node, id)));
  });
}
