// The pane at the side: what the address after `#` names, one thing at a time.

import { h, setHidden } from "./dom.js";

export class Pane {
  #element;
  #title;
  #body;
  #views;
  #current = null;
  #opener = null;

  /** `views`: by first part of the address, `(pane, parts) => {close()}`. */
  constructor({ element, title, body, close }, views) {
    this.#element = element;
    this.#title = title;
    this.#body = body;
    this.#views = views;
    close.addEventListener("click", () => this.close());
    window.addEventListener("hashchange", () => this.#route());
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

  /** Shows the same again, after something was changed. */
  reload() {
    this.#route();
  }

  #route() {
    const [kind, ...parts] = location.hash.slice(1).split("/").map(decode);
    const view = Object.hasOwn(this.#views, kind) ? this.#views[kind] : undefined;
    if (!view || parts.some((part) => !part) || !parts.length) {
      if (!location.hash || location.hash === "#") this.#shut();
      return;
    }
    if (!this.isOpen) this.#opener = document.activeElement;
    this.#current?.close();
    this.#body.replaceChildren();
    setHidden(this.#element, false);
    document.body.classList.add("with-pane");
    this.#element.scrollTop = 0;
    this.#current = view(
      { title: (text) => this.#entitle(text), body: this.#body, close: () => this.close() },
      parts,
    );
    this.#title.focus({ preventScroll: true });
  }

  #entitle(text) {
    this.#title.replaceChildren(...[text].flat());
  }

  #shut() {
    this.#current?.close();
    this.#current = null;
    setHidden(this.#element, true);
    document.body.classList.remove("with-pane");
    this.#body.replaceChildren();
  }
}

/** What a pane shows while it is asked for, and when the answer is a refusal. */
export function waitingNote() {
  return h("p", { class: "note" }, "Asking the scheduler …");
}

export function refusalNote(error) {
  return h("p", { class: "refusal" }, error.message);
}

/** Calls `work` now and again after each pause (a function of ms), until closed; never twice at once. */
export function repeat(work, pause) {
  let timer;
  let isClosed = false;
  const turn = async () => {
    if (!document.hidden) await work(() => isClosed);
    if (!isClosed) timer = setTimeout(turn, pause());
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
