// How long the page lets one wait.

/** For so long, how late a timer comes and how far frames are apart, in milliseconds. */
export function measure(page, forMs) {
  return page.evaluate(async (lasting) => {
    const frames = [];
    const delays = [];
    const end = performance.now() + lasting;
    let lastFrame = performance.now();
    const frame = (time) => {
      frames.push(time - lastFrame);
      lastFrame = time;
      if (time < end) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    while (performance.now() < end) {
      const asked = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 10));
      delays.push(performance.now() - asked - 10);
    }
    const sum = (values) => {
      const sorted = values.slice(2).sort((one, other) => one - other);
      const at = (share) =>
        Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] * 10) / 10;
      return { number: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), longest: at(1) };
    };
    return { delays: sum(delays), frames: sum(frames), elements: document.querySelectorAll("*").length };
  }, forMs);
}
