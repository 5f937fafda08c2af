// Starts what is tested and the browser that looks at it.

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { startFake } from "./fake-server.mjs";

const START_MS = 120000;
const SHOTS = process.env.SHOTS ?? fileURLToPath(new URL("../../target/browser/", import.meta.url));

/** Whether the fake stands in for the program. */
export const isFake = process.env.ROADSTEAD === "fake";

export function manifest(name) {
  return fileURLToPath(new URL(`manifests/${name}`, import.meta.url));
}

/** `roadstead serve` with these arguments: its address, and how to stop it. */
export async function startProgram(args, fakeOptions) {
  return isFake ? startFake(fakeOptions) : startCommand(["serve", ...args]);
}

/** The program to test. */
export function theProgram() {
  const program = process.env.ROADSTEAD;
  if (!program) throw new Error("ROADSTEAD must name the program to test; e2e/browser/run does that");
  return program;
}

/** A command that serves the dashboard: its address, and how to stop it. */
export async function startCommand(args) {
  const child = spawn(theProgram(), [...args, "--port", "0"], { stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stderr.on("data", (data) => {
    errors = (errors + data).slice(-4000);
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), 10000);
    await ended;
    clearTimeout(late);
  };
  const url = await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no address after ${START_MS} ms: ${errors}`)), START_MS);
    createInterface({ input: child.stdout }).on("line", (line) => {
      const found = /^dashboard\s+(http:\S+)/.exec(line);
      if (!found) return;
      clearTimeout(late);
      resolve(found[1]);
    });
    ended.then((code) => reject(new Error(`the program ended with ${code}: ${errors}`)));
  }).catch(async (error) => {
    await stop();
    throw error;
  });
  return { url, stop };
}

export function startBrowser() {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

/** A page that remembers what went wrong and whom it asked. */
export async function openPage(browser, url, { hash = "", isReady = true, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  const problems = [];
  const requests = [];
  page.on(
    "console",
    (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()),
  );
  page.on("pageerror", (error) => problems.push(error.stack));
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(url + hash);
  if (isReady)
    await page.waitForFunction(() => /\d/.test(document.querySelector(".place-active .depth")?.textContent));
  return { page, problems, requests, close: () => context.close() };
}

export async function shoot(page, name, options) {
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: `${SHOTS}/${name}.png`, ...options });
}

/** The number in an element, with its thousands. */
export function numberIn(text) {
  return Number(text.replaceAll(",", ""));
}
