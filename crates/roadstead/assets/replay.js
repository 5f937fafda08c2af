// The time of a replay: a slider over the recording, and playing it on.

import { post } from "./api.js";
import { setAttribute, setHidden, setText } from "./dom.js";
import { moment } from "./words.js";

const SETTLE_MS = 150;
const STEP_MS = 500;

export function startReplay(live, { bar, slider, time, play, speed, problem }) {
  let isSending = false;
  let wanted = null;
  let timer = null;
  let isHeld = false;

  const show = () => {
    const replay = live.status?.replay;
    setHidden(bar, live.status?.mode !== "replay" || !replay);
    if (!replay) return;
    slider.min = replay.from;
    slider.max = replay.to;
    if (!isHeld && wanted === null) slider.value = replay.at;
    tell(Number(slider.value));
  };
  const tell = (at) => {
    setText(time, moment(at, live.epoch));
    setAttribute(slider, "aria-valuetext", moment(at, live.epoch));
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
    setText(play, "Play");
  };

  let settling;
  slider.addEventListener("input", () => {
    isHeld = true;
    tell(Number(slider.value));
    clearTimeout(settling);
    settling = setTimeout(() => {
      isHeld = false;
      seek(Number(slider.value));
    }, SETTLE_MS);
  });
  play.addEventListener("click", () => {
    if (timer) {
      stop();
      return;
    }
    setText(play, "Pause");
    timer = setInterval(() => {
      if (isSending || isHeld) return;
      const at = Math.min(Number(slider.max), Number(slider.value) + (STEP_MS / 1000) * Number(speed.value));
      slider.value = at;
      seek(at);
      if (at >= Number(slider.max)) stop();
    }, STEP_MS);
  });
  live.addEventListener("status", show);
}
