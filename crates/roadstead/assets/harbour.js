// The harbour chart: the places of the queue, and how pods move between them. Pods are never drawn
// one by one: a course is as broad as its rate, and a few lights travel along it. Where there is no
// room to draw, the places are a list, and how pods come to each is said in words.

import {
  h,
  onResize,
  prepareCanvas,
  setAttribute,
  setHidden,
  setText,
  setBar,
  bar,
  fillRows,
  stillness,
} from "./dom.js";
import { LAYOUT } from "./harbour-layout.js";
import { COLUMN } from "./live.js";
import { why } from "./moves.js";
import { colour, theme } from "./theme.js";
import { PLACES, compact, count, percent, placeWords, rate } from "./words.js";

const STEPS = 48;
const MOST_LIGHTS = 7;
/** How far frames are apart where much moves, and where little does. */
const FRAME_MS = 50;
const SLOW_FRAME_MS = 100;
const MUCH_A_SECOND = 100;
/** For how long a course is lit after a move on it. */
const LIT_MS = 3000;
const ROOM_TO_DRAW = 760;
const MOST_WAYS = 4;

export class Harbour {
  #live;
  #stage;
  #canvas = h("canvas", { "aria-hidden": "true" });
  #boxes = new Map();
  #courses = new Map();
  #isNarrow = null;
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
    for (const id of ORDER) {
      const place = PLACES.find((known) => known.id === id);
      const parts = place ? makePlace(place) : makePort(id);
      const ways = h("ul", { class: "ways" });
      this.#stage.append(h("div", { class: "spot" }, parts.box, ways));
      this.#boxes.set(id, { ...parts, ways });
    }
  }

  #makeCourses() {
    for (const key of Object.keys(LAYOUT.courses)) {
      const [from, to] = key.split(" ");
      const amount = h("b");
      const why = h("span");
      const attributes = { class: "course", "aria-hidden": "true", "data-course": key, hidden: true };
      const label = h("div", attributes, amount, why);
      this.#stage.append(label);
      this.#courses.set(key, { from, to, label, amount, why, rate: 0, total: 0, points: [], phase: 0, movedAt: 0 });
    }
  }

  #fit() {
    const width = this.#stage.clientWidth;
    if (!width) return;
    const isNarrow = width < ROOM_TO_DRAW;
    if (isNarrow !== this.#isNarrow) {
      this.#isNarrow = isNarrow;
      this.#stage.classList.toggle("narrow", isNarrow);
      this.#place();
      this.#update();
    }
    this.#size = [width, this.#stage.clientHeight];
    const [x, y] = [width / LAYOUT.width, this.#size[1] / LAYOUT.height];
    for (const [key, course] of this.#courses) {
      const curve = LAYOUT.courses[key].curve.map((value, index) => value * (index % 2 ? y : x));
      course.points = along(curve);
    }
    this.#redraw();
    this.#run();
  }

  #place() {
    const { width, height, boxes, courses } = LAYOUT;
    const part = (value, whole) => (this.#isNarrow ? "" : `${((value / whole) * 100).toFixed(3)}%`);
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
      setText(parts.number, depth < 1e6 ? count(depth) : compact(depth));
      setText(parts.share, waiting && depth ? percent(depth / waiting) : "");
      setBar(parts.line, waiting ? depth / waiting : 0);
      setAttribute(parts.box, "title", `${count(depth)} ${name.toLowerCase()}: list them`);
    }
    this.#updateCourses(flows);
    if (this.#isNarrow) this.#updateWays(flows);
    const binding = counts.binding ?? 0;
    const bound = activity?.totals?.bound ?? status?.boundTotal;
    const left = flows.reduce((sum, flow) => sum + (flow.to === "gone" ? flow.count : 0), 0);
    this.#port("new", rate(this.#live.rateOf((flow) => flow.from === "new")), "lately");
    this.#port("bound", compact(bound), binding ? `${compact(binding)} being bound` : "since the start");
    this.#port("gone", compact(left), "while waiting");
    this.#run();
    if (!this.#isRunning) this.#draw(0);
  }

  #port(id, number, note) {
    const parts = this.#boxes.get(id);
    setText(parts.number, number);
    setText(parts.note, note);
  }

  #updateCourses(flows) {
    const totals = new Map();
    for (const [key, course] of this.#courses) {
      totals.set(key, course.total);
      Object.assign(course, { rate: 0, total: 0, causes: [] });
    }
    for (const flow of flows) {
      const course = this.#courses.get(`${flow.from} ${flow.to}`);
      if (!course) continue;
      course.rate += flow.rate;
      course.total += flow.count;
      if (flow.rate > 0) course.causes.push(flow);
    }
    for (const [key, course] of this.#courses) {
      if (course.total !== totals.get(key)) course.movedAt = performance.now();
      setHidden(course.label, course.rate <= 0);
      if (course.rate <= 0) continue;
      setText(course.amount, rate(course.rate));
      const isPlain = course.from === "new" || course.to === "bound" || course.to === "gone";
      setText(course.why, isPlain ? "" : why(course.causes));
    }
  }

  /** For each place, how pods come to it, in words. */
  #updateWays(flows) {
    const ways = new Map();
    for (const flow of flows) {
      if (!(flow.rate > 0)) continue;
      const key = `${flow.from} ${flow.to}`;
      const way = ways.get(key) ?? { from: flow.from, to: flow.to, rate: 0, causes: [] };
      way.rate += flow.rate;
      way.causes.push(flow);
      ways.set(key, way);
    }
    const all = [...ways.values()].sort((one, other) => other.rate - one.rate);
    const make = () => h("li", null, h("b"), h("span"));
    for (const [id, { ways: list }] of this.#boxes) {
      const here = all.filter(({ to }) => to === id).slice(0, MOST_WAYS);
      fillRows(list, here, make, (item, way) => {
        setText(item.firstElementChild, rate(way.rate));
        const from = way.from === "new" ? "" : ` from ${placeWords(way.from)}:`;
        setText(item.lastElementChild, `${from} ${why(way.causes)}`);
      });
    }
  }

  #isLit(course) {
    return course.rate > 0 && performance.now() - course.movedAt < LIT_MS;
  }

  #run() {
    const isBusy = [...this.#courses.values()].some((course) => this.#isLit(course));
    const isLive = this.#live.trouble === null && !document.hidden;
    const wanted = isBusy && isLive && this.#isSeen && !this.#isNarrow && !stillness.matches;
    if (wanted === this.#isRunning) return;
    this.#isRunning = wanted;
    if (!wanted) {
      this.#draw(0);
      return;
    }
    const frame = (time) => {
      if (!this.#isRunning) return;
      this.#draw(Math.min(time - this.#lastFrame, 200) / 1000);
      this.#lastFrame = time;
      later();
    };
    const later = () => {
      const isMuch = this.#live.rateOf(() => true) > MUCH_A_SECOND;
      setTimeout(() => requestAnimationFrame(frame), isMuch ? FRAME_MS - 16 : SLOW_FRAME_MS - 16);
    };
    later();
  }

  #redraw() {
    this.#draw(0);
    this.#drawTides();
  }

  #draw(elapsed) {
    const [width, height] = this.#size;
    if (!width || this.#isNarrow) return;
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
      if (this.#isLit(course) && !stillness.matches) this.#drawLights(context, course, elapsed, flow, breadth);
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

const ORDER = ["new", "active", "inFlight", "bound", "backoff", "unschedulable", "gated", "gone"];
const PORTS = { new: "New pods", bound: "Bound in all", gone: "Deleted" };

function makePlace(place) {
  const tide = h("canvas", { class: "tide", "aria-hidden": "true" });
  const number = h("b", { class: "depth" }, "–");
  const share = h("span", { class: "share" });
  const line = bar(0, "level");
  const box = h(
    "a",
    { class: `box place-${place.id}`, href: `#place/${place.id}` },
    tide,
    h("span", { class: "name" }, h("i", { class: "mark", "aria-hidden": "true" }, place.mark), place.name),
    h("span", { class: "row" }, number, h("span", { class: "unseen" }, " pods, "), share),
    h("span", { class: "says" }, place.says),
    line,
  );
  return { box, tide, number, share, line, column: COLUMN[place.id] };
}

function makePort(id) {
  const number = h("b", { class: "depth" }, "–");
  const note = h("span", { class: "says" });
  const name = h("span", { class: "name" }, PORTS[id]);
  return { box: h("div", { class: `box port port-${id}` }, name, number, note), number, note };
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
