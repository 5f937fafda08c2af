// Pods and nodes that are added and removed from the page, where the scheduler allows it.

import { nodePath, podPath, post, remove } from "./api.js";
import { byId, h, setHidden, setText } from "./dom.js";
import { nodeManifests, podManifests, toYaml } from "./manifests.js";
import { count } from "./words.js";

const TABS = ["pods", "nodes", "yaml"];
const LARGEST_BODY = 1024 * 1024;
/** As many as fit in it. */
const MOST_SINGLE_PODS = 2000;
const MOST_REPLICAS = 100000;

export class Changes {
  #live;
  #changed;
  #dialog = byId("add");
  #problem = byId("add-problem");
  #done = byId("add-done");
  #tab = "pods";

  /** `changed` is called after each change. */
  constructor(live, changed) {
    this.#live = live;
    this.#changed = changed;
    for (const tab of TABS) {
      const button = byId(`tab-${tab}`);
      button.addEventListener("click", () => this.#choose(tab));
      button.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length];
        this.#choose(next);
        byId(`tab-${next}`).focus();
      });
    }
    byId("add-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    byId("add-close").addEventListener("click", () => this.#dialog.close());
    byId("as-yaml").addEventListener("click", () => this.#edit());
    const panel = byId("panel-pods");
    const [number, kind] = ["count", "kind"].map((name) => panel.querySelector(`[name=${name}]`));
    kind.addEventListener("change", () => {
      number.max = kind.value === "Pod" ? MOST_SINGLE_PODS : MOST_REPLICAS;
    });
    this.#choose("pods");
  }

  get isAllowed() {
    return this.#live.status?.canChange === true;
  }

  open() {
    if (!this.isAllowed || this.#dialog.open) return;
    this.#say("", "");
    this.#dialog.showModal();
  }

  /** The buttons of a pod's pane: an element, and `offer` to say whether there is such a pod. */
  podTools(namespace, name) {
    return this.#tools("Delete this pod", `Delete pod ${namespace}/${name}?`, podPath(namespace, name));
  }

  /** The same of a node's pane. */
  nodeTools(name) {
    return this.#tools("Delete this node", `Delete node ${name}? Its pods go with it.`, nodePath(name));
  }

  #tools(label, question, path) {
    const note = h("p", { class: "note", role: "status" });
    const button = h("button", { type: "button", class: "danger" }, label);
    button.addEventListener("click", async () => {
      if (!(await confirm(question))) return;
      button.disabled = true;
      try {
        const { deleted } = await remove(path);
        note.className = "note";
        setText(note, `${deleted} is deleted.`);
        isThere = false;
        show();
        this.#changed();
      } catch (error) {
        button.disabled = false;
        note.className = "refusal";
        setText(note, error.message);
      }
    });
    const element = h("div", { class: "pane-tools" }, button, note);
    let isThere = false;
    // What is not there, or cannot be reached, is not offered to be deleted.
    const show = () => {
      setHidden(button, !isThere);
      button.disabled = this.#live.trouble !== null;
      setHidden(element, !this.isAllowed || (!isThere && !note.textContent));
    };
    for (const news of ["status", "connection"]) this.#live.addEventListener(news, show);
    show();
    return {
      element,
      offer: (is) => {
        isThere = is;
        show();
      },
      close: () => {
        for (const news of ["status", "connection"]) this.#live.removeEventListener(news, show);
      },
    };
  }

  #choose(tab) {
    this.#tab = tab;
    for (const name of TABS) {
      const button = byId(`tab-${name}`);
      button.setAttribute("aria-selected", String(name === tab));
      button.tabIndex = name === tab ? 0 : -1;
      setHidden(byId(`panel-${name}`), name !== tab);
      // A field that cannot be seen must not keep the form from being sent.
      for (const field of byId(`panel-${name}`).querySelectorAll("input, select, textarea"))
        field.disabled = name !== tab;
    }
    setHidden(byId("as-yaml"), tab === "yaml");
    this.#say("", "");
  }

  #manifests() {
    const panel = byId(`panel-${this.#tab}`);
    if (this.#tab === "yaml") return panel.querySelector("textarea").value;
    const filled = {};
    for (const field of panel.querySelectorAll("input, select")) filled[field.name] = field.value.trim();
    filled.count = Number(filled.count) || 1;
    return toYaml(this.#tab === "pods" ? podManifests(filled) : nodeManifests(filled));
  }

  #edit() {
    let text;
    try {
      text = this.#manifests();
    } catch (error) {
      this.#say("", error.message);
      return;
    }
    this.#choose("yaml");
    byId("yaml").value = text;
    byId("yaml").focus();
  }

  async #send() {
    const button = byId("add-send");
    button.disabled = true;
    this.#say("", "");
    try {
      const text = this.#manifests();
      if (new Blob([text]).size > LARGEST_BODY) {
        throw new Error("That is more than 1 MiB of manifests. Add many pods as a Deployment or a Job.");
      }
      const { created = [], updated = [], unchanged = 0 } = await post("manifests", text, "application/yaml");
      this.#say(summary(created, updated, unchanged), "");
      this.#changed();
    } catch (error) {
      this.#say("", error.message);
    } finally {
      button.disabled = false;
    }
  }

  #say(done, problem) {
    setText(this.#done, done);
    setText(this.#problem, problem);
    setHidden(this.#problem, !problem);
  }
}

function summary(created, updated, unchanged) {
  const parts = [];
  const some = (names) =>
    names.length > 3
      ? `${names.slice(0, 3).join(", ")} and ${count(names.length - 3)} more`
      : names.join(", ");
  if (created.length) parts.push(`Created ${some(created)}.`);
  if (updated.length) parts.push(`Updated ${some(updated)}.`);
  if (unchanged) parts.push(`${count(unchanged)} unchanged.`);
  return parts.join(" ") || "Nothing was in it.";
}

/** Asks once more; resolves to whether the answer was yes. */
function confirm(question) {
  const dialog = byId("confirm");
  setText(byId("confirm-question"), question);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
