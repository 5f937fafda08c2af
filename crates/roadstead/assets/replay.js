// The time of a replay: a slider over the recording, a time to type, and playing it on.

import { post } from "./api.js";
import { setAttribute, setHidden, setText } from "./dom.js";
import { moment, secondsOf } from "./words.js";

const SETTLE_MS = 150;
const STEP_MS = 500;
/** Seconds that a key moves by. */
const KEYS = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -60, PageUp: 60 };

export function startReplay(live, { bar, slider, time, play, speed, problem, form, typed }) {
  let isSending = false;
  let wanted = null;
  let timer = null;
  let isHeld = false;

  const show = () => {
    const replay = live.status?.replay;
    setHidden(bar, live.status?.mode !== "replay" || !replay);
    document.body.classList.toggle("replays", !bar.hidden);
    if (!replay) return;
    slider.min = replay.from;
    slider.max = replay.to;
    if (!isHeld && wanted === null) slider.value = replay.at;
    tell(Number(slider.value));
  };
  const isAtEnd = () => Number(slider.value) >= Number(slider.max);
  const tell = (at) => {
    setText(time, moment(at, live.epoch));
    setAttribute(slider, "aria-valuetext", moment(at, live.epoch));
    setText(play, timer ? "Pause" : isAtEnd() ? "Play again" : "Play");
  };
  // One question at a time; of what was wanted meanwhile, the last.
  const seek = async (at) => {
    wanted = at;
    tell(at);
    if (isSending) return;
    isSending = true;
    while (wanted !== null) {
      const next = wanted;
      wanted = null;
      try {
        await live.jump(await post("replay", JSON.stringify({ at: next })));
        setText(problem, "");
      } catch (error) {
        setText(problem, error.message);
        stop();
      }
    }
    isSending = false;
    show();
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    tell(Number(slider.value));
  };

  let settling;
  const settle = () => {
    isHeld = true;
    tell(Number(slider.value));
    clearTimeout(settling);
    settling = setTimeout(() => {
      isHeld = false;
      seek(Number(slider.value));
    }, SETTLE_MS);
  };
  slider.addEventListener("input", settle);
  // A hundredth of a long recording is too far.
  slider.addEventListener("keydown", (event) => {
    const step = KEYS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    slider.value = Math.round(Number(slider.value)) + step * (event.shiftKey ? 10 : 1);
    settle();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { from, to } = live.status.replay;
    const at = secondsOf(typed.value, from, live.epoch);
    if (at === null || at < from || at > to) {
      const ends = [from, to].map((end) => moment(end, live.epoch).replace("+", ""));
      setText(problem, `Write a time from ${ends[0]} to ${ends[1]}, as h:mm:ss.`);
      return;
    }
    stop();
    slider.value = at;
    typed.value = "";
    seek(at);
  });
  play.addEventListener("click", () => {
    if (timer) {
      stop();
      return;
    }
    if (isAtEnd()) {
      slider.value = slider.min;
      seek(Number(slider.min));
    }
    timer = setInterval(() => {
      if (isSending || isHeld) return;
      const at = Math.min(Number(slider.max), Number(slider.value) + (STEP_MS / 1000) * Number(speed.value));
      slider.value = at;
      seek(at);
      if (isAtEnd()) stop();
    }, STEP_MS);
    tell(Number(slider.value));
  });
  live.addEventListener("status", show);
}
