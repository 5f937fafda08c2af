// The last moves of a few pods, slowly enough to be read.

import { fillRows, h, setAttribute, setHidden, setText } from "./dom.js";
import { causeWords, moment, placeWords } from "./words.js";

const SHOWN = 9;
const EVERY_MS = 1000;

export function startLog(list, none, live) {
  let updated = 0;
  const isRead = () => list.matches(":hover") || list.contains(document.activeElement);
  live.addEventListener("activity", () => {
    const isDue = performance.now() - updated >= EVERY_MS;
    // Nothing slips away from under a pointer or the focus.
    if (isDue && !isRead()) update();
  });
  live.addEventListener("jump", () => update());
  const update = () => {
    updated = performance.now();
    const recent = (live.activity.recent ?? []).slice(-SHOWN).reverse();
    setHidden(none, recent.length > 0);
    const make = () => h("li", null, h("time"), h("a"), h("span"));
    fillRows(list, recent, make, (item, move) => {
      const [time, link, what] = item.children;
      setText(time, moment(move.at, live.epoch));
      setText(link, move.name);
      const href = podHref(move.namespace, move.name);
      if (link.getAttribute("href") !== href) link.setAttribute("href", href);
      link.title = `${move.namespace}/${move.name}`;
      const words = `${placeWords(move.from)} → ${placeWords(move.to)}, ${causeWords(move.cause, move.from)}`;
      setText(what, words);
      setAttribute(what, "title", words);
    });
  };
}

export function podHref(namespace, name) {
  return `#pod/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

export function nodeHref(name) {
  return `#node/${encodeURIComponent(name)}`;
}
