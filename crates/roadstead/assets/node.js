// One node: its use, its taints, and the pods on it.

import { ask, nodePath } from "./api.js";
import { bar, fillRows, h, setAttribute, setHidden, setText } from "./dom.js";
import { podHref } from "./log.js";
import { RESOURCES, share } from "./nodes.js";
import { refusalNote, repeat, waitingNote } from "./pane.js";
import { bytes, count, counted, cpu, percent } from "./words.js";

const EVERY_MS = 5000;
const MOST_ROWS = 100;

/** A view of the pane for `#node/…`. */
export function nodeView(tools) {
  return (pane, [name]) => {
    pane.title([h("small", null, "node "), name]);
    const content = h("div", null, waitingNote());
    const buttons = tools(name);
    pane.body.append(content, buttons.element);
    let shown;
    const turns = repeat(
      async (isClosed) => {
        try {
          const node = await ask(nodePath(name));
          const print = JSON.stringify({ ...node, now: 0 });
          if (isClosed()) return;
          buttons.offer(true);
          if (print === shown) return;
          shown = print;
          content.replaceChildren(...nodeDetails(node));
        } catch (error) {
          if (isClosed() || (error.isSilence && shown)) return;
          shown = undefined;
          buttons.offer(false);
          content.replaceChildren(refusalNote(error));
        }
      },
      () => EVERY_MS,
    );
    return {
      close() {
        turns.close();
        buttons.close();
      },
    };
  };
}

function nodeDetails(node) {
  const uses = h("dl", { class: "sums" });
  for (const { id, name, words } of RESOURCES) {
    const { allocatable, requested } = node[id];
    uses.append(
      h(
        "div",
        null,
        h("dt", null, name),
        h(
          "dd",
          null,
          h("b", null, percent(share(node, id))),
          ` ${words(requested)} of ${words(allocatable)} requested`,
          bar(share(node, id)),
        ),
      ),
    );
  }
  const notes = [];
  if (node.zone) notes.push(`zone ${node.zone}`);
  if (node.unschedulable) notes.push("cordoned: takes no new pods");
  if (node.nominated) notes.push(`kept for ${count(node.nominated)} waiting`);
  for (const taint of node.taints ?? []) notes.push(`taint ${taint}`);
  const pods = node.podsOnIt ?? [];
  const rows = h("tbody");
  const make = () =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, h("a"), h("small")),
      h("td", { class: "n" }),
      h("td", { class: "n" }),
      h("td", { class: "n" }),
    );
  fillRows(rows, pods.slice(0, MOST_ROWS), make, (row, pod) => {
    const [link, namespace] = row.children[0].children;
    setText(link, pod.name);
    setAttribute(link, "href", podHref(pod.namespace, pod.name));
    setText(namespace, pod.namespace);
    [count(pod.priority), cpu(pod.cpu), bytes(pod.memory)].forEach((text, index) =>
      setText(row.children[index + 1], text),
    );
  });
  const heads = ["Pod", "Priority", "CPU", "Memory"].map((head, index) =>
    h("th", { scope: "col", class: index ? "n" : undefined }, head),
  );
  const table = h(
    "table",
    null,
    h(
      "caption",
      null,
      `${counted(pods.length, "pod")} on it${pods.length > MOST_ROWS ? `, the first ${MOST_ROWS} here` : ""}`,
    ),
    h("thead", null, h("tr", null, heads)),
    rows,
  );
  setHidden(table, pods.length === 0);
  return [
    uses,
    h(
      "ul",
      { class: "chips" },
      notes.map((note) => h("li", null, note)),
    ),
    h(
      "div",
      { class: "wide", tabIndex: 0, role: "region", "aria-label": "Table of pods on this node" },
      table,
    ),
  ];
}
