// Plots over the last ten minutes. The legend is the readout: it has the values of the moment that
// the pointer or the arrow keys choose, and else the newest.

import { h, onResize, prepareCanvas, setAttribute, setText } from "./dom.js";
import { COLUMN } from "./live.js";
import { colour, theme } from "./theme.js";
import { compact, moment, rate, span } from "./words.js";

const WINDOW = 600;
const SHORTEST_WINDOW = 60;
const LEFT = 46;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 20;
const MARKS = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36000, 86400, 604800];

export const DEPTH = {
  title: "Depth",
  note: "Pods waiting, by place",
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
  note: "Attempts and pods bound a second, averaged over five",
  averaged: 5,
  words: rate,
  lines: [
    { column: COLUMN.attempts, name: "attempts", paint: "backoff", dash: [5, 3] },
    { column: COLUMN.bound, name: "bound", paint: "bound" },
  ],
};

export const WAIT = {
  title: "Wait",
  note: "From ready to bound, of those bound in that second",
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
    const scale = kind.isLogarithmic ? this.#logarithmic(samples) : this.#linear(samples);
    const [wide, high] = [width - LEFT - RIGHT, height - TOP - BOTTOM];
    const first = this.#firstTime();
    const x = (at) => LEFT + ((start + at * step - first) / this.#window()) * wide;
    const y = (value) => TOP + high * (1 - scale.share(value));
    this.#drawGrid(context, scale, y, width, height);
    if (samples.length > 1) {
      if (kind.isStacked) this.#drawAreas(context, samples, x, y);
      else for (const line of kind.lines) drawLine(context, samples, line, kind.isSparse, x, y);
    }
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
    // Nobody may have been bound just now: the newest wait is what one wants to know.
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
    setAttribute(this.#stage, "aria-valuemax", String(Math.max(0, samples.length - 1)));
    setAttribute(this.#stage, "aria-valuenow", String(Math.max(0, index)));
    setAttribute(this.#stage, "aria-valuetext", `${moment(at, this.#live.epoch)}: ${spoken}`);
  }

  #linear(samples) {
    const { isStacked, lines } = this.#kind;
    let most = 0;
    for (const sample of samples) {
      let sum = 0;
      for (const { column } of lines) {
        sum = isStacked ? sum + (sample[column] || 0) : Math.max(sum, sample[column] || 0);
      }
      most = Math.max(most, sum);
    }
    const step = niceStep(most / 3);
    const top = Math.max(step, Math.ceil(most / step) * step);
    const marks = [];
    for (let mark = 0; mark <= top + step / 2; mark += step) marks.push(mark);
    return { share: (value) => value / top, marks, words: (mark) => compact(mark) };
  }

  #logarithmic(samples) {
    let [least, most] = [Infinity, 0];
    for (const sample of samples) {
      for (const { column } of this.#kind.lines) {
        if (!isKnown(sample[column])) continue;
        least = Math.min(least, sample[column]);
        most = Math.max(most, sample[column]);
      }
    }
    if (!most) [least, most] = [0.01, 10];
    const bottom = MARKS.findLast((mark) => mark <= least) ?? MARKS[0];
    const top = MARKS.find((mark) => mark >= most && mark > bottom) ?? MARKS.at(-1);
    const [low, high] = [Math.log(bottom), Math.log(top)];
    let marks = MARKS.filter((mark) => mark >= bottom && mark <= top);
    if (marks.length > 5) marks = marks.filter((_, index) => index % 2 === (marks.length - 1) % 2);
    const share = (value) => Math.max(0, (Math.log(Math.max(value, bottom)) - low) / (high - low));
    return { share, marks, words: (mark) => span(mark) };
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
      context.globalAlpha = 0.5;
      context.fillStyle = colour(line.paint);
      context.fill();
      if (line.hatch) {
        context.globalAlpha = 0.55;
        context.fillStyle = this.#pattern(context, line);
        context.fill();
      }
      context.globalAlpha = 1;
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
    if (isSparse ? !isKnown(value) : value === undefined || value === null) return;
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

function isKnown(value) {
  return typeof value === "number" && value > 0;
}

/** 1, 2 or 5 times a power of ten: the least that is not below. */
function niceStep(least) {
  if (!(least > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= least) * power;
  return Math.max(1, step);
}
