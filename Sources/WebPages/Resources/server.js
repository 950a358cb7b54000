// Requests to the server, by addresses relative to the page: below whatever path it is.

const base = new URL("../../", import.meta.url);

export function address(path) {
  return new URL(path, base).href;
}

/** Why a request failed, and what to do. */
export class Failure extends Error {
  constructor(status, message, action) {
    super(message);
    this.status = status;
    this.action = action ?? null;
  }
}

// What was asked for before it was needed, by its path. Later, it would be of another time.
const prepared = new Map();
const FRESH = 10_000;

/** Asks for what the page will need at first; gives the answer, or null. */
export function prepare(path, cache = "no-store") {
  const answer = request("GET", path, { cache }).catch(() => null);
  prepared.set(path, answer);
  return answer;
}

function taken(path) {
  const answer = prepared.get(path);
  prepared.delete(path);
  return performance.now() < FRESH ? answer : null;
}

function request(method, path, options) {
  return fetch(address(path), { method, credentials: "same-origin", redirect: "error", ...options });
}

// What is aborted throws the signal's reason, which is no failure.
async function send(method, path, { body, signal, cache = "no-store" } = {}) {
  const headers = {};
  if (method !== "GET") headers["X-Photo-Inbox"] = "1";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    const early = method === "GET" ? await taken(path) : null;
    signal?.throwIfAborted();
    // Of before somebody signed in, it is of no use.
    response = early?.ok ? early : await request(method, path, {
      headers, signal, cache, body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    signal?.throwIfAborted();
    throw new Failure(0, "the server does not answer", "Try again.");
  }
  if (response.ok) return response;
  const value = await response.json().catch(() => null);
  throw new Failure(response.status, value?.message ?? `status ${response.status}`, value?.action);
}

async function ask(method, path, options) {
  const response = await send(method, path, options);
  return response.status === 204 ? null : response.json().catch(() => null);
}

const BYTES = "application/octet-stream";

// As a hotel's sign-in page does, or a server of another version.
function requireType(response, type) {
  if (response.headers.get("Content-Type") !== type) {
    throw new Failure(0, "something else answers instead of the server", "Reload the page.");
  }
}

/** Bytes of a type, and the fields that came with them: `{ buffer, field(name) }`. */
export async function bytes(path, signal, cache, type = BYTES) {
  const response = await send("GET", path, { signal, cache });
  requireType(response, type);
  try {
    return { buffer: await response.arrayBuffer(), field: (name) => response.headers.get(name) };
  } catch {
    signal?.throwIfAborted();
    throw new Failure(0, "the connection broke off", "Try again.");
  }
}

/** The parts of an answer, each as soon as it is there; in the answer, each comes after its length, 4 bytes, the lowest first. */
export async function* parts(path) {
  const response = await send("GET", path, { cache: "default" });
  requireType(response, BYTES);
  const reader = response.body.getReader();
  let rest = new Uint8Array(0);
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const more = new Uint8Array(rest.length + read.value.length);
    more.set(rest);
    more.set(read.value, rest.length);
    rest = more;
    for (let end; rest.length >= 4 && rest.length >= (end = 4 + new DataView(rest.buffer, rest.byteOffset).getUint32(0, true));) {
      yield rest.subarray(4, end);
      rest = rest.subarray(end);
    }
  }
}

/** Why something would not be sent, or null if it would be; with the server's words, which an answer to HEAD has not. */
export async function refusal(path, signal) {
  try {
    await send("HEAD", path, { signal });
  } catch {
    try {
      await (await send("GET", path, { signal })).body?.cancel();
    } catch (error) {
      return error;
    }
  }
  return null;
}

export const get = (path, signal) => ask("GET", path, { signal });
export const post = (path, body, signal) => ask("POST", path, { body, signal });
export const remove = (path) => ask("DELETE", path);

/** Asks the daemon for something, for the person who is signed in; with `dryRun`, what would be done. */
export function act(request, dryRun) {
  return post("action", { version: 1, id: 1, ...request, ...(dryRun ? { dry_run: true } : {}) });
}

// A connection on which nothing moves for so long is given up.
const PATIENCE = 90_000;

/**
 * Sends a part of a file by POST: `{ status, offset, upload, message }`, with status 0 if there was no answer. `sent` is told how many
 * bytes have left. See `send.js`.
 */
export function upload(path, body, { digest, whole, signal, sent } = {}) {
  return new Promise((done) => {
    // fetch() does not say how much has been sent.
    const request = new XMLHttpRequest();
    request.open("POST", address(path));
    request.setRequestHeader("X-Photo-Inbox", "1");
    if (digest) request.setRequestHeader("Content-Digest", `sha-256=:${base64(digest)}:`);
    if (whole) request.setRequestHeader("Repr-Digest", `sha-256=:${base64(whole)}:`);
    if (body) request.setRequestHeader("Content-Type", "application/octet-stream");
    let timer;
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => request.abort(), PATIENCE);
    };
    const abort = () => request.abort();
    request.upload.onprogress = (event) => {
      wait();
      sent?.(event.loaded);
    };
    request.onloadend = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      const offset = request.getResponseHeader("Upload-Offset");
      done({
        status: request.status, offset: offset === null ? null : Number(offset),
        upload: /([0-9a-f]{32})\/?$/.exec(request.getResponseHeader("Location") ?? "")?.[1] ?? null,
        message: reason(request.getResponseHeader("Content-Type") ?? "", request.responseText),
      });
    };
    signal?.addEventListener("abort", abort);
    wait();
    request.send(body);
  });
}

// Why it was refused, if the server says so. The answer of a proxy is a page.
function reason(type, text) {
  if (/^text\/plain/.test(type)) return text.trim();
  try {
    return /json/.test(type) ? JSON.parse(text).message ?? "" : "";
  } catch {
    return "";
  }
}

function base64(bytes) {
  return btoa(String.fromCharCode(...bytes));
}

/**
 * Events by their names, while the page is visible: a hidden one asks for nothing. `path` gives the address each time; `check` is one
 * that is refused to whom the events are refused. Calls `ended` with why, if they are, and `failed` if nothing is known.
 */
export function watch(path, check, events, failed, ended) {
  let source = null;
  let isEnded = false;
  const close = () => {
    source?.close();
    source = null;
  };
  const open = () => {
    if (source || document.hidden || isEnded) return;
    source = new EventSource(address(path()));
    for (const [name, receive] of Object.entries(events)) {
      source.addEventListener(name, (event) => receive(event.data === undefined ? null : JSON.parse(event.data), event.lastEventId));
    }
    source.onerror = async () => {
      // A connection that broke off is opened again by the browser; one that was refused is not.
      if (source?.readyState !== EventSource.CLOSED) return;
      close();
      try {
        await get(check);
      } catch (error) {
        if ([401, 404, 410].includes(error.status)) {
          isEnded = true;
          return ended(error);
        }
        failed({ message: error.message, action: error.action });
      }
      setTimeout(open, 3000);
    };
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  open();
}
