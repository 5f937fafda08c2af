// What the page looks like on screens of all kinds, and that it stays where it is: on the fake.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startFake } from "./fake-server.mjs";
import { openPage, shoot, startBrowser } from "./program.mjs";

let browser;
let fake;
before(async () => {
  browser = await startBrowser();
  fake = await startFake({ movesPerSecond: 8, anchored: { supertanker: "unschedulable" } });
});
after(async () => {
  await browser?.close();
  await fake?.stop();
});

async function withPage(options, check) {
  const { page, problems, close } = await openPage(browser, fake.url, options);
  try {
    await check(page);
    assert.deepEqual(problems, []);
  } finally {
    await close();
  }
}

function until(page, check, argument) {
  return page.waitForFunction(check, argument, { timeout: 30000 });
}

for (const width of [1440, 900, 360]) {
  test(`what is below the log stays where it is at ${width} px`, async () => {
    await withPage({ viewport: { width, height: 900 } }, async (page) => {
      await until(page, () => document.querySelectorAll("#log li").length > 5);
      const tops = await page.evaluate(async () => {
        const found = new Set();
        for (let turn = 0; turn < 30; turn += 1) {
          const [log, plots] = ["log", "plots-title"].map((id) => document.getElementById(id));
          found.add(
            Math.round(plots.getBoundingClientRect().top - log.closest("section").getBoundingClientRect().top),
          );
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        return [...found];
      });
      assert.equal(tops.length, 1, `it was at ${tops}`);
    });
  });
}

test("the smallest phone shows every move with its rate and its cause, and cuts nothing off", async () => {
  const options = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
  await withPage(options, async (page) => {
    await until(page, () => document.querySelectorAll(".ways li").length >= 5);
    const ways = await page.$$eval(".ways li", (all) => all.map((way) => way.textContent));
    for (const way of ways) assert.match(way, /^<?[\d,.]+K?\/(min|s) (from [a-z ]+: )?[a-z]/);
    const cut = await page.$$eval("#mode, .state, .box, .box .name, .stacks, .stacks td, #log li", (all) =>
      all
        .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline")
        .map((one) => `${one.className} ${one.textContent}`),
    );
    assert.deepEqual(cut, []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    await shoot(page, "phone-360", { fullPage: true });
  });
});

test("the keyboard stays in a pane that covers the page", async () => {
  const options = { viewport: { width: 360, height: 740 }, hash: "#pod/default/supertanker" };
  await withPage(options, async (page) => {
    await until(page, () => document.querySelector("#pane .timeline"));
    for (let step = 0; step < 12; step += 1) {
      await page.keyboard.press("Tab");
      const isInside = await page.evaluate(
        () => document.activeElement === document.body || !!document.activeElement.closest("#pane"),
      );
      assert.ok(isInside, `after ${step + 1} times Tab`);
    }
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.getElementById("main").inert), false);
  });
});

for (const width of [1440, 1180]) {
  test(`a pane lies beside the chart, not on it, at ${width} px`, async () => {
    await withPage({ viewport: { width, height: 900 }, hash: "#pod/default/supertanker" }, async (page) => {
      await until(page, () => document.querySelector("#pane .timeline"));
      const [chart, pane] = await page.$$eval(".chart, #pane", (all) =>
        all.map((one) => one.getBoundingClientRect().toJSON()),
      );
      assert.ok(chart.right <= pane.left, `${chart.right} is right of ${pane.left}`);
      const over = await page.evaluate(() => {
        const shown = [...document.querySelectorAll("#harbour .course, #harbour .box")].filter(
          (one) => one.offsetParent && one.getClientRects().length,
        );
        const touch = (one, other) => {
          const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
          return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
        };
        const labels = shown.filter((one) => one.matches(".course"));
        const boxes = shown.filter((one) => one.matches(".box"));
        return labels
          .filter((label) => boxes.some((box) => touch(label, box)))
          .map((label) => label.textContent);
      });
      assert.deepEqual(over, []);
      assert.match(await page.title(), /^default\/supertanker · [\d,]+ waiting · Roadstead$/);
    });
  });
}

for (const width of [1440, 1280, 1000]) {
  test(`no words of the chart run into others at ${width} px`, async () => {
    await withPage({ viewport: { width, height: 900 } }, async (page) => {
      const over = await page.evaluate(() => {
        const labels = [...document.querySelectorAll("#harbour .course")];
        for (const label of labels) {
          label.hidden = false;
          label.firstElementChild.textContent = "999/min";
        }
        // The words of the longest usual causes, where there are words at all.
        for (const [at, why] of Object.entries({
          "gated active": "its evictions are answered",
          "active inFlight": "tried",
          "inFlight active": "no node fits",
          "inFlight unschedulable": "no node fits",
          "inFlight backoff": "no node fits",
          "backoff inFlight": "tried early",
          "backoff active": "backoff ended",
          "unschedulable backoff": "a pod left its node +1",
          "unschedulable active": "labels of a node changed +2",
        })) {
          const label = labels.find((one) => one.dataset.course === at);
          label.lastElementChild.textContent = why;
        }
        const parts = [...labels, ...document.querySelectorAll("#harbour .box")];
        const touch = (one, other) => {
          const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
          const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
          const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          return across > 1 && down > 1;
        };
        return labels.flatMap((label, index) =>
          parts
            .slice(index + 1)
            .filter((part) => touch(label, part))
            .map((part) => `${label.dataset.course}: ${part.dataset.course ?? part.className}`),
        );
      });
      assert.deepEqual(over, []);
    });
  });
}

test("where the system chooses the colours nothing is told by colours that are gone", async () => {
  await withPage({ forcedColors: "active" }, async (page) => {
    await page.evaluate(() => document.getElementById("nodes").scrollIntoView());
    await until(page, () => document.getElementById("node-note").textContent.includes("in all"));
    await page.waitForTimeout(500);
    const paints = await page.evaluate(() => {
      const paint = (selector) => getComputedStyle(document.querySelector(selector)).backgroundColor;
      const canvas = document.querySelector("#node-map canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, 60);
      const colours = new Set();
      for (let at = 0; at < data.length; at += 4)
        if (data[at + 3] === 255) colours.add(`${data[at]} ${data[at + 1]} ${data[at + 2]}`);
      return {
        column: paint(".column"),
        bar: paint("#node-summary .bar i"),
        swatch: paint(".swatch-unschedulable.area"),
        card: paint(".card"),
        colours: colours.size,
      };
    });
    for (const part of ["column", "bar", "swatch"]) assert.notEqual(paints[part], paints.card, part);
    assert.ok(paints.colours >= 3, `the nodes have ${paints.colours} colours`);
    await page.evaluate(() => window.scrollTo(0, 0));
    await shoot(page, "forced-colours", { fullPage: true });
  });
});

test("a page on which nothing moves draws nothing", async () => {
  const quiet = await startFake({ movesPerSecond: 0 });
  const { page, close } = await openPage(browser, quiet.url);
  const frames = await page.evaluate(async () => {
    let asked = 0;
    const real = window.requestAnimationFrame;
    window.requestAnimationFrame = (callback) => {
      asked += 1;
      return real(callback);
    };
    await new Promise((resolve) => setTimeout(resolve, 1500));
    return asked;
  });
  await close();
  await quiet.stop();
  assert.equal(frames, 0);
});
