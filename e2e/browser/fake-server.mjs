// The HTTP side of the fake scheduler: the page's own files, and the answers that the page asks for.
// `node fake-server.mjs [PORT]` serves it for somebody who works on the page.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { FakeScheduler } from "./fake-scheduler.mjs";

const ASSETS = fileURLToPath(new URL("../../crates/roadstead/assets/", import.meta.url));
const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml" };
const POLICY =
  "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";
const TICK_MS = 250;

/** Starts it on a port of loopback; `mode` is run, serve or replay. */
export async function startFake({ port = 0, mode = "serve", speed = 1, ...options } = {}) {
  const scheduler = new FakeScheduler(options);
  const streams = new Set();
  // What a test may change on the way: answers that come late or never.
  const moods = { delayMs: 0, isDown: false, isCrowded: false, isForbidden: false, isFrozen: false };
  const replay = { from: 0, to: 3600, at: 600 };
  const status = () => ({
    mode,
    version: "0.0.0-fake",
    now: scheduler.now(),
    epoch: "start",
    speed,
    leads: true,
    schedulers: ["default-scheduler"],
    counts: scheduler.counts(),
    nodes: scheduler.nodes.length,
    boundTotal: scheduler.totals.bound,
    attemptsTotal: scheduler.totals.attempts,
    canChange: mode === "serve",
    ...(mode === "replay" ? { replay } : {}),
  });

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    if (moods.isDown) {
      request.socket.destroy();
      return;
    }
    try {
      if (moods.delayMs && url.pathname.startsWith("/api/"))
        await new Promise((resolve) => setTimeout(resolve, moods.delayMs));
      await answer(request, response, url);
    } catch (error) {
      send(response, error.code ?? 500, {
        error: { code: error.code ?? 500, reason: error.reason ?? "Internal", message: error.message },
      });
    }
  });

  async function answer(request, response, { pathname, searchParams }) {
    const parameters = Object.fromEntries(searchParams);
    const [, , , kind, ...rest] = pathname.split("/").map(decodeURIComponent);
    if (!pathname.startsWith("/api/v1/")) return file(response, pathname);
    if (moods.isForbidden) throw refusal(403, "Forbidden", "user ana may not get /api/v1");
    if (kind === "stream" && moods.isCrowded) throw refusal(503, "Unavailable", "64 streams are open");
    if (kind === "stream") return stream(request, response);
    if (request.method === "POST" && kind === "replay") {
      replay.at = JSON.parse(await body(request)).at;
      return send(response, 200, status());
    }
    if (request.method === "POST" && kind === "manifests")
      return send(response, 200, apply(await body(request)));
    if (request.method === "DELETE") return send(response, 200, drop(kind, rest));
    if (kind === "status") return send(response, 200, status());
    if (kind === "activity") return send(response, 200, scheduler.activity());
    if (kind === "queue") return send(response, 200, scheduler.queue(parameters));
    if (kind === "pods" && rest.length === 2) {
      const pod = scheduler.pods.get(rest.join("/"));
      if (!pod) throw refusal(404, "NotFound", `no pod ${rest.join("/")} is known; near it: default/boat-1`);
      return send(response, 200, scheduler.explain(pod));
    }
    if (kind === "pods") {
      const items = [];
      for (const { namespace, name, place } of scheduler.pods.values()) {
        if (`${namespace}/${name}`.includes(parameters.search ?? "")) items.push({ namespace, name, place });
        if (items.length >= Number(parameters.limit ?? 20)) break;
      }
      return send(response, 200, { items });
    }
    if (kind === "nodes" && rest.length) {
      const node = scheduler.nodes.find(({ name }) => name === rest[0]);
      if (!node) throw refusal(404, "NotFound", `no node ${rest[0]} is known`);
      const podsOnIt = Array.from({ length: 12 }, (_, index) => ({
        namespace: "default",
        name: `boat-${index}`,
        priority: 0,
        cpu: 500,
        memory: 2 ** 28,
      }));
      return send(response, 200, { ...node, podsOnIt });
    }
    if (kind === "nodes") return send(response, 200, nodes(parameters));
    throw refusal(404, "NotFound", `there is nothing at ${pathname}`);
  }

  function nodes({ search = "", limit = "100", continue: token = "0" }) {
    const all = scheduler.nodes.filter(({ name }) => name.includes(search));
    const sum = (id) => ({
      allocatable: total(all, id, "allocatable"),
      requested: total(all, id, "requested"),
    });
    const histogram = Array(10).fill(0);
    for (const { cpu } of all)
      histogram[Math.min(9, Math.floor((cpu.requested / cpu.allocatable) * 10))] += 1;
    const end = Number(token) + Number(limit);
    return {
      now: scheduler.now(),
      total: all.length,
      summary: { cpu: sum("cpu"), memory: sum("memory"), pods: sum("pods"), histogram },
      items: all.slice(Number(token), end),
      ...(end < all.length ? { continue: String(end) } : {}),
    };
  }

  function apply(text) {
    const created = [];
    for (const document of text.split(/^---$/m)) {
      const [kind] = /(?<=^kind: ).*/m.exec(document) ?? [];
      const [name] = /(?<=^ {2}name: ).*/m.exec(document) ?? [];
      if (!kind || !name)
        throw refusal(
          400,
          "BadRequest",
          "document 1: kind: is missing\ndocument 1: metadata.name: is missing",
        );
      if (kind === "Node") {
        const [, key, value, effect] = /- key: (\S+)\n +value: (\S+)\n +effect: (\S+)/.exec(document) ?? [];
        scheduler.nodes.push({
          ...scheduler.node(scheduler.nodes.length),
          name,
          taints: key ? [`${key}=${value}:${effect}`] : [],
        });
      } else if (kind !== "PriorityClass") {
        const pod = scheduler.add(null, name, "default");
        pod.isLucky = true;
        scheduler.move(pod, "active");
      }
      created.push(`${kind} ${kind === "Node" ? "" : "default/"}${name}`);
    }
    return { created, updated: [], unchanged: 0 };
  }

  function drop(kind, rest) {
    if (kind === "nodes") scheduler.nodes = scheduler.nodes.filter(({ name }) => name !== rest[0]);
    else scheduler.move(scheduler.pods.get(rest.join("/")), "gone", "PodDelete");
    return { deleted: `${kind === "nodes" ? "Node" : "Pod"} ${rest.join("/")}` };
  }

  function stream(request, response) {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    const client = { response, sent: 0 };
    streams.add(client);
    request.on("close", () => streams.delete(client));
    tell(client);
  }

  function tell(client) {
    const activity = scheduler.activity(client.sent);
    client.sent = scheduler.samples.length;
    client.response.write(`event: activity\ndata: ${JSON.stringify(activity)}\n\n`);
  }

  const ticking = setInterval(() => {
    if (moods.isFrozen) return;
    scheduler.step(TICK_MS / 1000);
    for (const client of streams) tell(client);
  }, TICK_MS);
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    scheduler,
    moods,
    replay,
    dropStreams() {
      for (const { response } of streams) response.socket.destroy();
    },
    stop() {
      clearInterval(ticking);
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

async function file(response, pathname) {
  const name = pathname === "/" ? "index.html" : pathname.replace(/^\/assets\//, "");
  if (!/^[\w-]+\.\w+$/.test(name)) throw refusal(404, "NotFound", `there is nothing at ${pathname}`);
  const content = await readFile(join(ASSETS, name)).catch(() => {
    throw refusal(404, "NotFound", `there is nothing at ${pathname}`);
  });
  response.writeHead(200, {
    "content-type": `${TYPES[extname(name)]}; charset=utf-8`,
    "content-security-policy": POLICY,
  });
  response.end(content);
}

async function body(request) {
  let text = "";
  for await (const part of request) text += part;
  return text;
}

function send(response, code, value) {
  response.writeHead(code, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

function refusal(code, reason, message) {
  return Object.assign(new Error(message), { code, reason });
}

function total(nodes, id, part) {
  return nodes.reduce((sum, node) => sum + node[id][part], 0);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await startFake({ port: Number(process.argv[2] ?? 0) });
  console.log(`dashboard  ${url}`);
}
