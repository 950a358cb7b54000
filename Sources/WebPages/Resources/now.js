// What happens now: the words of `photoinbox status`, `top` and `list`.
import { h } from "./dom.js";
import { confirm, perform } from "./confirm.js";
import { address } from "./server.js";
import { count, moment, since, suffix } from "./text.js";

/** The page for a state. */
export function now(state, person) {
  const isOperator = person.role === "operator";
  return [
    verdict(state), problems(state), inboxes(state, isOperator), coming(state), arrivals(state), outcomes(state, isOperator),
  ];
}

/** The page while the daemon does not answer. */
export function unknown(failure) {
  return [
    h("div", { class: "verdict failed" }, h("span", { class: "dot" }), h("h1", null, failure.message)),
    failure.action && h("p", null, failure.action),
    h("p", { class: "faint" }, "Photos wait in their inboxes; none is lost. This page goes on asking."),
  ];
}

function verdict(state) {
  const warnings = state.problems.filter((problem) => problem.severity === "warning").length;
  const words = {
    stopped: "Filing stopped", warning: `Filing, ${count(warnings, "warning", "warnings")}`, notice: "Filing normally",
  };
  const isIdle = state.inboxes.length === 0;
  const text = state.phase !== "running" ? `${state.phase}…`
    : words[state.severity] ?? (isIdle ? "Idle, no inbox is configured" : "Filing normally");
  const look = state.severity === "notice" ? "good" : state.severity ?? "good";
  const isBusy = state.in_hand.some((file) => file.stage === "working");
  return h("section", { "data-key": "verdict" },
    h("div", { class: `verdict ${look} ${isBusy ? "busy" : ""}` }, h("span", { class: "dot" }), h("h1", null, text)),
    h("p", { class: "faint" }, "up ", since(state.started),
      state.free && `, ${state.free} free in the library`,
      state.verified ? [", completely verified ", moment(state.verified)] : ", never completely verified"));
}

// The problems that end by what is done under "Needs you": files that are deferred, or quarantined.
const decided = ["PI-310", "PI-311"];

function problems(state) {
  if (state.problems.length === 0) return null;
  return h("section", { "data-key": "problems", "aria-label": "Problems" }, state.problems.map((problem) =>
    h("article", { class: `problem ${problem.severity}`, "data-key": problem.code + problem.what },
      h("h2", { class: problem.severity }, `${problem.severity} ${problem.code}`),
      h("p", null, problem.what),
      h("dl", null, h("dt", null, "effect"), h("dd", null, problem.effect), h("dt", null, "action"), h("dd", null, problem.action),
        h("dt", null, "since"), h("dd", null, moment(problem.since))),
      decided.includes(problem.code) && h("p", null, h("a", { href: "#decisions" }, "Decide")))));
}

function inboxes(state, isOperator) {
  return h("section", { "data-key": "inboxes", "aria-labelledby": "inboxes" }, h("h2", { id: "inboxes" }, "Inboxes"),
    state.inboxes.length === 0 ? h("p", { class: "empty" }, "No inbox is configured.")
      : h("ul", { class: "plain boxes" }, state.inboxes.map((inbox) => box(inbox, state, isOperator))));
}

function box(inbox, state, isOperator) {
  const counts = inbox.counts;
  const oldest = state.in_hand.filter((file) => file.inbox === inbox.name).map((file) => file.first_seen).sort()[0];
  const parts = [
    counts.in_hand > 0 && `${count(counts.in_hand, "file", "files")} in hand`, counts.deferred > 0 && `${counts.deferred} deferred`,
    inbox.being_written && `${inbox.being_written} being written`,
  ].filter(Boolean);
  return h("li", { class: "box", "data-key": inbox.name },
    h("div", { class: "top" }, h("h3", null, inbox.name),
      isOperator && h("button", {
        type: "button", "aria-label": `${inbox.paused ? "Resume" : "Pause"} ${inbox.name}`,
        onclick: () => perform({ do: inbox.paused ? "resume" : "pause", inbox: inbox.name }, inbox.name),
      }, inbox.paused ? "Resume" : "Pause")),
    h("p", { class: inbox.paused ? "warning" : inbox.verdict === "live" ? "good" : "notice" },
      inbox.paused ? ["paused by ", inbox.paused.by, " ", since(inbox.paused.since)] : inbox.verdict,
      inbox.reason && `: ${inbox.reason}`),
    h("p", null, parts.length > 0 ? parts.join(", ") : "nothing waiting", oldest && [", oldest ", since(oldest)]),
    h("p", { class: "faint" }, `since start ${counts.filed} filed, ${counts.duplicate} duplicate, ${counts.quarantined} quarantined`));
}

function coming(state) {
  const cards = state.cards.filter((card) => card.phase === "importing");
  if (cards.length === 0 && state.links.length === 0) return null;
  return h("section", { "data-key": "coming", "aria-labelledby": "coming" }, h("h2", { id: "coming" }, "Imports and downloads"),
    h("ul", { class: "plain boxes" },
      cards.map((card) => progressBox(`card ${card.path}`, card.path, `importing into ${card.inbox}`, card.files, card.total_files, "files")),
      state.links.map((links) => progressBox(`links ${links.operation}`, `${links.inbox}/${links.file}`, links.what || links.phase,
        links.arrived + links.failed, links.addresses, "addresses"))));
}

function progressBox(key, name, what, done, all, unit) {
  return h("li", { class: "box", "data-key": key }, h("h3", null, name), h("p", { class: "faint" }, what),
    h("progress", all ? { value: done, max: all, "aria-label": name } : { "aria-label": name }),
    h("p", null, all ? `${done} of ${all} ${unit}` : `${done} ${unit}`));
}

const stages = { queued: "queued", working: "in work", settling: "settling", gathering: "waits for its set", deferred: "deferred" };

function arrivals(state) {
  if (state.in_hand.length === 0) return null;
  return h("section", { "data-key": "arrivals", "aria-labelledby": "arrivals" }, h("h2", { id: "arrivals" }, "In hand"),
    h("ul", { class: "plain rows" }, state.in_hand.map((file) =>
      h("li", { "data-key": `${file.inbox}/${file.file}` },
        h("div", { class: "about" }, h("div", { class: "name" }, `${file.inbox}/${file.file}`),
          h("div", null, stages[file.stage] ?? file.stage, file.what && `: ${file.what}`,
            file.until && file.stage === "deferred" && [", next try ", moment(file.until)])),
        h("div", { class: "when" }, since(file.first_seen))))),
    state.in_hand_omitted > 0 && h("p", { class: "faint" }, `and ${count(state.in_hand_omitted, "more", "more")}`));
}

// How often a picture was asked for in vain, by its address: it may be made yet.
const vain = new Map();
const waiting = new Set();
const tries = 6;

/** The small picture of an outcome, or what its name ends in. */
export function picture(outcome) {
  const source = outcome.sha256 && ["filed", "duplicate"].includes(outcome.outcome) ? address(`t/${outcome.sha256}`) : null;
  const none = h("div", { class: "picture", "aria-hidden": "true", "data-key": "picture" }, suffix(outcome.file));
  if (!source || waiting.has(source) || vain.get(source) >= tries) return none;
  return h("img", {
    class: "picture", loading: "lazy", src: source, alt: "", "data-key": "picture",
    onerror: () => {
      const failed = (vain.get(source) ?? 0) + 1;
      vain.set(source, failed);
      waiting.add(source);
      redraw();
      setTimeout(() => {
        waiting.delete(source);
        redraw();
      }, 1000 * 2 ** failed);
    },
  });
}

function redraw() {
  document.dispatchEvent(new Event("redraw"));
}

function outcomes(state, isOperator) {
  return h("section", { "data-key": "outcomes", "aria-labelledby": "outcomes" }, h("h2", { id: "outcomes" }, "Last outcomes"),
    state.outcomes.length === 0 ? h("p", { class: "empty" }, "None since the start. Drop a photo into an inbox.")
      : h("ul", { class: "plain rows outcomes" }, state.outcomes.map((outcome, index) => row(outcome, index, state, isOperator))));
}

function row(outcome, index, state, isOperator) {
  const name = `${outcome.inbox}/${outcome.file}`;
  return h("li", { "data-key": outcome.operation ?? `${outcome.at} ${index}` },
    picture(outcome),
    h("div", { class: "about" },
      h("div", null, h("span", { class: `outcome ${outcome.outcome}` }, outcome.outcome), " ", h("span", { class: "name" }, name)),
      outcome.destination && outcome.outcome !== "quarantined" && h("div", { class: "faint" }, `→ ${outcome.destination}`),
      outcome.reason && h("div", { class: "faint" }, outcome.reason)),
    h("div", { class: "when" }, moment(outcome.at)),
    isOperator && h("div", { class: "actions" },
      outcome.operation && outcome.outcome === "filed" && h("button", {
        type: "button", "aria-label": `Take back: ${name}`,
        onclick: () => confirm({ do: "undo", operation: outcome.operation }, `Take back ${name}?`, "Take back", true),
      }, "Take back…")));
}

