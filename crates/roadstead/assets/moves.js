// How pods move between places, in words and as a table.

import { fillRows, h, setText } from "./dom.js";
import { causeWords, count, placeWords, rate } from "./words.js";

/** The commonest cause, and how many others there are. */
export function why(causes) {
  causes.sort((one, other) => other.rate - one.rate);
  const [{ cause, from }] = causes;
  return causeWords(cause, from) + (causes.length > 1 ? ` +${causes.length - 1}` : "");
}

/** The same as a table, for who does not see the chart, and for what it leaves out. */
export function fillFlows(rows, live) {
  const flows = [...live.flows].sort(
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
      causeWords(flow.cause, flow.from),
      rate(flow.rate),
      count(flow.count),
    ];
    texts.forEach((text, index) => setText(row.children[index], text));
    row.children[2].title = flow.cause;
  });
}
