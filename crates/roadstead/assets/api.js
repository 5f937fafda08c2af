// What the page asks the scheduler. Addresses are relative: the page may be behind a proxy's path.

const PATIENCE_MS = 15000;

/** An answer that is none: what the server said, in full, or that there was no answer. */
export class Refusal extends Error {
  constructor(message, code, reason) {
    super(message);
    this.code = code;
    this.reason = reason;
  }

  /** Whether there was no answer at all. */
  get isSilence() {
    return this.code === 0;
  }
}

export function ask(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters ?? {})) {
    if (value !== undefined && value !== null && value !== "") query.set(name, value);
  }
  const tail = query.size ? `?${query}` : "";
  return request("GET", path + tail);
}

export function post(path, body, type = "application/json") {
  return request("POST", path, body, type);
}

export function remove(path) {
  return request("DELETE", path);
}

export function podPath(namespace, name) {
  return `pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

export function nodePath(name) {
  return `nodes/${encodeURIComponent(name)}`;
}

async function request(method, path, body, type) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = type;
  let response;
  let text;
  try {
    response = await fetch(`api/v1/${path}`, {
      method,
      headers,
      body,
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    text = await response.text();
  } catch (error) {
    const why = error.name === "TimeoutError" ? "no answer in time" : "no connection";
    throw new Refusal(`The scheduler did not answer: ${why}.`, 0, "Silence");
  }
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    answer = undefined;
  }
  if (!response.ok) {
    const error = answer?.error;
    const message = error?.message ?? (text.trim() || response.statusText);
    throw new Refusal(message, response.status, error?.reason ?? response.statusText);
  }
  if (answer === undefined) {
    throw new Refusal("The answer of the server is not JSON.", response.status, "BadAnswer");
  }
  return answer;
}
