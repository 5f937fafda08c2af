// The pane at the side: what the address after `#` names, one thing at a time.

import { h, setHidden } from "./dom.js";

const PAUSE_FOR_WORK = 15;
/** Where the pane covers all that is behind it. */
const COVERS = window.matchMedia("(max-width: 62rem)");

/** Tells `change` when it shows something else. */
export class Pane extends EventTarget {
  /** What is shown, in words; empty while it is shut. */
  name = "";

  #element;
  #title;
  #body;
  #views;
  #behind;
  #above;
  #current = null;
  #opener = null;

  /**
   * `views`: by first part of the address, of how many `parts` the rest is and what opens it:
   * `open(pane, parts)` gives something to close.
   */
  constructor({ element, title, body, close, behind, above }, views) {
    super();
    this.#behind = behind;
    this.#above = above;
    this.#element = element;
    this.#title = title;
    this.#body = body;
    this.#views = views;
    close.addEventListener("click", () => this.close());
    window.addEventListener("hashchange", () => this.#route());
    COVERS.addEventListener("change", () => this.cover());
  }

  start() {
    this.#route();
  }

  get isOpen() {
    return !this.#element.hidden;
  }

  close() {
    if (!this.isOpen) return;
    // Not by an empty `#`, which would scroll to the top.
    history.pushState(null, "", location.pathname + location.search);
    this.#shut();
    if (this.#opener?.isConnected) this.#opener.focus();
    this.#opener = null;
  }

  #route() {
    const [kind, ...parts] = location.hash.slice(1).split("/").map(decode);
    const view = Object.hasOwn(this.#views, kind) ? this.#views[kind] : undefined;
    if (!view || parts.length !== view.parts || parts.includes("")) {
      if (!location.hash || location.hash === "#") this.#shut();
      return;
    }
    if (!this.isOpen) this.#opener = document.activeElement;
    this.#current?.close();
    this.#body.replaceChildren();
    setHidden(this.#element, false);
    document.body.classList.add("with-pane");
    this.cover();
    this.#element.scrollTop = 0;
    this.#current = view.open({ title: (text) => this.#entitle(text), body: this.#body }, parts);
    this.#title.focus({ preventScroll: true });
  }

  #entitle(text) {
    this.#title.replaceChildren(...[text].flat());
    this.name = this.#title.textContent.trim();
    this.dispatchEvent(new Event("change"));
  }

  /** What is covered cannot be reached by the keyboard either; a replay's time stays in reach. */
  cover() {
    const isCovering = this.isOpen && COVERS.matches;
    for (const element of this.#behind) element.inert = isCovering;
    this.#above.inert = isCovering && !document.body.classList.contains("replays");
  }

  #shut() {
    this.#current?.close();
    this.#current = null;
    setHidden(this.#element, true);
    document.body.classList.remove("with-pane");
    this.cover();
    this.#body.replaceChildren();
    this.name = "";
    this.dispatchEvent(new Event("change"));
  }
}

/** What a pane shows while it is asked for, and when the answer is a refusal. */
export function waitingNote() {
  return h("p", { class: "note" }, "Asking the scheduler …");
}

export function refusalNote(error) {
  return h("p", { class: "refusal" }, error.message);
}

/**
 * Calls `work` now and again after each pause, until closed; never twice at once.
 *
 * What takes long is asked less often, so that looking costs the scheduler little.
 */
export function repeat(work, pauseMs) {
  let timer;
  let isClosed = false;
  const turn = async () => {
    const began = performance.now();
    try {
      if (!document.hidden) await work(() => isClosed);
    } finally {
      const took = performance.now() - began;
      if (!isClosed) timer = setTimeout(turn, Math.max(pauseMs(), PAUSE_FOR_WORK * took));
    }
  };
  turn();
  return {
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
