// One ask, whole: everything that the approver must see stands here, in the order in which it matters.
import { cell, codeBlock, folded, make, marked, rows, table, when } from "./dom.js";
import { differences } from "./definitions.js";
import { declared, effective, says, state, terms, vote } from "./words.js";

const kShownApart = new Set(["salt", "approval", "arguments", "asks", "changed", "claimed", "created", "definition", "difference", "effect",
  "expires", "grants", "heading", "idempotencyKey", "identity", "last", "operation", "principal", "rules", "says", "scope", "server", "tool", "unknowns", "forwarded"]);

const section = (title, ...content) => make("section", {}, make("h2", {}, title), content);

export function chips(ask, view) {
  const holds = (view.effect && view.effect.effective) || {};
  const chip = (text, kind) => make("span", { className: "chip" + (kind ? " " + kind : "") }, text);
  return make("div", { className: "chips" },
    ask.state !== "pending" ? chip(...state(ask.state)) : "",
    chip(holds.category || "unrated", holds.category === "unrated" || !holds.category ? "warn" : ""),
    holds.destructive ? chip("destructive", "bad") : "",
    (holds.labels || []).map((label) => chip(label, label === "money" || label === "credentials" ? "bad" : "")),
    view.definition && view.definition !== "accepted" ? chip("definition " + view.definition, "bad") : "");
}

function unknownsSection(list, maySettle) {
  if (!list.length) return "";
  return section("Open unknowns in this scope",
    make("p", { className: "note" }, "It is not known whether these took effect. Look before you let another one through."),
    list.map((one) => make("div", { className: "settle" },
      make("div", {}, make("a", { href: "#/operations/" + one.operation }, one.operation), " · ", folded(one.summary || ""), " · ", when(one.created)),
      maySettle ? make("label", {}, "With your answer: ", make("select", { data: { settle: one.operation } },
        make("option", { value: "" }, "leave it unknown"), make("option", { value: "applied" }, "settle: it took effect"),
        make("option", { value: "none" }, "settle: it did not happen"))) : "")));
}

function besideSection(beside, inScope) {
  const unknowns = ((beside && beside.unknowns) || []).filter((one) => !inScope.has(one.id));
  const denials = (beside && beside.denials) || [];
  if (!unknowns.length && !denials.length) return "";
  return section("The same client, lately",
    make("ul", { className: "timeline" },
      denials.map((one) => make("li", {}, make("strong", {}, one.same ? "This very call was denied" : "Denied: "), one.same ? "" : one.server + "/" + one.tool, " by ", one.by, " ", when(one.at),
        one.reason ? [": ", folded(one.reason)] : "")),
      unknowns.map((one) => make("li", {}, make("strong", {}, "Unknown: "), make("a", { href: "#/operations/" + one.id }, one.summary || one.tool), " ", when(one.created)))));
}

export function renderAsk(ask, me, receipts) {
  const view = ask.view || {};
  const pending = ask.state === "pending";
  const operator = me.roles.includes("operator") && ask.principal !== me.id;
  const effect = view.effect || {};
  const parts = [];
  parts.push(make("header", {},
    make("a", { className: "back", href: "#/asks" }, "← All that waits"),
    make("h1", { id: "title" }, marked(says(ask))),
    make("p", { className: "sub" }, marked(ask.principal), " asks for ", marked(ask.tool), " of ", marked(ask.server), " · ", when(ask.created), pending ? [" · expires ", when(ask.expires)] : ""),
    chips(ask, view),
    pending && !ask.mayAnswer ? make("p", { className: "note" }, ask.votes.some((one) => one.by === me.id) ? "You have answered; it waits for others." : "This one is not yours to answer.") : "",
    !pending && (ask.reason || ask.endedBy) ? make("p", { className: "sub" }, ask.state, ask.endedBy ? " by " + ask.endedBy : "", ask.reason ? [": ", folded(ask.reason)] : "") : ""));
  parts.push(view.arguments
    ? section("Arguments", codeBlock(view.arguments, "Arguments"))
    : section("Arguments", make("p", { className: "hint" }, ask.withheld ? "Their values are for those who may answer this." : "They are no longer kept: the operation is closed. Receipts commit to them.")));
  if (view.forwarded) parts.push(section("Also sent to the server", rows(Object.entries(view.forwarded).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]))));
  if (view.last) {
    const which = make("p", { className: "hint" }, make("a", { href: "#/operations/" + view.last.operation }, view.last.operation), ", ", when(view.last.at));
    parts.push((view.difference || []).length
      ? section("What differs from the last call of this tool here", which, differences("Differences from the last call", view.difference))
      : view.difference ? section("The same arguments as the last call of this tool here", which) : "");
  }
  if ((view.changed || []).length) parts.push(section("The tool's definition has changed since it was accepted", differences("Changes of the definition", view.changed)));
  parts.push(unknownsSection(view.unknowns || [], pending && ask.mayAnswer && operator));
  parts.push(section("Why it asks", rows([
    ["rules", (view.rules || []).length ? view.rules.map((rule) => rule.id + " (" + rule.verdict + ")" + (rule.message ? ": " + rule.message : "")) : "none: the policy's default"],
    ["answered by", (view.asks || []).map((one, index) => terms(one, (ask.missing || [])[index], pending))],
    ["votes", (ask.votes || []).map(vote)],
    ["scope", view.scope || "the whole server"]])));
  parts.push(section("What the tool does", rows([
    ["effective", effective(effect)],
    ["assigned", effect.assigned ? effect.assigned + " (by the contract)" : "nothing: no contract speaks of it"],
    ["declared", declared(effect) + " (the server's own words)"],
    ["definition", view.definition]])));
  parts.push(besideSection(ask.beside, new Set((view.unknowns || []).map((one) => one.operation))));
  const others = Object.entries(view).filter(([name]) => !kShownApart.has(name)).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
  parts.push(make("details", {}, make("summary", {}, "Everything that this is bound to"), rows([
    ["approval", ask.id], ["operation", make("a", { href: "#/operations/" + ask.operation }, ask.operation)], ["server identity", view.identity || "not known"],
    ["client claims", view.claimed], ["key", view.idempotencyKey], ["asked", ask.created], ["expires", ask.expires], ...others, ["shown", ask.shown]])));
  if (receipts && receipts.length) parts.push(section("Receipts", receiptsTimeline(receipts)));
  return parts;
}

export function receiptsTimeline(receipts) {
  return make("ul", { className: "timeline" }, receipts.map((one) => {
    const said = (one.receipt && one.receipt.predicate) || {};
    const outcome = said.outcome ? said.outcome.value + " (" + said.outcome.basis + ")" : "";
    const words = [said.decision && said.decision.verdict, outcome, said.approval && said.approval.form, said.approval && said.approval.state, said.event && said.event.action].filter(Boolean).join(" · ");
    return make("li", {}, make("strong", {}, one.kind), " ", words, " · ", when(one.time),
      make("details", {}, make("summary", {}, one.id), codeBlock(JSON.stringify(said, null, 2).split("\n"), "Receipt " + one.id)));
  }));
}
