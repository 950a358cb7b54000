// Sends one file, by POST alone: every proxy lets it through. A chunk has its digest, and what the server says is durable counts.

/** Why a file is not sent. With `isForAll`, others would fail, too. */
export class Refusal extends Error {
  constructor(message, { isForAll = false, isLeftOut = false, status = 0 } = {}) {
    super(message);
    this.isForAll = isForAll;
    this.isLeftOut = isLeftOut;
    this.status = status;
  }
}

// How often in a row an answer may be wrong, and how often a file may be begun anew.
const TRIES = 5;
const BEGINNINGS = 3;

/**
 * Sends `item`: `{ path, file, modified, hash?, set?, upload, offset }`, of which `upload` and `offset` change. Ends when all of it is
 * durable; throws a Refusal, or what `signal` was aborted with.
 *
 * `tools` has `request(address, body, { digest, whole, signal, sent })`, which gives `{ status, offset, upload, message }` with status 0
 * if the connection broke; `digest(blob, isLast)`; `find(item)`, which looks for the upload where the answer that had its number was lost,
 * and gives true if it is filed; `pause(seconds, signal, message)`; `pace`; and `changed(item, sent)`, for bytes that have left.
 */
export async function send(item, tools, signal) {
  const { file } = item;
  let tries = 0;
  let beginnings = 1;
  let broken = 0;
  // Whether the offset is that of the server.
  let isCertain = item.upload === null;
  for (;;) {
    signal.throwIfAborted();
    // It may be that all came, and the answer did not, or was not waited for.
    if (item.upload === null && item.isUnanswered) {
      try {
        if (await tools.find(item)) return;
      } catch (error) {
        if (isBreak(error.status ?? 0)) {
          await tools.pause(Math.min(2 ** ++broken, 30), signal, error.message);
          continue;
        }
      }
      item.isUnanswered = false;
      isCertain = item.upload === null;
      continue;
    }
    if (isCertain && item.offset === file.size) return;
    const isChunk = isCertain;
    const chunk = isChunk ? file.slice(item.offset, item.offset + tools.pace.size) : null;
    const options = { signal, sent: (bytes) => tools.changed(item, bytes) };
    if (isChunk) options.digest = await tools.digest(chunk, item.offset + tools.pace.size >= file.size);
    signal.throwIfAborted();
    const isNew = item.upload === null;
    if (isNew) [options.whole, item.isUnanswered] = [item.hash, true];
    const began = performance.now();
    const answer = await tools.request(isNew ? creation(item) : chunk ? `${item.upload}?at=${item.offset}` : item.upload, chunk, options);
    if (isNew) item.isUnanswered = isBreak(answer.status);
    signal.throwIfAborted();
    const { status } = answer;
    if (answer.upload) item.upload = answer.upload;

    if (status >= 200 && status < 300 && answer.offset !== null && (!isChunk || answer.offset > item.offset)) {
      if (isChunk) tools.pace.accepted(chunk.size, (performance.now() - began) / 1000);
      [item.offset, isCertain, broken] = [answer.offset, true, 0];
      if (isChunk) tries = 0;
      tools.changed(item, 0);
      continue;
    }
    tools.changed(item, 0);
    if (status === 413) {
      if (chunk && tools.pace.refused(chunk.size)) continue;
      throw new Refusal(answer.message || "something between refuses even small requests as too large");
    }
    if (status === 422) throw new Refusal(answer.message, { isLeftOut: true });
    if ([401, 403, 507].includes(status)) throw new Refusal(answer.message, { isForAll: true, status });
    if (isBreak(status)) {
      if (chunk && status === 0) tools.pace.broken();
      broken += 1;
      await tools.pause(Math.min(2 ** broken, 30), signal, answer.message);
      isCertain = item.upload === null;
      continue;
    }
    tries += 1;
    if (tries > TRIES) throw new Refusal(answer.message || `the server answers ${status}`);
    if (status === 409 && answer.offset !== null) {
      [item.offset, isCertain] = [answer.offset, true];
      continue;
    }
    if (status === 404 || status === 410) {
      // It expired, or its bytes were lost. If it is the link that ended, nothing new can begin either.
      if (isNew) throw new Refusal(answer.message, { isForAll: true, status });
      beginnings += 1;
      if (beginnings > BEGINNINGS) throw new Refusal(answer.message);
      [item.upload, item.offset, isCertain] = [null, 0, true];
      continue;
    }
    // Another request continues it, its bytes were altered on the way, or the server is confused: the server knows where it is.
    if (status === 409) await tools.pause(5, signal);
    isCertain = item.upload === null;
  }
}

// Of the connection, of a proxy, or of a server that starts anew: it ends by itself. 429: too many are unfinished.
function isBreak(status) {
  return status === 0 || status === 408 || status === 429 || status === 500 || (status >= 502 && status <= 504);
}

function creation(item) {
  const query = new URLSearchParams({ name: item.path, length: item.file.size, modified: item.modified });
  if (item.set) {
    query.set("set", item.set.token);
    query.set("of", item.set.count);
  }
  return `?${query}`;
}
