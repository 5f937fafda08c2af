// Elements, made and changed in place: what does not change is not touched, so that focus,
// selection and scrolling survive a page that is always being updated.

const PROPERTIES = new Set(["hidden", "disabled", "value", "checked", "open", "tabIndex"]);

/** Makes an element: `h("a", {href: "#x", class: "link"}, "text", child)`. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (PROPERTIES.has(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return element;
}

/** The element with this id; the page is ours, so that it is missing is a bug. */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element with id ${id}`);
  return element;
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

export function setHidden(element, hidden) {
  if (element.hidden !== hidden) element.hidden = hidden;
}

/** Fills a container with one child an item: children are made once and filled again. */
export function fillRows(container, items, make, fill) {
  while (container.children.length > items.length) container.lastElementChild.remove();
  items.forEach((item, index) => {
    let row = container.children[index];
    if (!row) {
      row = make();
      container.append(row);
    }
    fill(row, item, index);
  });
}

/** A bar that says a share of one; the number stands beside it in words. */
export function bar(share, className = "") {
  const fill = h("i");
  const element = h("span", { class: `bar ${className}`, "aria-hidden": "true" }, fill);
  setBar(element, share);
  return element;
}

export function setBar(element, share) {
  const width = `${(Math.max(0, Math.min(1, share || 0)) * 100).toFixed(1)}%`;
  const fill = element.firstElementChild;
  if (fill.style.width !== width) fill.style.width = width;
}

/** Whether motion is unwanted. */
export const stillness = window.matchMedia("(prefers-reduced-motion: reduce)");

/** Calls `draw` when the element gets another size. */
export function onResize(element, draw) {
  new ResizeObserver(() => draw()).observe(element);
}

/** Makes a canvas as fine as the screen and gives its context, in units of the page. */
export function prepareCanvas(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) {
    [canvas.width, canvas.height] = pixels;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
