// Shows what each chart says at the pointer, or at the arrow keys.
for (const plot of document.querySelectorAll(".plot")) {
  const canvas = plot.querySelector(".canvas");
  const data = JSON.parse(canvas.querySelector("script").textContent);
  const rule = canvas.appendChild(document.createElement("div"));
  const tip = canvas.appendChild(document.createElement("div"));
  rule.className = "rule";
  tip.className = "tip";
  tip.setAttribute("role", "status");
  rule.hidden = tip.hidden = true;
  let at = -1;

  const row = (i) => {
    const line = document.createElement("div");
    const mark = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    mark.setAttribute("class", "s" + data.styles[i]);
    mark.setAttribute("viewBox", "0 0 18 8");
    mark.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "path")).setAttribute("d", "M0 4H18");
    line.append(mark, data.names[i] + ": " + data.values[i][at]);
    return line;
  };
  const show = (index) => {
    at = Math.max(0, Math.min(data.times.length - 1, index));
    const time = document.createElement("b");
    time.textContent = data.times[at];
    tip.replaceChildren(time, ...data.names.map((_, i) => row(i)));
    rule.hidden = tip.hidden = false;
    const x = (at + 0.5) * data.share * canvas.clientWidth;
    rule.style.left = x + "px";
    const room = canvas.clientWidth - tip.offsetWidth;
    tip.style.left = Math.max(0, Math.min(room, x > canvas.clientWidth / 2 ? x - tip.offsetWidth - 10 : x + 10)) + "px";
  };
  const hide = () => {
    rule.hidden = tip.hidden = true;
  };
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    show(Math.floor((event.clientX - box.left) / box.width / data.share));
  });
  canvas.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      event.preventDefault();
      show(at + step);
    } else if (event.key === "Escape") {
      hide();
    }
  });
}
