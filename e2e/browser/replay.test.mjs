// A recording, looked at in a browser at several of its moments.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { isFake, openPage, shoot, startBrowser, startCommand, theProgram } from "./program.mjs";

const SCENARIO = fileURLToPath(new URL("../../examples/scenarios/rush-hour.yaml", import.meta.url));

test("a recording is shown at any moment of it", { skip: isFake && "there is only the fake" }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "roadstead-browser-"));
  const recording = join(folder, "rush.rec");
  execFileSync(theProgram(), ["sim", "--exit-zero", "--record", recording, SCENARIO]);
  const program = await startCommand(["replay", recording, "--serve", "--at", "20m"]);
  const browser = await startBrowser();
  try {
    const { page, problems } = await openPage(browser, program.url);
    const shown = (time) =>
      page.waitForFunction(
        (time) => document.getElementById("replay-time").textContent === time,
        time,
        { timeout: 30000 },
      );
    // The slider is ahead of the scheduler that it moves.
    const bound = async (isSo) => {
      let total;
      for (let turn = 0; turn < 300; turn += 1) {
        total = (await (await fetch(`${program.url}api/v1/status`)).json()).boundTotal;
        if (isSo(total)) return total;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      throw new Error(`${total} pods are bound`);
    };
    await shown("+00:20:00");
    const atTwenty = await bound((total) => total > 0);
    const samples = () => page.getAttribute(".plot .stage", "aria-valuemax").then(Number);
    assert.equal(await samples(), 599);
    await shoot(page, "replay");
    await page.focus("#replay-at");
    await page.keyboard.press("Home");
    await shown("+00:00:00");
    await page.waitForFunction(() => document.querySelector(".place-active .depth")?.textContent === "0");
    await bound((total) => total === 0);
    // The stream of the time before may come late; then what it brought is gone again.
    await page.waitForFunction(
      () => document.querySelector(".plot .stage").getAttribute("aria-valuemax") === "0",
    );
    assert.equal(await page.isVisible("#log-none"), true, "nothing has moved yet");
    await shoot(page, "replay-start");
    // At a moment that was jumped to it is known how much moved before it.
    await page.fill("#replay-typed", "0:10:00");
    await page.keyboard.press("Enter");
    await shown("+00:10:00");
    await page.waitForFunction(() =>
      [...document.querySelectorAll(".course:not([hidden]) b")].some((label) => /\d/.test(label.textContent)),
    );
    await shoot(page, "replay-sought");
    await page.focus("#replay-at");
    await page.keyboard.press("End");
    await page.waitForFunction(() => document.getElementById("replay-time").textContent > "+00:40:00");
    await bound((total) => total > atTwenty);
    assert.equal(await page.isHidden("#add-open"), true, "the past is not changed");
    assert.deepEqual(problems, []);
  } finally {
    await browser.close();
    await program.stop();
    rmSync(folder, { recursive: true });
  }
});
