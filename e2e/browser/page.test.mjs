// What the page shows and does, on the program itself.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer, request as ask } from "node:http";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { contrasts } from "./contrast.mjs";
import { manifest, numberIn, openPage, shoot, startBrowser, startProgram } from "./program.mjs";

let program;
let browser;

before(async () => {
  program = await startProgram([manifest("harbour.yaml")], {
    anchored: { supertanker: "unschedulable", quarantined: "gated" },
  });
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await program?.stop();
});

/** Opens a page for one test; whatever the browser complained about fails it. */
async function withPage(options, check) {
  const opened = await openPage(browser, program.url, options);
  try {
    await check(opened.page, opened);
    assert.deepEqual(opened.problems, []);
  } finally {
    await opened.close();
  }
}

function until(page, check, argument) {
  return page.waitForFunction(check, argument, { timeout: 30000 });
}

test("the page loads without a complaint and asks nobody but its own server", async () => {
  await withPage({}, async (page, { requests }) => {
    await page.waitForTimeout(2000);
    await page.evaluate(() => document.getElementById("nodes").scrollIntoView());
    await until(page, () => document.querySelectorAll("#node-summary b")[0].textContent.includes("%"));
    const elsewhere = requests.filter((request) => !request.startsWith(program.url));
    assert.deepEqual(elsewhere, []);
    assert.ok(
      requests.some((request) => request.endsWith("/api/v1/stream")),
      "it listens to the stream",
    );
  });
});

test("pods are seen to move: counts, courses and the log change", async () => {
  await withPage({}, async (page) => {
    const bound = async () => numberIn(await page.textContent(".port-bound .depth"));
    const first = await bound();
    await until(
      page,
      (before) =>
        Number(document.querySelector(".port-bound .depth").textContent.replaceAll(",", "")) > before,
      first,
    );
    await until(page, () =>
      [...document.querySelectorAll(".course:not([hidden]) b")].some((label) => /\d/.test(label.textContent)),
    );
    await until(page, () => document.querySelectorAll("#log li").length > 0);
    await until(page, () => document.querySelectorAll("#events-rows tr").length > 0);
    assert.match(await page.title(), /^[\d,]+ waiting · Roadstead$/);
    await page.click("#flows summary");
    await until(page, () => document.querySelectorAll("#flow-rows tr").length > 2);
    assert.match(await page.textContent("#flow-rows"), /in flight/);
  });
});

test("the page says first how many wait, and for what", async () => {
  await withPage({}, async (page) => {
    assert.match(await page.textContent("#sentence"), /^[\d,]+ pods? waits?$/);
    const reasons = await page.textContent("#reasons");
    assert.match(reasons, /[\d,]+ at a gate/);
    assert.match(reasons, /[\d,]+ kept out by .*lack of room/);
  });
});

test("a pod added from the page appears and is bound, and can be deleted", async () => {
  await withPage({}, async (page) => {
    const name = `skiff-${Date.now() % 100000}`;
    await page.keyboard.press("a");
    await page.fill("#panel-pods [name=name]", name);
    await page.fill("#panel-pods [name=cpu]", "10m");
    await page.fill("#panel-pods [name=memory]", "8Mi");
    await page.fill("#panel-pods [name=priority]", "1000");
    await page.click("#add-send");
    await until(page, () => document.getElementById("add-done").textContent !== "");
    assert.ok((await page.textContent("#add-done")).includes(`Pod default/${name}`));
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type(name);
    await page.keyboard.press("Enter");
    await until(page, () => document.querySelector("#pane .headline")?.textContent.includes("Bound to"));
    await page.click("#pane .danger");
    await page.click("#confirm [value=yes]");
    await until(page, () => document.querySelector(".pane-tools .note").textContent.includes("is deleted"));
  });
});

test("a node added from the page is on the map, and can be deleted", async () => {
  await withPage({}, async (page) => {
    const name = `mole-${Date.now() % 100000}`;
    await page.click("#add-open");
    await page.click("#tab-nodes");
    await page.fill("#panel-nodes [name=name]", name);
    await page.fill("#panel-nodes [name=taint]", "dedicated=divers:NoSchedule");
    await page.click("#add-send");
    await until(page, () => document.getElementById("add-done").textContent.startsWith("Created Node"));
    await page.keyboard.press("Escape");
    await page.goto(`${program.url}#node/${name}`);
    await until(page, () =>
      document.querySelector("#pane .chips")?.textContent.includes("dedicated=divers:NoSchedule"),
    );
    await page.click("#pane .danger");
    await page.click("#confirm [value=yes]");
    await until(page, () => document.querySelector(".pane-tools .note").textContent.includes("is deleted"));
  });
});

test("what the server refuses is told in full, and nothing is closed", async () => {
  const opened = await openPage(browser, program.url);
  const { page } = opened;
  await page.keyboard.press("a");
  await page.click("#tab-yaml");
  await page.fill("#yaml", "apiVersion: v1\nmetadata:\n  labels: {}\n");
  await page.click("#add-send");
  await until(page, () => !document.getElementById("add-problem").hidden);
  assert.ok((await page.textContent("#add-problem")).length > 10);
  assert.ok(await page.isVisible("#yaml"));
  await opened.close();
});

test("a search finds a pod, and its wake-up contract and history are read", async () => {
  await withPage({}, async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("supertank");
    await until(page, () => document.querySelectorAll("#search-list [role=option]").length > 0);
    await page.keyboard.press("Enter");
    await until(page, () =>
      document.querySelector("#pane .headline")?.textContent.includes("Waits for an event"),
    );
    assert.equal(await page.evaluate(() => location.hash), "#pod/default/supertanker");
    const text = await page.textContent("#pane-body");
    for (const part of [
      "Who keeps it waiting",
      "NodeResourcesFit",
      "Wakes up when",
      "Smallest changes that would place it",
      "What happened to it",
    ]) {
      assert.ok(text.includes(part), `${part} in ${text}`);
    }
    assert.match(text, /attempt \d+/);
    await shoot(page, "pod");
  });
});

test("a place lists its pods, filtered by the server, each with a link", async () => {
  await withPage({}, async (page) => {
    await page.click(".place-gated");
    await until(page, () => document.querySelector("#pane tbody tr"));
    await page.fill("#pane input[type=search]", "quarantine");
    await until(page, () => document.querySelectorAll("#pane tbody tr").length === 1);
    assert.match(await page.textContent("#pane tbody"), /quarantined.*held by SchedulingGates/);
    await page.click("#pane tbody a");
    await until(page, () => document.querySelector("#pane .headline")?.textContent.includes("Held by"));
  });
});

test("an unknown pod is told so, in the server's words", async () => {
  const opened = await openPage(browser, program.url, { hash: "#pod/default/flying-dutchman" });
  await until(opened.page, () =>
    document.querySelector("#pane .refusal")?.textContent.includes("flying-dutchman"),
  );
  await opened.close();
});

test("a reader at the keyboard gets everywhere and back", async () => {
  await withPage({}, async (page) => {
    const focused = () =>
      page.evaluate(
        () => document.activeElement.id || document.activeElement.className || document.activeElement.tagName,
      );
    const visited = [];
    for (let step = 0; step < 60; step += 1) {
      await page.keyboard.press("Tab");
      visited.push(await focused());
      if (visited.at(-1) === "node-map") break;
    }
    assert.equal(visited[0], "skip");
    for (const part of [
      "search-input",
      "theme",
      "help-open",
      "box place-active",
      "box place-unschedulable",
      "stage",
      "node-map",
    ]) {
      assert.ok(visited.includes(part), `${part} is reached by Tab: ${visited}`);
    }
    await page.keyboard.press("/");
    assert.equal(await focused(), "search-input");
    await page.keyboard.press("Escape");
    await page.keyboard.press("4");
    await until(page, () => document.activeElement.id === "pane-title");
    assert.match(await page.textContent("#pane-title"), /Unschedulable/);
    await page.keyboard.press("Escape");
    assert.ok(await page.isHidden("#pane"));
    assert.equal(await page.evaluate(() => location.hash), "");
    await page.keyboard.press("?");
    assert.ok(await page.isVisible("#help"));
    await page.keyboard.press("Escape");
    assert.ok(await page.isHidden("#help"));
    await page.focus(".plot .stage");
    await page.keyboard.press("ArrowLeft");
    assert.match(await page.textContent(".plot .when"), /^at /);
    assert.ok(
      await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle !== "none"),
      "the focus is seen",
    );
  });
});

test("what is open returns the focus to what opened it", async () => {
  await withPage({}, async (page) => {
    await page.focus(".place-gated");
    await page.keyboard.press("Enter");
    await until(page, () => document.activeElement.id === "pane-title");
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.activeElement.className), "box place-gated");
  });
});

const TEXTS = [
  "h1",
  "#sentence-rest",
  ".box .name",
  ".box .depth",
  ".box .says",
  ".note",
  ".legend span",
  "caption",
  "thead th",
  "tbody code",
  "#log a",
  "#log span",
  "#about",
  "#mode",
  "summary",
  "#add-open",
];

for (const colorScheme of ["light", "dark"]) {
  test(`text is readable in the ${colorScheme} theme`, async () => {
    await withPage({ colorScheme }, async (page) => {
      await until(page, () => document.querySelector("#events-rows tr") && document.querySelector("#log li"));
      for (const [selector, contrast] of Object.entries(await contrasts(page, TEXTS))) {
        assert.ok(contrast >= 4.5, `${selector} has a contrast of ${contrast.toFixed(2)}`);
      }
      await page.evaluate(() => document.getElementById("nodes").scrollIntoView());
      await page.waitForTimeout(1500);
      await page.evaluate(() => window.scrollTo(0, 0));
      await page.waitForTimeout(500);
      await shoot(page, colorScheme, { fullPage: true });
    });
  });

  test(`axe finds nothing serious in the ${colorScheme} theme`, async () => {
    const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    const look = async (page, what) => {
      const { violations } = await page.evaluate(() =>
        window.axe.run(document, { resultTypes: ["violations"] }),
      );
      const grave = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      assert.deepEqual(
        grave.map(({ id, nodes }) => `${what}: ${id}: ${nodes.map(({ html }) => html).join(" ")}`),
        [],
      );
    };
    await withPage({ colorScheme, bypassCSP: true }, async (page) => {
      await page.evaluate(source);
      await until(page, () => document.querySelector("#events-rows tr") && document.querySelector("#log li"));
      await look(page, "the page");
      await page.goto(`${program.url}#pod/default/supertanker`);
      await until(page, () => document.querySelector("#pane .timeline"));
      await look(page, "a pod");
      await page.goto(`${program.url}#place/unschedulable`);
      await until(page, () => document.querySelector("#pane tbody tr"));
      await look(page, "a place");
      await page.keyboard.press("Escape");
      await page.keyboard.press("a");
      await look(page, "the dialog");
    });
  });
}

test("the theme follows the system and can be chosen, and the choice is kept", async () => {
  await withPage({ colorScheme: "light" }, async (page) => {
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await paper();
    assert.notEqual(light, dark);
    await page.click("#theme");
    assert.equal(await paper(), light, "light is chosen, whatever the system has");
    await page.reload();
    assert.equal(await paper(), light, "and kept");
    await page.click("#theme");
    await page.emulateMedia({ colorScheme: "light" });
    assert.equal(await paper(), dark);
  });
});

test("a phone shows it all without scrolling sideways", async () => {
  await withPage({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }, async (page) => {
    const width = () => page.evaluate(() => document.documentElement.scrollWidth);
    await until(page, () => document.querySelector("#events-rows tr"));
    assert.equal(await width(), 390);
    await shoot(page, "phone");
    const boxes = await page.$$eval("#harbour .box", (all) =>
      all.map((box) => [box.className, box.scrollWidth - box.clientWidth]),
    );
    for (const [name, surplus] of boxes)
      assert.ok(surplus <= 0, `the words of ${name} are cut by ${surplus}`);
    await page.goto(`${program.url}#pod/default/supertanker`);
    await until(page, () => document.querySelector("#pane .timeline"));
    assert.equal(await width(), 390);
    await shoot(page, "phone-pod");
  });
});

test("who wants no motion sees none", async () => {
  const frames = async (reducedMotion) => {
    let number;
    await withPage({ reducedMotion }, async (page) => {
      await until(page, () => document.querySelector(".course:not([hidden])"));
      number = await page.evaluate(async () => {
        let asked = 0;
        const real = window.requestAnimationFrame;
        window.requestAnimationFrame = (callback) => {
          asked += 1;
          return real(callback);
        };
        await new Promise((resolve) => setTimeout(resolve, 1500));
        return asked;
      });
    });
    return number;
  };
  assert.ok((await frames("no-preference")) > 5);
  assert.equal(await frames("reduce"), 0);
});

test("the page works under a proxy's path", async () => {
  const prefix = "/api/v1/namespaces/x/services/https:roadstead:10259/proxy";
  const proxy = createServer((request, response) => {
    if (!request.url.startsWith(`${prefix}/`)) {
      response.writeHead(404).end();
      return;
    }
    const target = new URL(request.url.slice(prefix.length), program.url);
    const headers = { ...request.headers };
    delete headers.host;
    delete headers.origin;
    const forwarded = ask(target, { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    forwarded.on("error", () => response.destroy());
    response.on("close", () => forwarded.destroy());
    request.pipe(forwarded);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${proxy.address().port}${prefix}/`;
  const opened = await openPage(browser, url);
  try {
    assert.deepEqual(opened.problems, []);
    assert.ok(opened.requests.every((request) => request.startsWith(url)));
  } finally {
    await opened.close();
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  }
});
