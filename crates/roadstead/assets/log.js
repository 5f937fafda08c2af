// The latest moves, a few of them, slowly enough to be read.

import { fillRows, h, setHidden, setText } from "./dom.js";
import { causeWords, moment, placeWords } from "./words.js";

const SHOWN = 9;
const EVERY_MS = 1000;

export function startLog(list, none, live) {
  let updated = 0;
  const isRead = () => list.matches(":hover") || list.contains(document.activeElement);
  live.addEventListener("activity", () => {
    const isDue = performance.now() - updated >= EVERY_MS;
    // Nothing slips away from under a pointer or the focus.
    if (!isDue || isRead()) return;
    updated = performance.now();
    const recent = latest(live.activity.recent ?? []);
    setHidden(none, recent.length > 0);
    const make = () => h("li", null, h("time"), h("a"), h("span"));
    fillRows(list, recent, make, (item, move) => {
      const [time, link, what] = item.children;
      setText(time, moment(move.at, live.epoch));
      setText(link, move.name);
      const href = podHref(move.namespace, move.name);
      if (link.getAttribute("href") !== href) link.setAttribute("href", href);
      link.title = `${move.namespace}/${move.name}`;
      setText(what, `${placeWords(move.from)} → ${placeWords(move.to)}, ${causeWords(move.cause)}`);
    });
  });
}

/** The last move of each of the pods that moved last: one that is woken often is not all there is. */
function latest(moves) {
  const pods = new Map();
  for (const move of [...moves].reverse()) {
    const key = `${move.namespace}/${move.name}`;
    if (!pods.has(key)) pods.set(key, move);
    if (pods.size === SHOWN) break;
  }
  return [...pods.values()];
}

export function podHref(namespace, name) {
  return `#pod/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

export function nodeHref(name) {
  return `#node/${encodeURIComponent(name)}`;
}
