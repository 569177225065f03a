// Everything that is no waiting ask: history, operations, receipts, grants, servers and tools, stops.
import { api, query } from "./api.js";
import { cell, codeBlock, folded, make, marked, rows, table, when } from "./dom.js";
import { receiptsTimeline } from "./ask_page.js";
import { declared, effective, outcome, says, state } from "./words.js";

const kMost = 200;

const head = (title, ...tools) => make("div", { className: "head" }, make("h1", { id: "title", tabIndex: -1 }, title), make("div", { className: "tools" }, tools));
const empty = (strong, text) => make("div", { className: "empty card" }, make("strong", {}, strong), text);

function choose(label, name, value, options, go) {
  const select = make("select", { "aria-label": label, on: { change: () => go({ [name]: select.value }) } },
    options.map(([key, text]) => make("option", { value: key, selected: key === value }, text)));
  return select;
}

export async function history(parameters, go) {
  const wanted = parameters.get("state") || "";
  const { approvals } = await api("GET", query("approvals", { state: wanted, limit: String(kMost) }));
  const states = ["", "pending", "approved", "consumed", "denied", "expired", "cancelled", "invalidated", "revoked"];
  const answered = approvals.filter((ask) => wanted || ask.state !== "pending");
  return [head("History", choose("state", "state", wanted, states.map((one) => [one, one ? state(one)[0] : "all that ended"]), go)),
    answered.length ? make("div", { className: "card" }, table("Asks", ["Call", "From", "State", "By", "When", "Reason"], answered.map((ask) => make("tr", {},
      make("td", {}, make("a", { href: "#/asks/" + ask.id }, marked(says(ask)))), cell(ask.principal), cell(make("span", { className: "chip " + state(ask.state)[1] }, state(ask.state)[0])),
      cell(ask.endedBy || (ask.votes || []).map((one) => one.by).join(", ")), cell(when(ask.ended || ask.created)), cell(ask.reason || ""))))) : empty("Nothing yet", "What was asked and answered stands here.")];
}

export async function operations(parameters, go) {
  const state = parameters.get("state") || "";
  const answer = await api("GET", query("operations", { state, limit: String(kMost) }));
  return [head("Operations", choose("state", "state", state, [["", "all"], ["open", "open"], ["unknown", "unknown"]], go)),
    answer.operations.length ? make("div", { className: "card" }, table("Operations", ["What", "Client", "Tool", "Outcome", "When"], answer.operations.map((one) => make("tr", {},
      make("td", {}, make("a", { href: "#/operations/" + one.id }, marked(one.summary || one.id))), cell(one.principal), cell((one.server || "") + "/" + (one.tool || "")),
      cell(one.state === "refused" ? "refused" : outcome(one.outcome) + (one.state === "applied" || one.state === "failed" ? "" : " (" + one.state + ")")), cell(when(one.updated || one.created)))))) : empty("No operations", "Calls of clients stand here.")];
}

export async function operation(id, me, act) {
  const one = await api("GET", "operations/" + id);
  const unknown = one.state === "unknown" || one.state === "reconciling";
  const parts = [make("a", { href: "#/operations" }, "← Operations"), make("div", { className: "card page" },
    make("header", {}, make("h1", { id: "title", tabIndex: -1 }, marked(one.summary || one.tool || id)), make("p", { className: "sub" }, marked(one.principal), " · ", marked((one.server || "") + "/" + (one.tool || "")), " · ", when(one.created))),
    make("section", {}, rows([["state", one.state], ["outcome", outcome(one.outcome)], ["because", one.basis], ["reason", one.reason], ["effect", one.effect], ["scope", one.scope],
      ["key", one.idempotencyKey], ["attempts", one.attempts ? String(one.attempts) : ""], ["approval", one.approval ? make("a", { href: "#/asks/" + one.approval }, one.approval) : ""], ["run", one.run], ["id", one.id]])),
    unknown && me.roles.includes("operator") && one.principal !== me.id ? settleForm(one, act) : "",
    make("section", {}, make("h2", {}, "Receipts"), receiptsTimeline(one.receipts || [])))];
  return parts;
}

function settleForm(one, act) {
  const reason = make("input", { id: "why", type: "text", required: true, maxLength: 2000, autocomplete: "off" });
  const send = (result) => (event) => {
    event.preventDefault();
    if (!reason.value.trim()) return reason.focus();
    act(() => api("POST", "operations/" + one.id + "/resolve", { outcome: result, reason: reason.value.trim() }), one.id + " is settled.");
  };
  return make("section", {}, make("h2", {}, "Settle it"), make("div", { className: "grow" }, make("label", { htmlFor: "why" }, "How do you know?"), reason),
    make("div", { className: "buttons" }, make("button", { type: "button", on: { click: send("applied") } }, "It took effect"), make("button", { type: "button", on: { click: send("none") } }, "It did not happen")));
}

export async function receipts(parameters, go) {
  const kind = parameters.get("kind") || "";
  const verdict = parameters.get("verdict") || "";
  const answer = await api("GET", query("receipts", { kind, verdict, limit: String(kMost) }));
  const kinds = ["", "intent", "outcome", "call", "refusal", "repeat", "approval", "reconciliation", "definition", "policy", "stop", "start"];
  return [head("Receipts", choose("kind", "kind", kind, kinds.map((one) => [one, one || "every kind"]), go),
    choose("verdict", "verdict", verdict, [["", "every verdict"], ["allow", "allow"], ["ask", "ask"], ["deny", "deny"]], go)),
    make("div", { className: "card" }, table("Receipts", ["No.", "Kind", "Client", "Tool", "Verdict", "Outcome", "When"], answer.receipts.map((one) => {
      const said = one.receipt.predicate || {};
      return make("tr", {}, make("td", {}, make("a", { href: "#/receipts/" + one.id }, String(one.seq))), cell(one.kind), cell(said.principal || ""),
        cell(said.server ? said.server.id + "/" + (said.tool || "") : ""), cell(said.decision ? said.decision.verdict : ""), cell(said.outcome ? outcome(said.outcome.value) : ""), cell(when(one.time)));
    })))];
}

export async function receipt(id) {
  const one = await api("GET", "receipts/" + id);
  return [make("a", { href: "#/receipts" }, "← Receipts"), make("div", { className: "card page" }, make("header", {}, make("h1", { id: "title", tabIndex: -1 }, one.kind + " no. " + one.seq)),
    make("section", {}, make("h2", {}, "What was signed"), codeBlock(JSON.stringify(one.receipt, null, 2).split("\n"), "Statement")),
    make("details", {}, make("summary", {}, "Envelope (DSSE)"), codeBlock(JSON.stringify(one.envelope, null, 2).split("\n"), "Envelope")))];
}

export async function grants(parameters, go, me, act) {
  const state = parameters.get("state") || "";
  const answer = await api("GET", query("grants", { state }));
  const may = me.roles.includes("approver") || me.roles.includes("operator");
  return [head("Grants", choose("state", "state", state, [["", "in force"], ["all", "all"]], go)),
    answer.grants.length ? make("div", { className: "stack" }, answer.grants.map((one) => make("div", { className: "card page" },
      make("header", {}, make("h2", {}, marked(one.principal), " may call ", marked(one.tool), " of ", marked(one.server)),
        make("p", { className: "sub" }, one.state, " · ", one.run ? "for one run" : "until its time", " · expires ", when(one.expires), " · used ", String(one.used), one.uses ? " of " + one.uses : "", " · given by ", one.by)),
      make("section", {}, rows([["where", one.conditions || []], ["answers rule", one.rule], ["given with", one.approval ? make("a", { href: "#/asks/" + one.approval }, one.approval) : ""], ["ended", one.endedBy ? one.endedBy + (one.reason ? ": " + one.reason : "") : one.reason], ["id", one.id]]),
        may && one.state === "granted" ? make("p", {}, make("button", { type: "button", className: "no", on: { click: () => act(() => api("POST", "grants/" + one.id + "/revoke", { reason: "" }), one.id + " is revoked.") } }, "Revoke")) : "")))) : empty("No grants", "An approver can answer an ask for a run or until a time, where the rule allows it.")];
}

export async function servers(me, act) {
  const [status, tools, stops] = await Promise.all([api("GET", "status"), api("GET", "tools"), me.roles.some((role) => role !== "watcher") ? api("GET", "stops") : { stops: [] }]);
  const may = me.roles.includes("approver") || me.roles.includes("operator");
  const inForce = stops.stops.filter((one) => !one.lifted);
  return [head("Servers and tools", may ? stopForm(status, act) : ""),
    make("div", { className: "stack" },
      inForce.map((one) => make("div", { className: "note" }, make("strong", {}, "Stopped: "), one.kind === "all" ? "everything" : one.kind + " " + (one.value || "") + (one.tool ? "/" + one.tool : ""), " by ", one.by, ": ", folded(one.reason || ""), " ",
        me.roles.includes("operator") ? make("button", { type: "button", on: { click: () => act(() => api("POST", "stops/" + one.id + "/lift", { reason: "" }), "It runs again.") } }, "Lift") : "")),
      status.servers.map((server) => {
        const own = tools.tools.filter((tool) => tool.server === server.id);
        return make("section", { className: "card" }, make("h2", {}, marked(server.id), " ", make("span", { className: "chip" + (server.state === "down" || server.state === "set aside" ? " bad" : "") }, server.state)),
          server.reason ? make("p", { className: "note" }, folded(server.reason)) : "",
          notAccepted(server.id, own, tools.others.filter((one) => one.server === server.id)),
          own.length ? table("Tools of " + server.id, ["Tool", "State", "Effective", "Assigned", "Declared"], own.map((tool) => make("tr", {}, cell(tool.tool),
            cell([make("span", { className: "chip" + (tool.state === "accepted" ? "" : " warn") }, tool.state), tool.reason ? make("div", { className: "hint" }, folded(tool.reason, 160)) : ""]),
            cell(effective(tool.effect)), cell(tool.effect.assigned || "nothing"), cell(declared(tool.effect))))) : make("p", { className: "hint" }, "No tools are known."));
      }),
      make("p", { className: "hint" }, "Gateway ", status.version, " · log ", status.log, " · ", String(status.callsInFlight), " calls in flight · store ", status.storeHealthy ? "healthy" : "broken"))];
}

// Where something of a server is not as it was accepted: what, and the way to it.
function notAccepted(server, own, others) {
  const open = [...own, ...others].filter((one) => one.state !== "accepted");
  if (!open.length) return "";
  return make("p", { className: "hint" }, make("a", { href: "#/definitions?" + new URLSearchParams({ server }) }, open.length + " not accepted as they are now"),
    others.filter((one) => one.state === "changed" || one.state === "quarantined").map((one) => [" · ", one.kind, " ", marked(one.name || ""), ": ", one.state]));
}

function stopForm(status, act) {
  const what = make("select", { "aria-label": "what to stop" }, make("option", { value: "" }, "everything"), status.servers.map((server) => make("option", { value: server.id }, "server " + server.id)));
  const reason = make("input", { type: "text", placeholder: "why", "aria-label": "why it is stopped", maxLength: 2000 });
  return [what, reason, make("button", { type: "button", className: "no", on: { click: () => {
    if (!reason.value.trim()) return reason.focus();
    act(() => api("POST", "stops", what.value ? { kind: "server", value: what.value, reason: reason.value.trim() } : { kind: "all", reason: reason.value.trim() }), "Stopped: nothing new is sent.");
  } } }, "Stop")];
}
