// Plots over the last ten minutes. The legend is the readout: it has the values of the moment that
// the pointer or the arrow keys choose, and else the newest.

import { h, onResize, prepareCanvas, setAttribute, setText } from "./dom.js";
import { COLUMN } from "./live.js";
import { isKnown, linear, logarithmic } from "./plot-scales.js";
import { colour, isForced, theme } from "./theme.js";
import { compact, moment, rate, rateUnit, span } from "./words.js";

const WINDOW = 600;
const SHORTEST_WINDOW = 60;
const LEFT = 46;
const RIGHT = 8;
const TOP = 20;
const BOTTOM = 20;
export const DEPTH = {
  title: "Depth",
  note: "Pods waiting, by place",
  unit: () => "pods",
  isStacked: true,
  words: compact,
  lines: [
    { column: COLUMN.inFlight, name: "in flight", paint: "inFlight" },
    { column: COLUMN.active, name: "active", paint: "active" },
    { column: COLUMN.backoff, name: "backing off", paint: "backoff", hatch: 1 },
    { column: COLUMN.unschedulable, name: "unschedulable", paint: "unschedulable" },
    { column: COLUMN.gated, name: "gated", paint: "gated", hatch: 2 },
  ],
};

export const THROUGHPUT = {
  title: "Throughput",
  note: "Attempts and pods bound, averaged over five seconds",
  unit: () => rateUnit().words,
  factor: () => rateUnit().seconds,
  averaged: 5,
  words: rate,
  lines: [
    { column: COLUMN.attempts, name: "attempts", paint: "backoff", dash: [5, 3] },
    { column: COLUMN.bound, name: "bound", paint: "bound" },
  ],
};

export const WAIT = {
  title: "Wait",
  note: "From ready to bound; rounded up by half at most",
  unit: () => "waited",
  isLogarithmic: true,
  isSparse: true,
  words: span,
  lines: [
    { column: COLUMN.waitP99, name: "99 of 100 within", paint: "unschedulable", dash: [5, 3] },
    { column: COLUMN.waitP50, name: "half within", paint: "bound" },
  ],
};

export class Plot {
  #live;
  #kind;
  #canvas = h("canvas", { "aria-hidden": "true" });
  #stage;
  #when = h("p", { class: "when" });
  #values = [];
  #chosen = null;
  #patterns = new Map();
  #spoken = {};

  constructor(container, live, kind) {
    this.#live = live;
    this.#kind = kind;
    this.#stage = h(
      "div",
      {
        class: "stage",
        tabIndex: 0,
        role: "slider",
        "aria-label": `${kind.title} in the last ten minutes: choose a moment with the arrow keys`,
        "aria-valuemin": "0",
        "aria-valuemax": "0",
        "aria-valuenow": "0",
      },
      this.#canvas,
    );
    const legend = h("ul", { class: "legend" });
    for (const line of kind.lines) {
      const value = h("b", null, "–");
      const swatch = h("i", {
        class: `swatch swatch-${line.paint} ${line.dash ? "dashed" : ""} ${line.hatch ? `hatch-${line.hatch}` : ""} ${kind.isStacked ? "area" : "line"}`,
        "aria-hidden": "true",
      });
      legend.append(h("li", null, swatch, h("span", null, line.name), value));
      this.#values.push(value);
    }
    const heading = h("div", { class: "heading" }, h("h3", null, kind.title), this.#when);
    container.append(heading, h("p", { class: "note" }, kind.note), this.#stage, legend);
    this.#listen();
  }

  #listen() {
    onResize(this.#stage, () => this.#draw());
    this.#live.addEventListener("series", () => this.#draw());
    theme.addEventListener("change", () => {
      this.#patterns.clear();
      this.#draw();
    });
    this.#stage.addEventListener("focus", () => this.#draw());
    const point = (event) => {
      const box = this.#stage.getBoundingClientRect();
      const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
      this.#choose(this.#firstTime() + share * this.#window());
    };
    this.#stage.addEventListener("pointermove", point);
    this.#stage.addEventListener("pointerdown", point);
    this.#stage.addEventListener("pointerleave", () => this.#choose(null));
    this.#stage.addEventListener("blur", () => this.#choose(null));
    this.#stage.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -30, PageUp: 30 }[
        event.key
      ];
      const { start, samples } = this.#live.series;
      if (!samples.length) return;
      if (event.key === "Home") this.#choose(start);
      else if (event.key === "End") this.#choose(this.#lastTime());
      else if (step) this.#choose((this.#chosen ?? this.#lastTime()) + step * this.#live.series.step);
      else return;
      event.preventDefault();
    });
  }

  #choose(time) {
    const { start, samples } = this.#live.series;
    if (time !== null) {
      if (!samples.length) return;
      time = Math.max(start, Math.min(this.#lastTime(), time));
    }
    this.#chosen = time;
    this.#draw();
    this.#speak();
  }

  #lastTime() {
    const { start, step, samples } = this.#live.series;
    return start + (samples.length - 1) * step;
  }

  #window() {
    const { step, samples } = this.#live.series;
    return Math.min(WINDOW * step, Math.max(SHORTEST_WINDOW * step, (samples.length - 1) * step));
  }

  #firstTime() {
    return this.#lastTime() - this.#window();
  }

  #draw() {
    const [width, height] = [this.#stage.clientWidth, this.#stage.clientHeight];
    if (!width || !height) return;
    const context = prepareCanvas(this.#canvas, width, height);
    const { start, step } = this.#live.series;
    const kind = this.#kind;
    const samples = this.#samples();
    const index = this.#chosenIndex();
    this.#read(samples, index);
    const scale = (kind.isLogarithmic ? logarithmic : linear)(samples, kind);
    const [wide, high] = [width - LEFT - RIGHT, height - TOP - BOTTOM];
    const first = this.#firstTime();
    const x = (at) => LEFT + ((start + at * step - first) / this.#window()) * wide;
    const y = (value) => TOP + high * (1 - scale.share(value));
    this.#drawGrid(context, scale, y, width, height);
    if (samples.length > 1) {
      context.save();
      context.beginPath();
      context.rect(LEFT, TOP - 2, wide, high + 4);
      context.clip();
      if (kind.isStacked) this.#drawAreas(context, samples, x, y);
      else for (const line of kind.lines) drawLine(context, samples, line, kind.isSparse, x, y);
      context.restore();
    }
    if (scale.beyond) drawBeyond(context, `↑ ${scale.words(scale.beyond.value)}`, x(scale.beyond.at), width);
    if (this.#chosen !== null && index >= 0) {
      context.fillStyle = colour("ink");
      context.fillRect(Math.round(x(index)), TOP, 1, high);
    }
  }

  #chosenIndex() {
    const { start, step, samples } = this.#live.series;
    if (this.#chosen === null) return samples.length - 1;
    return Math.max(0, Math.min(samples.length - 1, Math.round((this.#chosen - start) / step)));
  }

  /** The samples as they are drawn. */
  #samples() {
    const { samples } = this.#live.series;
    const { averaged, lines } = this.#kind;
    if (!averaged) return samples;
    return samples.map((_, index) => {
      const some = samples.slice(Math.max(0, index - averaged + 1), index + 1);
      const sample = [];
      for (const { column } of lines)
        sample[column] = some.reduce((sum, one) => sum + (one[column] || 0), 0) / some.length;
      return sample;
    });
  }

  #read(samples, index) {
    const { start, step } = this.#live.series;
    const kind = this.#kind;
    let from = index;
    // Nobody may have been bound for a minute: the newest wait is what one wants to know.
    if (kind.isSparse && this.#chosen === null) {
      while (from > 0 && !isKnown(samples[from]?.[kind.lines[0].column])) from -= 1;
    }
    const sample = samples[from];
    const texts = kind.lines.map(({ column }) => {
      const value = sample?.[column];
      return value === undefined || (kind.isSparse && !isKnown(value)) ? "–" : kind.words(value);
    });
    texts.forEach((text, at) => setText(this.#values[at], text));
    const at = start + index * step;
    setText(this.#when, this.#chosen === null ? "" : `at ${moment(at, this.#live.epoch)}`);
    const spoken = kind.lines.map(({ name }, line) => `${name} ${texts[line]}`).join(", ");
    this.#spoken = {
      "aria-valuemax": String(Math.max(0, samples.length - 1)),
      "aria-valuenow": String(Math.max(0, index)),
      "aria-valuetext": `${moment(at, this.#live.epoch)}: ${spoken}`,
    };
    // Who stands on it is told what they choose, not that a second went by.
    if (document.activeElement !== this.#stage) this.#speak();
  }

  #speak() {
    for (const [name, value] of Object.entries(this.#spoken)) setAttribute(this.#stage, name, value);
  }

  #drawGrid(context, scale, y, width, height) {
    context.font = `11px ${getComputedStyle(this.#stage).fontFamily}`;
    context.fillStyle = colour("soft");
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const mark of scale.marks) {
      const at = Math.round(y(mark)) + 0.5;
      context.strokeStyle = colour("rule");
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(LEFT, at);
      context.lineTo(width - RIGHT, at);
      context.stroke();
      context.fillText(scale.words(mark), LEFT - 7, at);
    }
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    context.fillText(this.#kind.unit(), 0, 10);
    const length = Math.round(this.#window() / 10) * 10;
    context.textAlign = "left";
    context.fillText(`${span(length)} ago`, LEFT, height - 5);
    context.textAlign = "right";
    context.fillText("now", width - RIGHT, height - 5);
  }

  #drawAreas(context, samples, x, y) {
    const below = new Float64Array(samples.length);
    for (const line of this.#kind.lines) {
      const above = below.map((value, index) => value + (samples[index][line.column] || 0));
      context.beginPath();
      above.forEach((value, index) =>
        index ? context.lineTo(x(index), y(value)) : context.moveTo(x(0), y(value)),
      );
      for (let index = samples.length - 1; index >= 0; index -= 1) context.lineTo(x(index), y(below[index]));
      context.closePath();
      // Of few colours, the hatched areas are hatched alone: they differ by nothing else.
      if (!isForced() || !line.hatch) {
        context.globalAlpha = isForced() ? 1 : 0.5;
        context.fillStyle = colour(line.paint);
        context.fill();
      }
      if (line.hatch) {
        context.globalAlpha = isForced() ? 1 : 0.55;
        context.fillStyle = this.#pattern(context, line);
        context.fill();
      }
      context.globalAlpha = 1;
      context.strokeStyle = colour(isForced() ? "ink" : line.paint);
      context.lineWidth = 1;
      context.beginPath();
      above.forEach((value, index) => {
        // Where nothing is on top there is no edge.
        if (index && (value > below[index] || above[index - 1] > below[index - 1]))
          context.lineTo(x(index), y(value));
        else context.moveTo(x(index), y(value));
      });
      context.stroke();
      below.set(above);
    }
  }

  /** Hatching, so that areas differ by more than their colour. */
  #pattern(context, { paint, hatch }) {
    const known = this.#patterns.get(paint);
    if (known) return known;
    const tile = h("canvas");
    tile.width = tile.height = 8;
    const pen = tile.getContext("2d");
    pen.strokeStyle = colour(paint);
    pen.lineWidth = 1.4;
    pen.beginPath();
    pen.moveTo(-2, 10);
    pen.lineTo(10, -2);
    pen.moveTo(-2, 2);
    pen.lineTo(2, -2);
    pen.moveTo(6, 10);
    pen.lineTo(10, 6);
    if (hatch === 2) {
      pen.moveTo(-2, -2);
      pen.lineTo(10, 10);
    }
    pen.stroke();
    const pattern = context.createPattern(tile, "repeat");
    this.#patterns.set(paint, pattern);
    return pattern;
  }
}

function drawLine(context, samples, line, isSparse, x, y) {
  context.beginPath();
  let isDown = false;
  samples.forEach((sample, index) => {
    const value = sample[line.column];
    // Where nothing is known there is no line.
    if (isSparse ? !isKnown(value) : value === undefined || value === null) {
      isDown = false;
      return;
    }
    if (isDown) context.lineTo(x(index), y(value));
    else context.moveTo(x(index), y(value));
    isDown = true;
  });
  context.setLineDash(line.dash ?? []);
  context.strokeStyle = colour(line.paint);
  context.lineWidth = 1.6;
  context.lineJoin = "round";
  context.stroke();
  context.setLineDash([]);
}

/** What is cut off at the top is said there. */
function drawBeyond(context, text, x, width) {
  context.fillStyle = colour("soft");
  context.textBaseline = "alphabetic";
  context.textAlign = x > width / 2 ? "right" : "left";
  context.fillText(text, Math.max(LEFT + 30, Math.min(width - RIGHT, x)), 10);
}
