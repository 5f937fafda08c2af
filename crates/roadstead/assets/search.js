// The search for a pod or a node by part of its name.

import { ask } from "./api.js";
import { h, setAttribute, setHidden } from "./dom.js";
import { nodeHref, podHref } from "./log.js";
import { placeWords } from "./words.js";

const TYPING_MS = 150;
const PODS = 12;
const NODES = 4;

export class Search {
  #input;
  #list;
  #note;
  #options = [];
  #chosen = -1;
  #asked = 0;
  #isStale = false;

  constructor({ form, input, list, note }) {
    this.#input = input;
    this.#list = list;
    this.#note = note;
    let typing;
    input.addEventListener("input", () => {
      this.#isStale = true;
      clearTimeout(typing);
      typing = setTimeout(() => this.#find(), TYPING_MS);
    });
    input.addEventListener("keydown", (event) => this.#key(event));
    input.addEventListener("focus", () => this.#options.length && this.#show(true));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      clearTimeout(typing);
      if (this.#isStale) await this.#find();
      const option = this.#options[Math.max(0, this.#chosen)];
      if (option) this.#go(option);
    });
    document.addEventListener("pointerdown", (event) => form.contains(event.target) || this.#show(false));
    form.addEventListener("focusout", (event) => form.contains(event.relatedTarget) || this.#show(false));
  }

  focus() {
    this.#input.focus();
    this.#input.select();
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.#options.length) {
      event.preventDefault();
      this.#show(true);
      const number = this.#options.length;
      this.#choose(this.#chosen < 0 && step < 0 ? number - 1 : (this.#chosen + step + number) % number);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      if (!this.#list.hidden || !this.#note.hidden) this.#show(false);
      else if (this.#input.value) this.#input.value = "";
      else this.#input.blur();
    }
  }

  async #find() {
    const text = this.#input.value.trim();
    this.#isStale = false;
    this.#asked += 1;
    const turn = this.#asked;
    if (!text) {
      this.#options = [];
      this.#show(false);
      return;
    }
    const answers = await Promise.allSettled([
      ask("pods", { search: text, limit: PODS }),
      ask("nodes", { search: text, limit: NODES }),
    ]);
    if (turn !== this.#asked) return;
    const [pods, nodes] = answers.map(({ value }) => value?.items ?? []);
    this.#options = [
      ...pods.map((pod) => ({
        href: podHref(pod.namespace, pod.name),
        head: pod.name,
        tail: `${placeWords(pod.place)}, in ${pod.namespace}`,
      })),
      ...nodes.map((node) => ({ href: nodeHref(node.name), head: node.name, tail: "node" })),
    ];
    const refusal = answers.find(({ status }) => status === "rejected")?.reason;
    this.#fill(refusal ? refusal.message : "No pod and no node has that in its name.");
  }

  #fill(emptiness) {
    this.#chosen = -1;
    this.#list.replaceChildren(
      ...this.#options.map((option, index) =>
        h(
          "li",
          {
            role: "option",
            id: `found-${index}`,
            "aria-selected": "false",
            onpointerdown: (event) => event.preventDefault(),
            onclick: () => this.#go(option),
          },
          h("b", null, option.head),
          h("span", null, option.tail),
        ),
      ),
    );
    this.#note.textContent = this.#options.length ? "" : emptiness;
    this.#show(true);
    this.#choose(this.#options.length ? 0 : -1);
  }

  #choose(index) {
    this.#list.children[this.#chosen]?.setAttribute("aria-selected", "false");
    this.#chosen = index;
    const item = this.#list.children[index];
    item?.setAttribute("aria-selected", "true");
    item?.scrollIntoView({ block: "nearest" });
    if (item) this.#input.setAttribute("aria-activedescendant", item.id);
    else this.#input.removeAttribute("aria-activedescendant");
  }

  #show(isOpen) {
    setHidden(this.#list, !isOpen || this.#options.length === 0);
    setHidden(this.#note, !isOpen || this.#options.length > 0 || !this.#note.textContent);
    setAttribute(this.#input, "aria-expanded", String(isOpen && this.#options.length > 0));
  }

  /** The focus is left here, so that it comes back here when what is opened is shut. */
  #go({ href }) {
    this.#options = [];
    this.#note.textContent = "";
    this.#isStale = true;
    this.#show(false);
    if (location.hash === href) window.dispatchEvent(new HashChangeEvent("hashchange"));
    else location.hash = href;
  }
}
