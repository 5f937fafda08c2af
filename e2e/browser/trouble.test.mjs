// What the page does when the server is slow, silent, or a replay: on the fake, which can be told to.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startFake } from "./fake-server.mjs";
import { openPage, shoot, startBrowser } from "./program.mjs";

let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser?.close());

async function withFake(options, check) {
  const fake = await startFake(options);
  try {
    await check(fake);
  } finally {
    await fake.stop();
  }
}

function until(page, check, argument) {
  return page.waitForFunction(check, argument, { timeout: 30000 });
}

test("a lost connection is told, and found again by itself", async () => {
  await withFake({}, async (fake) => {
    const { page, close } = await openPage(browser, fake.url);
    fake.moods.isDown = true;
    fake.dropStreams();
    await until(page, () => document.getElementById("connection").textContent.startsWith("No connection"));
    await shoot(page, "lost");
    const depth = await page.textContent(".place-unschedulable .depth");
    assert.match(depth, /\d/, "the last that is known stays");
    fake.moods.isDown = false;
    await until(page, () => document.getElementById("connection").textContent === "");
    const before = await page.textContent("#clock");
    await until(page, (clock) => document.getElementById("clock").textContent !== clock, before);
    await close();
  });
});

test("a scheduler that says nothing is not taken for one that lives", async () => {
  await withFake({}, async (fake) => {
    const { page, close } = await openPage(browser, fake.url);
    fake.moods.isFrozen = true;
    const since = Date.now();
    await until(page, () =>
      document.getElementById("connection").textContent.startsWith("Nothing was heard"),
    );
    const took = Date.now() - since;
    assert.ok(took < 6000, `it took ${took} ms`);
    assert.ok(await page.evaluate(() => document.body.classList.contains("lost")));
    fake.moods.isFrozen = false;
    await until(page, () => document.getElementById("connection").textContent === "");
    await close();
  });
});

test("the plots have no gap after a connection was lost", async () => {
  await withFake({}, async (fake) => {
    const { page, close } = await openPage(browser, fake.url);
    await until(
      page,
      () => Number(document.querySelector(".plot .stage").getAttribute("aria-valuemax")) === 599,
    );
    fake.moods.isDown = true;
    fake.dropStreams();
    await page.waitForTimeout(3500);
    fake.moods.isDown = false;
    await until(page, () => document.getElementById("connection").textContent === "");
    const newest = await page.getAttribute(".plot .stage", "aria-valuetext");
    await until(
      page,
      (text) => document.querySelector(".plot .stage").getAttribute("aria-valuetext") !== text,
      newest,
    );
    assert.equal(await page.getAttribute(".plot .stage", "aria-valuemax"), "599");
    await close();
  });
});

test("without a stream the page looks now and then", async () => {
  await withFake({}, async (fake) => {
    fake.moods.isCrowded = true;
    const { page, close } = await openPage(browser, fake.url);
    const before = await page.textContent("#clock");
    await until(page, (clock) => document.getElementById("clock").textContent !== clock, before);
    assert.equal(await page.textContent("#connection"), "");
    await close();
  });
});

test("who may not look is told so", async () => {
  await withFake({}, async (fake) => {
    fake.moods.isForbidden = true;
    const { page, close } = await openPage(browser, fake.url, { isReady: false });
    await until(page, () =>
      document.getElementById("connection").textContent.includes("user ana may not get /api/v1"),
    );
    await close();
  });
});

test("slow answers leave the page usable", async () => {
  await withFake({}, async (fake) => {
    fake.moods.delayMs = 2500;
    const { page, problems, close } = await openPage(browser, fake.url);
    await page.keyboard.press("4");
    assert.ok(await page.isVisible("#pane"), "the pane is open before the answer");
    await page.keyboard.press("5");
    await until(page, () => document.querySelector("#pane tbody tr"));
    assert.match(await page.textContent("#pane-title"), /Gated/);
    assert.match(
      await page.textContent("#pane tbody"),
      /held by SchedulingGates/,
      "the late answer of the other place is not shown",
    );
    assert.deepEqual(problems, []);
    await close();
  });
});

test("where nothing may be changed nothing offers to", async () => {
  await withFake({ mode: "run" }, async (fake) => {
    const { page, close } = await openPage(browser, fake.url, { hash: "#pod/default/boat-2" });
    await until(page, () => document.querySelector("#pane .headline"));
    assert.equal(await page.textContent("#mode"), "live cluster");
    assert.ok(await page.isHidden("#add-open"));
    assert.ok(await page.isHidden("#pane .danger"));
    await page.keyboard.press("a");
    assert.ok(await page.isHidden("#add"));
    await close();
  });
});

test("a replay has a slider that goes to another time", async () => {
  await withFake({ mode: "replay" }, async (fake) => {
    const { page, problems, close } = await openPage(browser, fake.url);
    await until(page, () => !document.getElementById("replay").hidden);
    await page.focus("#replay-at");
    await page.keyboard.press("Home");
    await page.waitForTimeout(600);
    assert.equal(fake.replay.at, 0);
    await page.keyboard.press("End");
    await page.waitForTimeout(600);
    assert.equal(fake.replay.at, 3600);
    assert.equal(await page.textContent("#replay-time"), "+01:00:00");
    await page.keyboard.press("Home");
    await page.waitForTimeout(600);
    await page.click("#replay-play");
    await page.waitForTimeout(2500);
    await page.click("#replay-play");
    assert.ok(fake.replay.at > 5, `it plays on: ${fake.replay.at}`);
    assert.deepEqual(problems, []);
    await close();
  });
});

test("a replay is stepped by seconds, goes to a time that is typed, and plays again from its end", async () => {
  await withFake({ mode: "replay" }, async (fake) => {
    const { page, problems, close } = await openPage(browser, fake.url);
    const at = async (seconds) => {
      for (let turn = 0; turn < 50 && fake.replay.at !== seconds; turn += 1) await page.waitForTimeout(100);
      assert.equal(fake.replay.at, seconds);
    };
    await until(page, () => !document.getElementById("replay").hidden);
    await page.focus("#replay-at");
    await page.keyboard.press("ArrowRight");
    await at(601);
    await page.keyboard.press("Shift+ArrowLeft");
    await at(591);
    await page.fill("#replay-typed", "0:30:05");
    await page.keyboard.press("Enter");
    await at(1805);
    await page.fill("#replay-typed", "9:00:00");
    await page.keyboard.press("Enter");
    assert.match(await page.textContent("#replay-problem"), /from 00:00:00 to 01:00:00/);
    await page.fill("#replay-typed", "1:00:00");
    await page.keyboard.press("Enter");
    await at(3600);
    await until(page, () => document.getElementById("replay-play").textContent === "Play again");
    await page.click("#replay-play");
    await page.waitForTimeout(1500);
    assert.ok(fake.replay.at < 600, `it plays from its beginning: ${fake.replay.at}`);
    assert.deepEqual(problems, []);
    await close();
  });
});

test("the time of a replay is in sight, wherever one reads", async () => {
  await withFake({ mode: "replay" }, async (fake) => {
    for (const width of [1440, 1180, 390]) {
      const options = { viewport: { width, height: 800 }, hash: "#place/unschedulable" };
      const { page, close } = await openPage(browser, fake.url, options);
      await until(page, () => document.querySelector("#pane tbody tr"));
      await page.evaluate(() => window.scrollTo(0, 2000));
      const hidden = await page.evaluate(() =>
        ["replay-play", "replay-at", "replay-time"].filter((id) => {
          const element = document.getElementById(id);
          const { left, right, top, bottom } = element.getBoundingClientRect();
          const seen = (x) => element.contains(document.elementFromPoint(x, (top + bottom) / 2));
          return !seen(left + 2) || !seen(right - 2);
        }),
      );
      assert.deepEqual(hidden, [], `at ${width} px`);
      if (width === 1440) await shoot(page, "replay-pane");
      await close();
    }
  });
});

test("names are shown as they are, never as markup", async () => {
  await withFake({ anchored: { "<img src=x onerror=alert(1)>": "unschedulable" } }, async (fake) => {
    const { page, problems, close } = await openPage(browser, fake.url);
    await page.keyboard.press("/");
    await page.keyboard.type("<img");
    await page.keyboard.press("Enter");
    await until(page, () => document.querySelector("#pane .headline"));
    assert.equal(await page.textContent("#pane-title"), "default/<img src=x onerror=alert(1)>");
    assert.equal(await page.$("#pane img"), null);
    assert.deepEqual(problems, []);
    await close();
  });
});

test("five thousand nodes are drawn on one canvas", async () => {
  await withFake({ nodes: 5000 }, async (fake) => {
    const { page, problems, close } = await openPage(browser, fake.url);
    await page.evaluate(() => document.getElementById("nodes").scrollIntoView());
    await until(page, () => document.getElementById("node-note").textContent.startsWith("5,000"));
    await page.focus("#node-map");
    await page.keyboard.press("End");
    assert.match(await page.textContent("#node-readout"), /^berth-4999: CPU/);
    const first = () => page.textContent("#node-rows tr:first-child td:nth-child(4)");
    await page.check("#node-measures [value=pods]");
    assert.match(await page.textContent("#node-order"), /by pods requested$/);
    const byPods = await first();
    await page.check("#node-measures [value=memory]");
    assert.match(await page.textContent("#node-order"), /by memory requested$/);
    assert.match(byPods, /^3\d %$/);
    await page.focus("#node-map");
    await page.keyboard.press("Enter");
    await until(page, () => document.getElementById("pane-title").textContent.includes("berth-4999"));
    await shoot(page, "nodes");
    assert.deepEqual(problems, []);
    await close();
  });
});
