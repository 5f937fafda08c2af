// The harbour chart: the places of the queue, and how pods move between them. Pods are never drawn
// one by one: a course is as broad as its rate, and a few lights travel along it.

import {
  h,
  onResize,
  prepareCanvas,
  setAttribute,
  setHidden,
  setText,
  setBar,
  bar,
  stillness,
} from "./dom.js";
import { NARROW, WIDE } from "./harbour-layout.js";
import { COLUMN } from "./live.js";
import { colour, theme } from "./theme.js";
import { PLACES, causeWords, compact, count, percent, placeWords, rate } from "./words.js";

const STEPS = 48;
const MOST_LIGHTS = 7;
const FRAME_MS = 33;

export class Harbour {
  #live;
  #stage;
  #canvas = h("canvas", { "aria-hidden": "true" });
  #boxes = new Map();
  #courses = new Map();
  #layout = null;
  #size = [0, 0];
  #isSeen = true;
  #isRunning = false;
  #lastFrame = 0;

  constructor(stage, live) {
    this.#live = live;
    this.#stage = stage;
    stage.append(this.#canvas);
    this.#makeBoxes();
    this.#makeCourses();
    onResize(stage, () => this.#fit());
    theme.addEventListener("change", () => this.#redraw());
    live.addEventListener("activity", () => this.#update());
    live.addEventListener("series", () => this.#drawTides());
    live.addEventListener("status", () => this.#update());
    live.addEventListener("connection", () => this.#run());
    new IntersectionObserver((entries) => {
      this.#isSeen = entries.at(-1).isIntersecting;
      this.#run();
    }).observe(stage);
    document.addEventListener("visibilitychange", () => this.#run());
    stillness.addEventListener("change", () => this.#run());
  }

  #makeBoxes() {
    for (const place of PLACES) {
      const tide = h("canvas", { class: "tide", "aria-hidden": "true" });
      const number = h("b", { class: "depth" }, "–");
      const share = h("span", { class: "share" });
      const line = bar(0, "level");
      const box = h(
        "a",
        { class: `box place-${place.id}`, href: `#place/${place.id}` },
        tide,
        h(
          "span",
          { class: "name" },
          h("i", { class: "mark", "aria-hidden": "true" }, place.mark),
          place.name,
        ),
        h("span", { class: "row" }, number, h("span", { class: "unseen" }, " pods, "), share),
        h("span", { class: "says" }, place.says),
        line,
      );
      this.#stage.append(box);
      this.#boxes.set(place.id, { box, tide, number, share, line, column: COLUMN[place.id] });
    }
    for (const [id, name] of [
      ["new", "New pods"],
      ["bound", "Bound"],
      ["gone", "Deleted"],
    ]) {
      const number = h("b", { class: "depth" }, "–");
      const note = h("span", { class: "says" });
      const box = h(
        "div",
        { class: `box port port-${id}` },
        h("span", { class: "name" }, name),
        number,
        note,
      );
      this.#stage.append(box);
      this.#boxes.set(id, { box, number, note });
    }
  }

  #makeCourses() {
    for (const key of Object.keys(WIDE.courses)) {
      const [from, to] = key.split(" ");
      const amount = h("b");
      const why = h("span");
      const label = h("div", { class: "course", "aria-hidden": "true", hidden: true }, amount, why);
      this.#stage.append(label);
      this.#courses.set(key, { from, to, label, amount, why, rate: 0, total: 0, points: [], phase: 0 });
    }
  }

  #fit() {
    const width = this.#stage.clientWidth;
    if (!width) return;
    const layout = width < 640 ? NARROW : WIDE;
    if (layout !== this.#layout) {
      this.#layout = layout;
      this.#stage.classList.toggle("narrow", layout === NARROW);
      this.#place();
    }
    this.#size = [width, this.#stage.clientHeight];
    const [x, y] = [width / layout.width, this.#size[1] / layout.height];
    for (const [key, course] of this.#courses) {
      const curve = layout.courses[key].curve.map((value, index) => value * (index % 2 ? y : x));
      course.points = along(curve);
    }
    this.#redraw();
  }

  #place() {
    const { width, height, boxes, courses } = this.#layout;
    const part = (value, whole) => `${((value / whole) * 100).toFixed(3)}%`;
    for (const [id, { box }] of this.#boxes) {
      const [left, top, wide, high] = boxes[id];
      box.style.left = part(left, width);
      box.style.top = part(top, height);
      box.style.width = part(wide, width);
      box.style.height = part(high, height);
    }
    for (const [key, { label }] of this.#courses) {
      const {
        label: [left, top],
        align,
      } = courses[key];
      label.style.left = part(left, width);
      label.style.top = part(top, height);
      label.className = `course ${align}`;
    }
  }

  #update() {
    const { activity, status, flows } = this.#live;
    const counts = activity?.counts ?? status?.counts;
    if (!counts) return;
    const waiting = PLACES.reduce((sum, { id }) => sum + (counts[id] ?? 0), 0);
    for (const { id, name } of PLACES) {
      const parts = this.#boxes.get(id);
      const depth = counts[id] ?? 0;
      setText(parts.number, compact(depth));
      setText(parts.share, waiting && depth ? percent(depth / waiting) : "");
      setBar(parts.line, waiting ? depth / waiting : 0);
      setAttribute(parts.box, "title", `${count(depth)} ${name.toLowerCase()}: list them`);
    }
    this.#updateCourses(flows);
    const binding = counts.binding ?? 0;
    const bound = activity?.totals?.bound ?? status?.boundTotal;
    this.#port("new", rate(this.#live.rateOf((flow) => flow.from === "new")), "");
    this.#port("bound", compact(bound), binding ? `${compact(binding)} being bound` : "found a berth");
    const gone = (flow) => flow.to === "gone";
    let left = 0;
    for (const flow of flows.values()) if (gone(flow)) left += flow.count;
    this.#port("gone", compact(left), "");
    this.#run();
    if (!this.#isRunning) this.#draw(0);
  }

  #port(id, number, note) {
    const parts = this.#boxes.get(id);
    setText(parts.number, number);
    setText(parts.note, note);
  }

  #updateCourses(flows) {
    for (const course of this.#courses.values()) Object.assign(course, { rate: 0, total: 0, causes: [] });
    for (const flow of flows.values()) {
      const course = this.#courses.get(`${flow.from} ${flow.to}`);
      if (!course) continue;
      course.rate += flow.rate;
      course.total += flow.count;
      if (flow.rate > 0) course.causes.push(flow);
    }
    for (const course of this.#courses.values()) {
      setHidden(course.label, course.rate <= 0);
      if (course.rate <= 0) continue;
      setText(course.amount, rate(course.rate));
      course.causes.sort((one, other) => other.rate - one.rate);
      const more = course.causes.length > 1 ? ` +${course.causes.length - 1}` : "";
      const isPlain = course.from === "new" || course.to === "bound" || course.to === "gone";
      setText(course.why, isPlain ? "" : causeWords(course.causes[0].cause) + more);
    }
  }

  #run() {
    const isBusy = [...this.#courses.values()].some((course) => course.rate > 0);
    const isLive = this.#live.trouble === null && !document.hidden;
    const wanted = isBusy && isLive && this.#isSeen && !stillness.matches;
    if (wanted === this.#isRunning) return;
    this.#isRunning = wanted;
    if (!wanted) {
      this.#draw(0);
      return;
    }
    const frame = (time) => {
      if (!this.#isRunning) return;
      if (time - this.#lastFrame >= FRAME_MS) {
        this.#draw(Math.min(time - this.#lastFrame, 100) / 1000);
        this.#lastFrame = time;
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  #redraw() {
    this.#draw(0);
    this.#drawTides();
  }

  #draw(elapsed) {
    const [width, height] = this.#size;
    if (!width) return;
    const context = prepareCanvas(this.#canvas, width, height);
    const [quiet, flow] = [colour("course"), colour("accent")];
    context.lineCap = "round";
    for (const course of this.#courses.values()) {
      // A course that nobody ever took is no news, except the one way through.
      const isMain = ["new active", "active inFlight", "inFlight bound"].includes(
        `${course.from} ${course.to}`,
      );
      if (!course.total && !isMain) continue;
      const isBusy = course.rate > 0;
      const breadth = isBusy ? 1.5 + 2.2 * Math.log10(1 + course.rate) : 1;
      stroke(context, course.points, isBusy ? flow : quiet, breadth, isBusy ? 0.42 : 1, isBusy ? [] : [2, 5]);
      arrow(context, course.points, isBusy ? flow : quiet, 5 + breadth);
      if (isBusy && !stillness.matches) this.#drawLights(context, course, elapsed, flow, breadth);
    }
  }

  #drawLights(context, course, elapsed, paint, breadth) {
    const strength = Math.log10(1 + course.rate);
    const lights = Math.min(MOST_LIGHTS, Math.max(1, Math.round(strength * 2)));
    course.phase = (course.phase + elapsed * (0.16 + 0.1 * strength)) % 1;
    context.fillStyle = paint;
    for (let index = 0; index < lights; index += 1) {
      const at = ((course.phase + index / lights) % 1) * STEPS;
      const [x, y] = between(course.points, at);
      context.beginPath();
      context.arc(x, y, Math.min(5, 2.2 + breadth / 4), 0, Math.PI * 2);
      context.fill();
    }
  }

  /** Behind each place, how deep it was: the last minutes as a tide against its own highest. */
  #drawTides() {
    const { samples } = this.#live.series;
    for (const [id, { box, tide, column }] of this.#boxes) {
      if (!tide) continue;
      const [width, height] = [box.clientWidth, box.clientHeight];
      if (!width) continue;
      const context = prepareCanvas(tide, width, height);
      const highest = samples.reduce((most, sample) => Math.max(most, sample[column]), 0);
      if (!highest || samples.length < 2) continue;
      context.beginPath();
      context.moveTo(0, height);
      samples.forEach((sample, index) => {
        const x = (index / (samples.length - 1)) * width;
        context.lineTo(x, height - (sample[column] / highest) * height * 0.62);
      });
      context.lineTo(width, height);
      context.fillStyle = colour(id);
      context.globalAlpha = 0.13;
      context.fill();
      context.globalAlpha = 1;
    }
  }
}

/** The same as a table, for who does not see the chart, and for what it leaves out. */
export function fillFlows(rows, live, fillRows) {
  const flows = [...live.flows.values()].sort(
    (one, other) => other.rate - one.rate || other.count - one.count,
  );
  const make = () =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }),
      h("td"),
      h("td"),
      h("td", { class: "n" }),
      h("td", { class: "n" }),
    );
  fillRows(rows, flows.slice(0, 100), make, (row, flow) => {
    const texts = [
      placeWords(flow.from),
      placeWords(flow.to),
      causeWords(flow.cause),
      rate(flow.rate),
      count(flow.count),
    ];
    texts.forEach((text, index) => setText(row.children[index], text));
    row.children[2].title = flow.cause;
  });
}

/** Points along a curve, evenly by its parameter. */
function along([x0, y0, x1, y1, x2, y2, x3, y3]) {
  return Array.from({ length: STEPS + 1 }, (_, index) => {
    const t = index / STEPS;
    const u = 1 - t;
    const [a, b, c, d] = [u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t];
    return [a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3];
  });
}

function between(points, at) {
  const index = Math.min(Math.floor(at), points.length - 2);
  const part = at - index;
  const [[x0, y0], [x1, y1]] = [points[index], points[index + 1]];
  return [x0 + (x1 - x0) * part, y0 + (y1 - y0) * part];
}

function stroke(context, points, paint, breadth, alpha, dash) {
  context.beginPath();
  points.forEach(([x, y], index) => (index ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.setLineDash(dash);
  context.strokeStyle = paint;
  context.lineWidth = breadth;
  context.globalAlpha = alpha;
  context.stroke();
  context.globalAlpha = 1;
  context.setLineDash([]);
}

function arrow(context, points, paint, size) {
  const [x, y] = points.at(-1);
  const [fromX, fromY] = points.at(-4);
  const angle = Math.atan2(y - fromY, x - fromX);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - size * Math.cos(angle - 0.5), y - size * Math.sin(angle - 0.5));
  context.lineTo(x - size * Math.cos(angle + 0.5), y - size * Math.sin(angle + 0.5));
  context.closePath();
  context.fillStyle = paint;
  context.fill();
}
