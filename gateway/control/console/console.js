// The console: waiting asks, each on one page, answered by keyboard. Everything that is shown goes in by textContent; the
// token lives in this closure and nowhere else.
"use strict";
(() => {
  const get = (id) => document.getElementById(id);
  let token = "";
  let asks = [];       // as the API lists them, oldest first
  let selected = "";   // id
  let pending = null;  // {verb, id, shown}: what the question at the bottom is about
  let stream = null;   // AbortController of the event stream
  let busy = false;
  let waiting = "";    // digest of the rules that wait and are shown

  function say(text) {
    get("message").textContent = text;
    get("message").hidden = text === "";
  }

  class Refused extends Error {
    constructor(status, message) {
      super(message);
      this.status = status;
    }
  }

  async function api(method, path, body) {
    const headers = { Authorization: "Bearer " + token };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const response = await fetch("/api/v1/" + path, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store", credentials: "omit",
      redirect: "error",
    });
    const answer = await response.json().catch(() => ({}));
    if (response.ok) return answer;
    throw new Refused(response.status, answer.error ? answer.error.message : "status " + response.status);
  }

  function make(name, text, className) {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  }

  const words = (value) => (typeof value === "string" ? value : JSON.stringify(value));

  function effectWords(effect) {
    const holds = effect && effect.effective;
    if (!holds) return "";
    let out = holds.category + (holds.destructive ? ", destructive" : ", not destructive") + ", repeat " + holds.repeat;
    if (holds.labels && holds.labels.length) out += ", labels " + holds.labels.join(", ");
    return out;
  }

  function declaredWords(effect) {
    const declared = Object.entries((effect && effect.declared) || {});
    if (!declared.length) return "nothing";
    return declared.map(([name, value]) => (value ? "" : "not ") + name.replace(/Hint$/, "")).join(", ") + " (the server's own words)";
  }

  function says(ask) {
    const view = ask.view || {};
    if (view.says) return view.says;
    const category = view.effect && view.effect.effective ? view.effect.effective.category : "unrated";
    return ask.tool + " of " + ask.server + " (" + category + ")";
  }

  function termsWords(terms) {
    let out = terms.by && terms.by.length ? terms.by.join(", ") : "any approver";
    if (terms.quorum > 1) out += ", " + terms.quorum + " of them";
    if (terms.notOwner) out += ", not the client's owner";
    return out;
  }

  function row(into, label, value) {
    if (value === undefined || value === null || value === "") return;
    into.append(make("dt", label), make("dd", words(value)));
  }

  function differences(into, title, list) {
    if (!Array.isArray(list) || !list.length) return;
    into.append(make("h3", title));
    const lines = [];
    for (const one of list) {
      lines.push(one.pointer || "(the whole)");
      if ("before" in one) lines.push("  - " + words(one.before));
      if ("after" in one) lines.push("  + " + words(one.after));
    }
    into.append(make("pre", lines.join("\n")));
  }

  const shownApart = new Set(["salt", "approval", "arguments", "asks", "changed", "claimed", "created", "definition", "difference", "effect",
    "expires", "idempotencyKey", "identity", "operation", "principal", "rules", "says", "scope", "server", "tool", "unknowns"]);

  function showPage() {
    const page = get("page");
    page.replaceChildren();
    const ask = asks.find((one) => one.id === selected);
    if (!ask) return;
    const view = ask.view || {};
    page.append(make("h2", says(ask)));
    const list = make("dl");
    row(list, "server", ask.server);
    row(list, "identity", view.identity);
    row(list, "tool", ask.tool + (view.definition ? " (definition " + view.definition + ")" : ""));
    row(list, "from", ask.principal);
    row(list, "claims", view.claimed);
    row(list, "effect", effectWords(view.effect));
    row(list, "assigned", view.effect && view.effect.assigned ? view.effect.assigned + " (by the contract)" : "nothing: no contract speaks of it");
    row(list, "declared", declaredWords(view.effect));
    for (const rule of view.rules || []) row(list, "rule", rule.id + " (" + rule.verdict + ")" + (rule.message ? ": " + rule.message : ""));
    if (!(view.rules || []).length) row(list, "rule", "none: the policy's default");
    row(list, "scope", view.scope);
    row(list, "key", view.idempotencyKey);
    for (const terms of view.asks || []) row(list, "answered by", termsWords(terms));
    for (const vote of ask.votes || []) row(list, "vote", vote.by + " " + vote.vote + " at " + vote.at + (vote.reason ? ": " + vote.reason : ""));
    row(list, "operation", ask.operation);
    row(list, "asked", ask.created);
    row(list, "expires", ask.expires);
    for (const [name, value] of Object.entries(view)) if (!shownApart.has(name)) row(list, name, value);
    row(list, "shown", ask.shown);
    page.append(list, make("h3", "Arguments"), make("pre", (view.arguments || []).map(words).join("\n")));
    differences(page, "Differs from the last call of this tool here", view.difference);
    differences(page, "The definition has changed since it was accepted", view.changed);
    if ((view.unknowns || []).length) {
      page.append(make("h3", "Open unknowns here"));
      page.append(make("pre", view.unknowns.map((one) => one.operation + "  " + one.created + "  " + (one.summary || "")).join("\n")));
    }
    if (!ask.mayAnswer) page.append(make("p", "This one is not yours to answer.", "unsafe"));
  }

  function showList() {
    const list = get("asks");
    list.replaceChildren();
    for (const ask of asks) {
      const button = make("button", says(ask));
      button.type = "button";
      button.dataset.id = ask.id;
      button.setAttribute("aria-current", String(ask.id === selected));
      button.append(make("small", ask.principal + " · " + ask.server + "/" + ask.tool + (ask.mayAnswer ? "" : " · not yours")));
      button.addEventListener("click", () => select(ask.id));
      const item = make("li");
      item.append(button);
      list.append(item);
    }
    get("none").hidden = asks.length > 0;
    document.title = "Sallyport: " + asks.length + " waiting";
  }

  function select(id) {
    if (pending && pending.id !== id) closeQuestion();
    selected = id;
    showList();
    showPage();
  }

  // A file that may loosen waits for an operator; one with faults was not taken. Either way it stands above everything.
  async function showRules() {
    const rules = await api("GET", "policy");
    const shown = rules.waiting || { digest: "", looser: [], stricter: [] };
    if (shown.digest !== waiting) get("rules-yes").hidden = true;
    waiting = shown.digest;
    get("rules").hidden = rules.state === "in_force";
    get("rules-accept").hidden = !waiting;
    get("rules-say").textContent = rules.state === "refused"
      ? "The files were changed and not taken; what was in force stays. " + rules.refused
      : "The files were changed, and the change may loosen: it waits for an operator (since " + shown.since + ", by " + shown.by + ").";
    for (const name of ["looser", "stricter"]) {
      get("rules-" + name).replaceChildren(...shown[name].map((line) => make("li", name + ": " + line)));
    }
  }

  async function acceptRules() {
    const digest = waiting;
    get("rules-yes").hidden = true;
    try {
      await api("POST", "policy/accept", { digest });
      say("These rules are in force now.");
    } catch (error) {
      failed(error);
    }
    await showRules().catch(failed);
  }

  async function refresh() {
    await showRules();
    const answer = await api("GET", "approvals?state=pending&limit=1000");
    asks = answer.approvals.slice().sort((a, b) => String(a.created).localeCompare(String(b.created)));
    if (!asks.some((one) => one.id === selected)) {
      if (pending) say(pending.id + " is no longer waiting.");
      closeQuestion();
      selected = asks.length ? asks[0].id : "";
    }
    // What is asked about must be what stands there: another page under the question closes it.
    const present = asks.find((one) => one.id === selected);
    if (pending && present && present.shown !== pending.shown) closeQuestion();
    showList();
    showPage();
  }

  function ask(verb) {
    const one = asks.find((each) => each.id === selected);
    if (!one || !one.mayAnswer || busy) return;
    pending = { verb, id: one.id, shown: one.shown };
    get("question").textContent = (verb === "approve" ? "Approve exactly this: " : "Deny this: ") + says(one);
    get("yes").textContent = verb === "approve" ? "Approve (y)" : "Deny (Enter)";
    get("reason").value = "";
    get("reason-label").hidden = verb === "approve";
    get("act").hidden = false;
    if (verb === "approve") get("yes").focus();
    else get("reason").focus();
  }

  function closeQuestion() {
    pending = null;
    get("act").hidden = true;
  }

  async function answer() {
    if (!pending || busy) return;
    const { verb, id, shown } = pending;
    busy = true;
    try {
      const body = verb === "approve" ? { shown } : { reason: get("reason").value };
      const done = await api("POST", "approvals/" + id + "/" + verb, body);
      say(id + (done.state === "pending" ? " has your vote and waits for more." : " is " + done.state + "."));
    } catch (error) {
      failed(error);
    } finally {
      busy = false;
      closeQuestion();
    }
    await refresh().catch(failed);
  }

  function failed(error) {
    if (error instanceof Refused && error.status === 401) leave("This token is not known (any more).");
    else say(error.message);
  }

  async function listen() {
    while (token) {
      const mine = new AbortController();
      stream = mine;
      try {
        const response = await fetch("/api/v1/approvals/events", {
          headers: { Authorization: "Bearer " + token }, cache: "no-store", credentials: "omit", redirect: "error", signal: mine.signal,
        });
        if (!response.ok) throw new Refused(response.status, "the live view is refused: status " + response.status);
        get("live").textContent = "live";
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        let text = "";
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          text += value;
          const end = text.lastIndexOf("\n\n");
          if (end < 0) continue;
          const told = text.slice(0, end).includes("data:");  // `ready` too
          text = text.slice(end + 2);
          if (told) await refresh();
        }
      } catch (error) {
        if (mine.signal.aborted) return;
        if (error instanceof Refused) {
          failed(error);
          if (error.status === 401 || error.status === 403) return;
        }
      }
      get("live").textContent = "not live: trying again";
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }

  function leave(reason) {
    token = "";
    if (stream) stream.abort();
    stream = null;
    asks = [];
    selected = "";
    closeQuestion();
    get("work").hidden = true;
    get("rules").hidden = true;
    get("leave").hidden = true;
    get("enter").hidden = false;
    get("who").textContent = "";
    get("live").textContent = "";
    get("page").replaceChildren();
    get("asks").replaceChildren();
    document.title = "Sallyport: waiting asks";
    say(reason || "");
    get("token").focus();
  }

  get("enter").addEventListener("submit", async (event) => {
    event.preventDefault();
    token = get("token").value.trim();
    get("token").value = "";
    try {
      const me = await api("GET", "me");
      get("who").textContent = me.id + " (" + (me.roles.join(", ") || "no role") + ")";
      await refresh();
      get("enter").hidden = true;
      get("work").hidden = false;
      get("leave").hidden = false;
      say("");
      listen();
    } catch (error) {
      leave(error instanceof Refused && error.status === 401 ? "This token is not a person's." : error.message);
    }
  });
  get("leave").addEventListener("click", () => leave());
  get("no").addEventListener("click", closeQuestion);
  get("rules-accept").addEventListener("click", () => { get("rules-yes").hidden = false; });
  get("rules-yes").addEventListener("click", acceptRules);
  get("act").addEventListener("submit", (event) => {
    event.preventDefault();
    answer();
  });

  document.addEventListener("keydown", (event) => {
    if (get("work").hidden || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    if (event.key === "Escape") {
      closeQuestion();
      return;
    }
    if (event.target instanceof HTMLInputElement) return;
    if (pending) {
      if (pending.verb === "approve" && event.key === "y") answer();
      else if (event.key === "n") closeQuestion();
      return;
    }
    const at = asks.findIndex((one) => one.id === selected);
    if (event.key === "j" && at + 1 < asks.length) select(asks[at + 1].id);
    else if (event.key === "k" && at > 0) select(asks[at - 1].id);
    else if (event.key === "a" || event.key === "d") {
      event.preventDefault();  // the letter must not land in the field that is focused next
      ask(event.key === "a" ? "approve" : "deny");
    }
  });
})();
