// Light, dark, or as the system has it; and the theme's colours for canvases.

const KEY = "roadstead-theme";
const CHOICES = ["auto", "light", "dark"];
const SYSTEM = window.matchMedia("(prefers-color-scheme: dark)");
const FORCED = window.matchMedia("(forced-colors: active)");

/** Where settings are kept; where the browser allows none, nothing is, and all else works. */
export const memory = {
  read(key) {
    try {
      return window.localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  write(key, value) {
    try {
      window.localStorage.setItem(key, value);
    } catch {
      // Forgotten with the page.
    }
  },
};

export const theme = new EventTarget();

/** Whether the system has a few colours for everything, so that nothing may be half transparent. */
export function isForced() {
  return FORCED.matches;
}

let choice = memory.read(KEY);
if (!CHOICES.includes(choice)) choice = "auto";

export function startTheme(button) {
  const show = () => {
    if (choice === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
    button.textContent = { auto: "◐", light: "○", dark: "●" }[choice];
    button.setAttribute("aria-label", `Theme: ${choice}. Change it.`);
    button.title = `Theme: ${choice}`;
    colours.clear();
    theme.dispatchEvent(new Event("change"));
  };
  button.addEventListener("click", nextTheme);
  theme.addEventListener("next", () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
    memory.write(KEY, choice);
    show();
  });
  SYSTEM.addEventListener("change", show);
  FORCED.addEventListener("change", show);
  show();
}

export function nextTheme() {
  theme.dispatchEvent(new Event("next"));
}

const colours = new Map();
let probe;

/** What a custom property of the theme comes to, as a canvas takes it. */
export function colour(name) {
  let value = colours.get(name);
  if (!value) {
    if (!probe) {
      probe = document.createElement("span");
      probe.hidden = true;
      // Where the system chooses colours, the theme has its names for them; this one is not to be
      // replaced by the colour of text.
      probe.style.forcedColorAdjust = "none";
      document.body.append(probe);
    }
    probe.style.color = `var(--${name})`;
    value = getComputedStyle(probe).color;
    colours.set(name, value);
  }
  return value;
}
