// How high a value is drawn in a plot, and which values are marked beside it.

import { compact, span } from "./words.js";

/** Which part of the moments a scale must hold, and how far beyond it what is cut off must be. */
const USUALLY = 0.97;
const FAR_BEYOND = 3;
const MARKS = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36000, 86400, 604800];

export function linear(samples, { isStacked, lines, factor = () => 1 }) {
  const heights = samples.map((sample) =>
    lines.reduce((sum, { column }) => {
      const value = sample[column] || 0;
      return isStacked ? sum + value : Math.max(sum, value);
    }, 0),
  );
  const highest = heights.reduce((most, value) => Math.max(most, value), 0);
  // A rush of some seconds must not press all the rest to the ground.
  const usual = heights.toSorted((one, other) => one - other)[Math.floor(heights.length * USUALLY)] ?? 0;
  const isCut = usual > 0 && highest > usual * FAR_BEYOND;
  const times = factor();
  const most = (isCut ? usual * 1.5 : highest) * times;
  const step = niceStep(most / 3);
  const top = Math.max(step, Math.ceil(most / step) * step);
  const marks = [];
  for (let mark = 0; mark <= top + step / 2; mark += step) marks.push(mark / times);
  return {
    share: (value) => (value * times) / top,
    marks,
    words: (mark) => compact(Math.round(mark * times)),
    beyond: isCut && highest * times > top ? { value: highest, at: heights.indexOf(highest) } : null,
  };
}

export function logarithmic(samples, { lines }) {
  let [least, most] = [Infinity, 0];
  for (const sample of samples) {
    for (const { column } of lines) {
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

/** Whether somebody waited at all. */
export function isKnown(value) {
  return typeof value === "number" && value > 0;
}

/** 1, 2 or 5 times a power of ten: the least that is not below. */
function niceStep(least) {
  if (!(least > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= least) * power;
  return Math.max(1, step);
}
