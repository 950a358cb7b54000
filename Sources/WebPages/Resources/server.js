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

async function ask(method, path, body) {
  const headers = {};
  if (method !== "GET") headers["X-Photo-Inbox"] = "1";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(address(path), {
      method, headers, cache: "no-store", credentials: "same-origin", redirect: "error",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Failure(0, "the server does not answer", "Try again.");
  }
  const value = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw new Failure(response.status, value?.message ?? `status ${response.status}`, value?.action);
  return value;
}

export const get = (path) => ask("GET", path);
export const post = (path, body) => ask("POST", path, body);
export const remove = (path) => ask("DELETE", path);

/** Asks the daemon for something, for the person who is signed in; with `dryRun`, what would be done. */
export function act(request, dryRun) {
  return post("action", { version: 1, id: 1, ...request, ...(dryRun ? { dry_run: true } : {}) });
}

/**
 * The state, as often as it changes, while the page is visible: a hidden one asks for nothing.
 * Calls `end` if the session has ended.
 */
export function watch(state, failure, end) {
  let source = null;
  const close = () => {
    source?.close();
    source = null;
  };
  const open = () => {
    if (source || document.hidden) return;
    source = new EventSource(address("live"));
    source.addEventListener("state", (event) => state(JSON.parse(event.data)));
    source.addEventListener("failure", (event) => failure(JSON.parse(event.data)));
    source.onerror = async () => {
      // A connection that broke off is opened again by the browser; one that was refused is not.
      if (source?.readyState !== EventSource.CLOSED) return;
      close();
      try {
        await get("person");
        setTimeout(open, 3000);
      } catch (error) {
        if (error.status === 401) return end();
        failure({ message: error.message, action: error.action });
        setTimeout(open, 3000);
      }
    };
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  open();
}
