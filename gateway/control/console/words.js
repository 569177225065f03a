// The shapes of the API in words.
export function says(ask) {
  const view = ask.view || {};
  if (view.says) return view.says;
  const category = view.effect && view.effect.effective ? view.effect.effective.category : "unrated";
  return ask.tool + " of " + ask.server + " (" + category + ")";
}

export function declared(effect) {
  const hints = Object.entries((effect && effect.declared) || {});
  return hints.length ? hints.map(([name, value]) => (value ? "" : "not ") + name.replace(/Hint$/, "")).join(", ") : "nothing";
}

export function effective(effect) {
  const holds = effect && effect.effective;
  if (!holds) return "";
  return [holds.category, holds.destructive ? "destructive" : "not destructive", "repeat " + holds.repeat,
    ...(holds.labels && holds.labels.length ? ["labels " + holds.labels.join(", ")] : [])].join(" · ");
}

export function terms(one, missing, pending) {
  let out = one.by && one.by.length ? one.by.join(" or ") : "any approver";
  if (one.quorum > 1) out += ", " + one.quorum + " of them";
  if (one.notOwner) out += ", not the client's owner";
  if (one.sessionUser) out += ", or the client's own user";
  if (pending && missing !== undefined) out += missing === 0 ? ": satisfied" : missing > 1 ? ": " + missing + " answers missing" : ": one answer missing";
  return out;
}

export const vote = (one) => one.by + (one.vote === "approve" ? " approved" : " denied") + (one.reason ? ": " + one.reason : "");

const kStates = { consumed: ["approved and used", "good"], approved: ["approved, not used yet", "good"], denied: ["denied", "bad"], revoked: ["taken back", "bad"], pending: ["waits", ""] };
// What became of an ask: [words, kind of chip].
export const state = (value) => kStates[value] || [value, "warn"];

const kOutcomes = { none: "did not happen", applied: "took effect", unknown: "outcome unknown" };
export const outcome = (value) => kOutcomes[value] || value || "";

// The conditions of a grant, as the gateway words them; `choices`: [name, kind, text].
export function condition([name, kind, text]) {
  if (kind === "") return "`" + name + "`: say what it may be";
  if (kind === "any") return "`" + name + "` may be anything";
  if (kind === "most") return "`" + name + "` is at most " + text;
  if (kind === "within") return "`" + name + "` is a path within " + text;
  return "`" + name + "` is exactly " + text;
}
