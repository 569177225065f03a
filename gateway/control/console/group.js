// Similar asks of one client as one group: what they share once, what differs in a table. Answered all, some or none;
// each is bound and receipted alone.
import { cell, codeBlock, get, make, marked, table, when } from "./dom.js";
import { leaves, parse } from "./json_text.js";
import { chips } from "./ask_page.js";
import { says, terms } from "./words.js";

// What is shown in a row of one ask: [path, text]; null: it cannot be taken apart, so it is opened alone.
function row(ask) {
  const node = parse(ask.view.arguments.join("\n"));
  if (!node) return null;
  const beside = Object.entries(ask.view.forwarded || {}).map(([name, value]) => ["beside: " + name, typeof value === "string" ? value : JSON.stringify(value)]);
  return new Map([...leaves(node), ...beside, ...(ask.view.idempotencyKey ? [["beside: key", ask.view.idempotencyKey]] : [])]);
}

// Those that can be shown in a row. What has more to look at (unknowns, a changed definition, long arguments) is opened.
export const groupable = (ask) => ask.mayAnswer && ask.view && ask.view.arguments && !(ask.view.unknowns || []).length &&
  !(ask.view.changed || []).length && !ask.view.method && row(ask) !== null;

export function groupsOf(asks) {
  const groups = new Map();
  for (const ask of asks) {
    if (!groupable(ask)) continue;
    if (!groups.has(ask.group)) groups.set(ask.group, []);
    groups.get(ask.group).push(ask);
  }
  for (const [key, list] of groups) if (list.length < 2) groups.delete(key);
  return groups;
}

// `before`: the bar of the same group as it was until now. What a person ticked off or wrote there stays, and what has
// come since is not ticked: nobody says yes to what arrived under their hand.
export function renderGroup(list, send, before) {
  const first = list[0];
  const flat = list.map(row);
  const kept = before && before.state ? before.state() : null;
  const isNew = (ask) => Boolean(kept) && !kept.ticks.has(ask.id);
  const names = [...new Set(flat.flatMap((one) => [...one.keys()]))];
  const same = names.filter((name) => flat.every((one) => one.get(name) === flat[0].get(name)));
  const differ = names.filter((name) => !same.includes(name));
  const scopes = new Set(list.map((ask) => ask.view.scope)).size;
  const boxes = list.map((ask) => make("input", { type: "checkbox", checked: kept ? kept.ticks.get(ask.id) === true : true, "aria-label": "take " + says(ask), value: ask.id }));
  const all = make("input", { type: "checkbox", checked: boxes.every((box) => box.checked), "aria-label": "take all", on: { change: () => { for (const box of boxes) box.checked = all.checked; count(); } } });
  const reason = make("input", { id: "reason", type: "text", autocomplete: "off", maxLength: 2000, value: kept ? kept.reason : "" });
  const taken = () => list.filter((ask, index) => boxes[index].checked);
  const yes = make("button", { type: "button", className: "yes", id: "approve", on: { click: () => go("approve") } });
  const no = make("button", { type: "button", className: "no", id: "deny", on: { click: () => go("deny") } });
  let sure = "";
  function count() {
    sure = "";
    const many = taken().length;
    all.checked = many === list.length;
    yes.textContent = "Approve " + many;
    no.textContent = "Deny " + many;
    yes.disabled = no.disabled = many === 0;
  }
  // The first press says what is about to happen, the second does it.
  async function go(verb) {
    if (sure !== verb) {
      count();
      sure = verb;
      (verb === "approve" ? yes : no).textContent = (verb === "approve" ? "Approve exactly these " : "Deny these ") + taken().length + ": press again";
      return;
    }
    yes.disabled = no.disabled = true;
    const asks = taken().map(({ id, shown }) => (verb === "approve" ? { id, shown } : { id }));
    await send(verb, { asks, reason: reason.value.trim() });
  }
  for (const box of boxes) box.addEventListener("change", count);
  count();
  const body = list.map((ask, index) => make("tr", {}, make("td", {}, boxes[index]),
    cell([make("a", { href: "#/asks/" + ask.id }, marked(says(ask))), make("div", { className: "sub" }, when(ask.created), isNew(ask) ? [" · ", make("strong", {}, "new")] : "")]),
    differ.map((name) => cell(flat[index].get(name) ?? "not there")), scopes > 1 ? cell(ask.view.scope || "the whole server") : []));
  const page = [
    make("header", {}, make("a", { className: "back", href: "#/asks" }, "← All that waits"),
      make("h1", { id: "title" }, list.length + " similar calls of ", marked(first.tool)),
      make("p", { className: "sub" }, marked(first.principal), " asks for ", marked(first.tool), " of ", marked(first.server), ". Answered by ", (first.view.asks || []).map((one) => terms(one)).join("; "), "."),
      make("p", { className: "sub" }, "Rule: ", (first.view.rules || []).length ? first.view.rules.map((rule, index) => [index ? "; " : "", rule.id, rule.message ? [": ", marked(rule.message)] : ""]) : "the policy's default"),
      chips(first, first.view)),
    make("section", {}, make("h2", {}, "What differs"), table("What differs", [all, "Call", ...differ, ...(scopes > 1 ? ["Scope"] : [])], body)),
    same.length || scopes === 1 ? make("section", {}, make("h2", {}, "What all of them share"),
      same.length ? codeBlock(same.map((name) => name + ": " + flat[0].get(name)), "Shared arguments") : "",
      scopes === 1 ? make("p", { className: "sub" }, "Scope: ", marked(first.view.scope || "the whole server")) : "") : "",
  ];
  const bar = make("div", { className: "act", id: "act", role: "group", "aria-label": "Your answer" },
    make("div", { className: "grow" }, make("label", { htmlFor: "reason" }, "Reason (a denial's goes to the model)"), reason),
    make("div", { className: "buttons" }, yes, no));
  bar.state = () => ({ ticks: new Map(list.map((ask, index) => [ask.id, boxes[index].checked])), reason: reason.value });
  bar.begin = (verb) => go(verb);
  bar.back = () => { count(); get("page").focus(); return true; };
  return { page, bar };
}
