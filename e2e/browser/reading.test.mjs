// What a reader searches, opens and fills in: on the fake, with names as long as they may be.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startFake } from "./fake-server.mjs";
import { openPage, shoot, startBrowser } from "./program.mjs";

const NAMESPACE = "team-payments-production-europe-west";
const NAME = "ledger-reconciliation-worker-5f6c7d8b9-x2k4q";

let browser;
let fake;
before(async () => {
  browser = await startBrowser();
  fake = await startFake({ anchored: { [NAME]: "unschedulable" }, namespace: NAMESPACE });
});
after(async () => {
  await browser?.close();
  await fake?.stop();
});

async function withPage(options, check) {
  const { page, close } = await openPage(browser, fake.url, options);
  try {
    await check(page);
  } finally {
    await close();
  }
}

function until(page, check, argument) {
  return page.waitForFunction(check, argument, { timeout: 30000 });
}

const focused = (page) => page.evaluate(() => document.activeElement.id);

test("what a search finds is readable, however long the names are", async () => {
  await withPage({ viewport: { width: 1440, height: 900 } }, async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("ledger-recon");
    await until(page, () => document.querySelector("#search-list [role=option] b"));
    const { height, line } = await page.$eval("#search-list [role=option] b", (name) => ({
      height: name.getBoundingClientRect().height,
      line: Number.parseFloat(getComputedStyle(name).lineHeight),
    }));
    assert.ok(height <= 2.1 * line, `the name is ${height / line} lines high`);
    await shoot(page, "search-long");
  });
});

test("Esc takes away that nothing was found, and after a pod leads back to the search", async () => {
  await withPage({}, async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("kraken");
    await until(page, () => !document.getElementById("search-note").hidden);
    await page.keyboard.press("Escape");
    assert.ok(await page.isHidden("#search-note"));
    await page.fill("#search-input", "ledger");
    await page.keyboard.press("Enter");
    await until(page, () => document.activeElement.id === "pane-title");
    await page.keyboard.press("Escape");
    assert.equal(await focused(page), "search-input");
    assert.ok(await page.isHidden("#search-list"));
  });
});

test("the keys that go somewhere take the focus there", async () => {
  await withPage({}, async (page) => {
    for (const [key, title] of Object.entries({ n: "nodes", w: "wakeups", h: "harbour" })) {
      await page.keyboard.press(key);
      assert.equal(await focused(page), `${title}-title`);
    }
  });
});

test("a bound pod says how often it was tried", async () => {
  await withPage({}, async (page) => {
    await until(page, () => Number(document.querySelector(".port-bound .depth").textContent) > 0);
    const { namespace, name, attempts } = [...fake.scheduler.pods.values()].find(
      ({ place }) => place === "bound",
    );
    await page.goto(`${fake.url}#pod/${namespace}/${name}`);
    await until(page, () => document.querySelector("#pane .headline")?.textContent.includes("Bound to"));
    assert.ok(attempts > 0);
    assert.match(await page.textContent("#pane .facts"), new RegExp(`Tries${attempts}(?!\\d)`));
  });
});

test("attempts that all went the same way are folded", async () => {
  const pod = fake.scheduler.pods.get(`${NAMESPACE}/${NAME}`);
  pod.attempts = 38;
  await withPage({ hash: `#pod/${NAMESPACE}/${NAME}` }, async (page) => {
    await until(page, () => document.querySelector("#pane .timeline"));
    assert.match(await page.textContent("#pane .fold summary"), /attempts 33–37: the same as the next, 5 times/);
    await page.click("#pane .fold summary");
    assert.match(await page.textContent("#pane .fold"), /attempt 34/);
    await shoot(page, "folded");
  });
});

test("only what is there is offered to be deleted", async () => {
  await withPage({ hash: "#pod/default/flying-dutchman" }, async (page) => {
    await until(page, () => document.querySelector("#pane .refusal"));
    assert.ok(await page.isHidden("#pane .danger"));
    await page.goto(`${fake.url}#pod/${NAMESPACE}/${NAME}`);
    await until(page, () => document.querySelector("#pane .headline"));
    assert.ok(await page.isVisible("#pane .danger"));
    fake.moods.isDown = true;
    fake.dropStreams();
    await until(page, () => document.body.classList.contains("lost"));
    assert.ok(await page.isDisabled("#pane .danger"));
    fake.moods.isDown = false;
    await until(page, () => !document.body.classList.contains("lost"));
    assert.ok(await page.isEnabled("#pane .danger"));
  });
});

test("a toleration is taken with its effect, or refused", async () => {
  await withPage({}, async (page) => {
    await page.keyboard.press("a");
    await page.fill("#panel-pods [name=toleration]", "gpu=true:NoSchedule");
    await page.click("#as-yaml");
    const yaml = await page.inputValue("#yaml");
    assert.match(yaml, /- key: gpu\n +operator: Equal\n +value: "true"\n +effect: NoSchedule/);
    await page.click("#tab-pods");
    await page.fill("#panel-pods [name=toleration]", "gpu=true:Sometimes");
    await page.click("#as-yaml");
    assert.match(await page.textContent("#add-problem"), /key=value:NoSchedule/);
  });
});

test("a plot that has the focus says what is chosen, not that a second went by", async () => {
  await withPage({}, async (page) => {
    const said = () => page.getAttribute(".plot .stage", "aria-valuetext");
    await page.focus(".plot .stage");
    const first = await said();
    await page.waitForTimeout(2500);
    assert.equal(await said(), first);
    await page.keyboard.press("Home");
    assert.notEqual(await said(), first);
  });
});
