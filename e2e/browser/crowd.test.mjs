// The page stays smooth while a hundred thousand pods wait and thousands move each second.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startFake } from "./fake-server.mjs";
import { isFake, manifest, numberIn, openPage, shoot, startBrowser, startProgram } from "./program.mjs";
import { measure } from "./responsiveness.mjs";

const FOR_MS = 10000;
const USUALLY_MS = 50;
const AT_MOST_MS = 200;
const MOST_ELEMENTS = 3000;

let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser?.close());

async function check(url, shot) {
  const { page, problems, close } = await openPage(browser, url, { hash: "#place/unschedulable" });
  await page.waitForFunction(() => document.querySelectorAll("#pane tbody tr").length >= 50, null, {
    timeout: 60000,
  });
  const total = numberIn((await page.textContent("#pane .tools .note")).split(" of ")[1]);
  const measured = await measure(page, FOR_MS);
  const moves = await page.$$eval(".course:not([hidden]) b", (all) =>
    all.map((label) => label.textContent).join(" "),
  );
  console.log(`${shot}: ${total} unschedulable, courses ${moves}`);
  console.log(`${shot}: a timer is late by ${JSON.stringify(measured.delays)} ms`);
  console.log(
    `${shot}: frames are apart by ${JSON.stringify(measured.frames)} ms; ${measured.elements} elements`,
  );
  await shoot(page, shot);
  assert.ok(measured.delays.p95 < USUALLY_MS, `p95 of delays is ${measured.delays.p95} ms`);
  assert.ok(measured.delays.longest < AT_MOST_MS, `the longest delay is ${measured.delays.longest} ms`);
  assert.ok(measured.elements < MOST_ELEMENTS, `${measured.elements} elements`);
  assert.deepEqual(problems, []);
  await close();
  return total;
}

test("with 100,000 waiting pods and 5,000 moves a second", async () => {
  const fake = await startFake({ waiting: 100000, movesPerSecond: 5000 });
  try {
    assert.ok((await check(fake.url, "crowd-fake")) > 50000);
  } finally {
    await fake.stop();
  }
});

test(
  "with 100,000 waiting pods in the program itself",
  { skip: isFake && "there is only the fake" },
  async () => {
    const program = await startProgram([manifest("crowd.yaml")]);
    try {
      assert.ok((await waitFor100000(program.url)) >= 90000);
      await check(program.url, "crowd");
    } finally {
      await program.stop();
    }
  },
);

/** How many wait in all, once as many as are to come have come. */
async function waitFor100000(url) {
  let waiting = 0;
  for (let turn = 0; turn < 120 && waiting < 99000; turn += 1) {
    const answer = await fetch(`${url}api/v1/queue?limit=1`);
    waiting = (await answer.json()).total;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return waiting;
}
