// What Drop says of files: of all, of each group and of each one. Guests decide nothing. "Safe to delete" is said of what the server calls safe, and of nothing else.
import { bytes, count } from "./text.js";

export function headline(totals, halt = null, { isGuest = false, isAdding = false } = {}) {
  const { all, failed, quarantined, sending, waiting, placed, deferred, stays, discarded, known, left } = totals;
  const open = sending.files + waiting.files;
  const bad = failed.files + (isGuest ? 0 : quarantined.files);
  const rest = placed.files + deferred.files;
  const files = (number) => count(number, "file", "files");
  const keep = (number) => `keep ${number === 1 ? "it" : "them"} until then`;
  if (open > 0) {
    if (!halt) return { state: "sending", look: "notice", text: `Sending, ${files(open)} to go` };
    const [state, word] = halt.status === 0 ? ["sending", "Paused"] : ["stopped", "Stopped"];
    return { state, look: "warning", text: `${word}, ${files(open)} not sent` };
  }
  if (isAdding) return { state: "adding", look: "notice", text: "Looking through what was added" };
  if (all.files === 0) return { state: "nothing", look: "notice", text: "Nothing is sent" };
  if (bad > 0) return { state: "bad", look: "warning", text: `Done, but ${bad} of ${files(all.files)} ${bad === 1 ? "needs" : "need"} you` };
  if (isGuest && quarantined.files > 0) {
    const [verb, object] = quarantined.files === 1 ? ["is", "it"] : ["are", "them"];
    return { state: "bad", look: "warning", text: `Done, but ${quarantined.files} of ${files(all.files)} ${verb} set aside: keep ${object}` };
  }
  if (rest > 0) return { state: "sent", look: "notice", text: `All is sent, ${files(rest)} not filed yet: ${keep(rest)}` };
  const recorded = known.files - known.safe;
  if (recorded > 0) {
    return {
      state: "recorded", look: "notice",
      text: `The library has ${files(recorded)} by its records: keep yours, or send ${recorded === 1 ? "it" : "them"} to make sure`,
    };
  }
  const unfiled = stays.files + discarded.files;
  const unsafe = all.files - all.safe - unfiled;
  if (unsafe > 0) return { state: "sent", look: "notice", text: `All is filed, ${files(unsafe)} not read again yet: ${keep(unsafe)}` };
  if (unfiled > 0) {
    const [verb, noun, object] = unfiled === 1 ? ["is", "photo", "it"] : ["are", "photos", "them"];
    const words = discarded.files > 0 ? `${verb} not filed` : `${verb} no ${noun}, and not filed`;
    return { state: "stays", look: "notice", text: `Done, but ${unfiled} of ${files(all.files)} ${words}: keep ${object}` };
  }
  // Somebody may delete the folder of all.
  if (left.files > 0) return { state: "left", look: "notice", text: `${files(all.files)} filed and safe to delete, ${left.files} not sent` };
  return {
    state: "safe", look: "good",
    text: all.files === 1 ? "Filed: safe to delete where it came from" : `All ${files(all.files)} are filed: safe to delete where they came from`,
  };
}

/** How what was stopped by this status goes on. */
export function resumption(status, isGuest = false) {
  if (status === 401) return "Sign in in another tab, then resume here";
  if (isGuest && [404, 410].includes(status)) return "What is sent is kept; ask for a new link";
  return status === 410 ? "What is sent is kept" : "What is sent is kept; resume when it works again";
}

export const signs = {
  filed: ["good", "✓", "filed"], known: ["good", "=", "filed before, not sent"], placed: ["notice", "↻", "sent, not filed yet"],
  sending: ["notice", "↑", "being sent"], waiting: ["faint", "…", "waiting"], deferred: ["notice", "↻", "deferred: tried again by itself"],
  quarantined: ["bad", "✗", "quarantined: needs a decision", "set aside: whoever gave you the link decides"], stays: ["faint", "–", "not a photo: stays in the inbox"],
  discarded: ["faint", "–", "discarded by a person: not filed"],
  failed: ["bad", "✗", "not sent"], left: ["faint", "–", "left out"],
  ignored: ["faint", "–", "of systems, ignored"],
};

export function safety({ files, safe }) {
  if (safe === 0) return null;
  return safe === files ? ", safe to delete" : `, ${safe} of them safe to delete`;
}

export function words(item, isGuest = false) {
  const because = item.reason ? `: ${item.reason}` : "";
  const safe = item.safe ? ", safe to delete where it came from" : ", not read again yet";
  switch (item.step) {
    case "waiting": return { look: "faint", text: item.offset > 0 ? `waiting, ${bytes(item.offset)} sent` : "waiting" };
    case "reading": return { look: "faint", text: "being read" };
    case "sending": return { look: "notice", text: `sending, ${Math.floor((item.offset + item.sent) / item.size * 100)} %` };
    case "durable": return { look: "notice", text: "sent and durable" };
    case "inbox": return { look: "notice", text: `in the inbox${because}` };
    case "filed": return { look: item.safe ? "good" : "notice", text: `filed${safe}` };
    case "duplicate": return { look: item.safe ? "good" : "notice", text: `duplicate, in the library already${safe}` };
    case "known": return { look: item.safe ? "good" : "notice", text: item.safe ? `filed before, not sent${safe}` : "not sent: the library has it by its records" };
    case "deferred": return { look: "notice", text: `deferred${because}` };
    case "quarantined":
      return { look: "bad", text: isGuest ? `set aside${because}; whoever gave you the link decides, keep it` : `quarantined${because}` };
    case "stays": return { look: "faint", text: `${item.reason ?? "not a photo"}; stays in the inbox` };
    case "discarded": return { look: "faint", text: `discarded by a person, not filed${because}` };
    case "returned": return { look: "bad", text: `taken out of the library again${because}` };
    case "lost": return { look: "bad", text: `gone from the inbox without being filed${because}` };
    case "ignored": return { look: "faint", text: `ignored${because}` };
    case "left": return { look: "faint", text: `left out${because}` };
    default: return { look: "bad", text: `not sent${because}` };
  }
}
