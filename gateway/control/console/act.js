// The bar under an ask: approve, deny, for how long, with which reason. What is sent names the digest of the page it
// stands under.
import { make, get } from "./dom.js";
import { exactly, parse, bare } from "./json_text.js";
import { condition } from "./words.js";

const radio = (name, value, label, checked, on) =>
  make("label", {}, make("input", { type: "radio", name, value, checked, on: { change: on } }), " ", label);

// What each argument may be in later calls; begins with exactly what is shown, and each step away from that is a choice.
function where(ask, changed) {
  const text = (ask.view.arguments || []).join("\n");
  const root = parse(text);
  const members = root && root.kind === "object" ? root.members : [];
  const choices = [];
  const grid = make("div", { className: "where" });
  for (const [literal, node] of members) {
    const name = bare(literal);
    const exact = exactly(node);
    const scalar = node.kind === "scalar" ? node.raw : "";
    const number = /^-?\d/.test(scalar);
    const path = /^"\/[^\\]*\/[^\\/]*"$/.test(scalar);
    const shown = scalar || (node.kind === "array" ? "a list of the values shown" : "what is shown");
    const choice = { literal, name, kind: exact === null ? "" : "exact", exact, text: shown };
    const bound = make("input", { type: "text", "aria-label": "bound of " + name, hidden: true, on: { input: () => {
      choice.text = bound.value.trim();
      changed();
    } } });
    const select = make("select", { "aria-label": "what " + name + " may be", on: { change: () => {
      choice.kind = select.value;
      bound.hidden = choice.kind !== "most" && choice.kind !== "within";
      bound.value = choice.kind === "most" ? scalar : choice.kind === "within" ? scalar.slice(1, scalar.lastIndexOf("/")) : "";
      choice.text = bound.hidden ? shown : bound.value;
      changed();
    } } });
    if (exact !== null) select.append(make("option", { value: "exact" }, node.kind === "array" ? "only the values shown" : "exactly as shown"));
    else select.append(make("option", { value: "" }, "choose…"));
    if (number) select.append(make("option", { value: "most" }, "at most …"));
    if (path) select.append(make("option", { value: "within" }, "a path within …"));
    select.append(make("option", { value: "any" }, "anything"));
    grid.append(make("div", {}, make("span", { className: "mono" }, name), select, bound));
    choices.push(choice);
  }
  return { grid, choices };
}

function conditionsText(choices) {
  const parts = choices.map(({ literal, kind, exact, text }) => {
    if (kind === "any") return literal + ":{}";
    if (kind === "most") return literal + ':{"maximum":' + (/^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text) ? text : '""') + "}";
    if (kind === "within") return literal + ':{"pathWithin":' + JSON.stringify(text) + "}";
    return literal + ":" + exact;
  });
  return "{" + parts.join(",") + "}";
}

// `send(verb, bodyText)` answers the ask. `unknowns`: what an operator may settle in the same act.
export function actBar(ask, { operator, send }) {
  const bar = make("form", { className: "act", id: "act", "aria-label": "Your answer" });
  let length = "once";
  let verb = "";

  const settle = () => [...get("view").querySelectorAll("select[data-settle]")]
    .filter((one) => one.value).map((one) => ({ operation: one.dataset.settle, outcome: one.value }));

  function buttons() {
    verb = "";
    bar.replaceChildren(make("div", { className: "buttons" },
      make("button", { type: "button", className: "yes", id: "approve", on: { click: () => approve() } }, "Approve…", make("kbd", {}, "a")),
      make("button", { type: "button", className: "no", id: "deny", on: { click: () => deny() } }, "Deny…", make("kbd", {}, "d")),
      make("span", { className: "hint" }, make("kbd", {}, "j"), make("kbd", {}, "k"), " next, previous")));
  }

  function approve() {
    verb = "approve";
    const offer = ask.view.grants;
    const words = make("p", { className: "hint", id: "words" });
    const { grid, choices } = where(ask, () => tell());
    const until = make("input", { type: "datetime-local", "aria-label": "until", on: { input: () => tell() } });
    const uses = make("input", { type: "number", min: 1, max: 1000000, placeholder: "no bound", "aria-label": "most uses" });
    const grant = make("div", { className: "grant", hidden: true }, make("p", {}, "Later calls are answered for you where:"), grid,
      make("div", { className: "row" }, make("label", {}, "at most ", uses, " times"), make("label", { id: "until", hidden: true }, "until ", until)), words);
    const yes = make("button", { type: "submit", className: "yes", id: "yes" }, "Approve exactly this", make("kbd", {}, "Enter"));
    function tell() {
      grant.hidden = length === "once";
      grant.querySelector("#until").hidden = length !== "until";
      yes.firstChild.textContent = length === "once" ? "Approve exactly this" : "Approve this, and later calls like it";
      const lines = [...choices.map((one) => condition([one.name, one.kind, one.text])),
        ...((offer && offer.meta) || []).map((name) => "`_meta` may hold `" + name + "` with any value")];
      const unsaid = choices.filter((one) => one.kind === "" || ((one.kind === "most" || one.kind === "within") && !one.text));
      yes.disabled = length !== "once" && (unsaid.length > 0 || (length === "until" && !until.value));
      words.textContent = "Grant: " + ask.principal + " may call " + ask.tool + " of " + ask.server + (length === "run" ? " in this run" : "") +
        " where " + (lines.length ? lines.join(", ") : "it has no arguments") + ". It answers only the rule " + (offer ? offer.rules.map((one) => one.id).join(", ") : "") + ".";
    }
    const pick = (event) => { length = event.target.value; tell(); };
    length = "once";
    bar.replaceChildren(
      offer ? make("fieldset", { className: "row" }, make("legend", {}, "For how long"), radio("length", "once", "once", true, pick),
        radio("length", "run", "this run", false, pick), radio("length", "until", "until …", false, pick)) : "",
      grant, reasonField("Reason (goes into the receipt; may be empty)"),
      make("div", { className: "buttons" }, yes, cancelButton()));
    bar.payload = () => {
      const body = JSON.stringify({ shown: ask.shown, reason: get("reason").value.trim(), ...(settle().length ? { settle: settle() } : {}) });
      if (length === "once") return body;
      const members = [length === "run" ? '"run":true' : '"until":' + JSON.stringify(until.value ? new Date(until.value).toISOString() : "")];
      if (uses.value) members.push('"uses":' + Math.floor(Number(uses.value)));
      return body.slice(0, -1) + ',"grant":{' + members.join(",") + ',"arguments":' + conditionsText(choices) + "}}";
    };
    tell();
    yes.focus();
  }

  function deny() {
    verb = "deny";
    bar.replaceChildren(reasonField("Why? The model and the receipt get this."),
      make("div", { className: "buttons" }, make("button", { type: "submit", className: "no", id: "yes" }, "Deny", make("kbd", {}, "Enter")), cancelButton()));
    bar.payload = () => JSON.stringify({ reason: get("reason").value.trim(), ...(settle().length ? { settle: settle() } : {}) });
    get("reason").focus();
  }

  const reasonField = (label) => make("div", { className: "grow" }, make("label", { htmlFor: "reason" }, label),
    make("input", { id: "reason", type: "text", autocomplete: "off", maxLength: 2000 }));
  const cancelButton = () => make("button", { type: "button", on: { click: () => { buttons(); get("page").focus(); } } }, "Back", make("kbd", {}, "Esc"));

  bar.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!verb || bar.busy) return;
    if (operator && settle().length && !get("reason").value.trim()) {
      get("reason").focus();
      get("reason").setAttribute("aria-invalid", "true");
      return;
    }
    bar.busy = true;
    for (const button of bar.querySelectorAll("button")) button.disabled = true;
    await send(verb, bar.payload());
    bar.busy = false;
    buttons();
  });
  bar.begin = (what) => { if (!verb && !bar.busy) (what === "approve" ? approve : deny)(); };
  bar.back = () => { if (verb && !bar.busy) { buttons(); return true; } return false; };
  buttons();
  return bar;
}
