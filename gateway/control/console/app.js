// The console: who is there, what waits, and which page is shown. The address after # says which; the credential is in
// api.js alone.
import { api, isIn, listen, Refused, setToken } from "./api.js";
import { actBar } from "./act.js";
import { renderAsk } from "./ask_page.js";
import { definitions } from "./definitions.js";
import { get, make, marked, when } from "./dom.js";
import { groupsOf, renderGroup } from "./group.js";
import * as records from "./records.js";
import { showRules } from "./rules.js";
import { says } from "./words.js";

const kPages = [["asks", "Waiting"], ["history", "History"], ["operations", "Operations"], ["receipts", "Receipts"], ["grants", "Grants"], ["servers", "Servers"], ["definitions", "Definitions"]];

let me = null;
let asks = [];        // pending, the oldest first
let live = false;
let stopListening = null;
let shown = { key: "", bar: null };  // what stands on the page of asks: its id or group, with its digest
let turn = 0;         // of rendering: an older answer never overwrites a newer page
let sound = true;
let audio = null;

function say(text, bad) {
  get("message").textContent = text || "";
  get("message").hidden = !text;
  get("message").className = bad ? "bad" : "";
}

function failed(error) {
  if (error instanceof Refused && error.status === 401) leave("You are logged out: this credential is not known (any more).");
  else say(error.message, true);
}

// A soft double tone; made here, so that nothing is loaded.
function chime() {
  if (!sound) return;
  try {
    audio = audio || new AudioContext();
    for (const [delay, pitch] of [[0, 660], [0.13, 880]]) {
      const tone = audio.createOscillator();
      const gain = audio.createGain();
      tone.frequency.value = pitch;
      gain.gain.setValueAtTime(0.0001, audio.currentTime + delay);
      gain.gain.exponentialRampToValueAtTime(0.08, audio.currentTime + delay + 0.02);
      gain.gain.exponentialRampToValueAtTime(0.0001, audio.currentTime + delay + 0.35);
      tone.connect(gain).connect(audio.destination);
      tone.start(audio.currentTime + delay);
      tone.stop(audio.currentTime + delay + 0.4);
    }
  } catch {
    sound = false;
  }
}

function route() {
  const [path, text] = location.hash.replace(/^#\/?/, "").split("?");
  const [page, id] = path.split("/");
  return { page: kPages.some(([name]) => name === page) ? page : "asks", id: /^[A-Za-z0-9_]{1,64}$/.test(id || "") ? id : "", parameters: new URLSearchParams(text || "") };
}

function go(members) {
  const { page, parameters } = route();
  for (const [name, value] of Object.entries(members)) if (value) parameters.set(name, value); else parameters.delete(name);
  location.hash = "#/" + page + (parameters.size ? "?" + parameters : "");
}

function showNav(page) {
  get("nav").replaceChildren(...kPages.map(([name, title]) => make("a", { href: "#/" + name, "aria-current": name === page ? "page" : null },
    title, name === "asks" && asks.length ? " " + asks.length : "")));
  document.title = (asks.length ? "(" + asks.length + ") " : "") + "Sallyport";
}

function showLive(isLive) {
  live = isLive;
  get("live").textContent = isLive ? "Live" : "Not connected, trying again";
  get("live").toggleAttribute("data-off", !isLive);
}

async function refresh() {
  await showRules(me, act).catch(() => {});  // what waits matters more
  const before = new Set(asks.map((one) => one.id));
  const answer = await api("GET", "approvals?state=pending&limit=1000");
  asks = answer.approvals.sort((a, b) => String(a.created).localeCompare(String(b.created)) || a.id.localeCompare(b.id));
  const fresh = asks.filter((one) => !before.has(one.id) && one.mayAnswer);
  if (fresh.length) {
    chime();
    get("announce").textContent = fresh.length === 1 ? "New: " + says(fresh[0]) : fresh.length + " new asks";
  }
  showNav(route().page);
  if (route().page === "asks") await showAsks(fresh.map((one) => one.id));
}

function sideList(groups, current) {
  const entries = [];
  const grouped = new Set();
  for (const ask of asks) {
    const list = groups.get(ask.group);
    const inGroup = list && list.includes(ask);
    if (inGroup && grouped.has(ask.group)) continue;
    if (inGroup) grouped.add(ask.group);
    entries.push(inGroup ? { key: "g_" + ask.group, title: list.length + " × " + ask.tool + " of " + ask.server, ask } : { key: ask.id, title: says(ask), ask });
  }
  const list = make("ul", { className: "list" }, entries.map(({ key, title, ask }) => make("li", {},
    make("a", { href: "#/asks/" + key, "aria-current": key === current ? "true" : null, data: { id: key } }, make("strong", {}, marked(title)),
      make("small", {}, marked(ask.principal), " · ", marked(ask.server), " · ", when(ask.created), ask.mayAnswer ? "" : " · not yours")))));
  return { list, keys: entries.map(({ key }) => key) };
}

let order = [];
let picked = "";      // the page that was picked for a person, not by them

async function showAsks(fresh = []) {
  const mine = ++turn;
  const groups = groupsOf(asks);
  let { id } = route();
  const pick = (key) => {
    id = picked = key;
    history.replaceState(null, "", "#/asks/" + key);
  };
  const wide = matchMedia("(min-width: 56.01rem)").matches;
  const { keys } = sideList(groups, id);
  order = keys;
  // What was picked for a person stays what they look at, also when it ends or others come before it.
  // Only into a group that has formed around it does it go along, as long as no answer is begun.
  const one = asks.find((ask) => ask.id === id);
  if (one && id === picked && (groups.get(one.group) || []).includes(one) && !get("yes")) pick("g_" + one.group);
  if (id.startsWith("g_") && !groups.has(id.slice(2))) id = "";  // it has dissolved: on to what is left
  if (!id && wide && keys.length) pick(keys[0]);
  const { list } = sideList(groups, id);
  for (const link of list.querySelectorAll("a")) link.classList.toggle("fresh", fresh.includes(link.dataset.id));
  const side = make("aside", { className: "side", "aria-label": "Waiting" }, make("h1", {}, asks.length ? "Waiting for an answer" : "Nothing waits"), list);
  let frame = get("view").querySelector(".asks");
  if (!frame) {
    frame = make("div", { className: "asks" }, side, make("article", { className: "page card", id: "page", tabIndex: -1, "aria-labelledby": "title" }));
    get("view").replaceChildren(frame);
    shown = { key: "", bar: null };
  } else {
    frame.querySelector(".side").replaceWith(side);
  }
  frame.toggleAttribute("data-open", Boolean(route().id));
  await showOne(id, groups, mine);
}

const nothing = () => make("div", { className: "empty" }, make("strong", {}, asks.length ? "Pick one on the left" : "All quiet"), asks.length ? "" : "What waits for a person appears here by itself.");

async function showOne(id, groups, mine) {
  const page = get("page");
  const list = id.startsWith("g_") ? groups.get(id.slice(2)) : null;
  if (list) {
    const key = id + list.map((one) => one.shown).join();
    if (shown.key === key) return;
    const typing = shown.bar && shown.bar.contains(document.activeElement) ? document.activeElement.id : "";
    const { page: parts, bar } = renderGroup(list, answerAll, shown.id === id ? shown.bar : null);
    shown = { key, bar, id };
    page.replaceChildren(...parts.filter(Boolean), bar);
    if (typing && get(typing)) get(typing).focus();
    return;
  }
  const known = asks.find((one) => one.id === id);
  if (!id || id.startsWith("g_")) {
    shown = { key: "", bar: null };
    page.replaceChildren(nothing());
    return;
  }
  // The same page with the same votes stays as it is: what a person types or reads is not taken away.
  if (known && shown.key === id + known.shown + known.votes.length) return;
  const ask = await api("GET", "approvals/" + id).catch((error) => { if (error.status === 404) return null; throw error; });
  if (mine !== turn) return;
  if (!ask) {
    page.replaceChildren(make("div", { className: "empty" }, make("strong", {}, "There is no such ask"), ""));
    return;
  }
  const key = id + ask.shown + ask.votes.length + (ask.state === "pending" ? "" : ask.state);
  if (shown.key === key) return;
  const receipts = ask.state === "pending" ? [] : (await api("GET", "operations/" + ask.operation).catch(() => ({}))).receipts;
  if (mine !== turn) return;
  const parts = renderAsk(ask, me, receipts).filter(Boolean);
  const bar = ask.mayAnswer ? actBar(ask, { operator: me.roles.includes("operator"), send: (verb, body) => answer(ask, verb, body) }) : null;
  const moved = shown.key !== "" && !shown.key.startsWith(id);
  shown = { key, bar };
  page.replaceChildren(...parts, ...(bar ? [bar] : []));
  if (moved || route().id) page.focus({ preventScroll: true });
  if (moved) scrollTo(0, 0);
}

function afterAnswer(id) {
  const next = order[order.indexOf(id) + 1] || order[order.indexOf(id) - 1] || "";
  location.hash = "#/asks" + (next && matchMedia("(min-width: 56.01rem)").matches ? "/" + next : "");
}

async function answer(ask, verb, body) {
  try {
    const done = await api("POST", "approvals/" + ask.id + "/" + verb, body);
    const given = (done.grants || []).length ? " Grant " + done.grants.map((one) => one.id).join(", ") + " is in force." : "";
    say((done.state === "pending" ? "Your answer counts; it waits for more: " : done.state === "approved" ? "Approved: " : "Denied: ") + says(ask) + "." + given);
    if (done.state !== "pending") {
      asks = asks.filter((one) => one.id !== ask.id);  // the list that comes says the same, a moment later
      afterAnswer(ask.id);
    }
  } catch (error) {
    failed(error);
  }
  shown.key = "";
  await refresh().catch(failed);
}

async function answerAll(verb, body) {
  try {
    const done = await api("POST", "answers/" + verb, body);
    const bad = done.answered.filter((one) => one.error);
    const over = new Set(done.answered.filter((one) => one.state && one.state !== "pending").map((one) => one.id));
    asks = asks.filter((one) => !over.has(one.id));
    say(done.answered.length - bad.length + (verb === "approve" ? " approved" : " denied") + (bad.length ? "; " + bad.map((one) => one.id + ": " + one.error.message).join("; ") : "."), bad.length > 0);
  } catch (error) {
    failed(error);
  }
  shown.key = "";
  location.hash = "#/asks";
  await refresh().catch(failed);
}

// What is done on the other pages: said, and the page shown anew.
async function act(what, done) {
  try {
    await what();
    say(done);
  } catch (error) {
    failed(error);
  }
  await showRules(me, act).catch(() => {});
  await show();
}

async function show() {
  if (!isIn()) return;
  const { page, id, parameters } = route();
  showNav(page);
  try {
    if (page === "asks") {
      get("view").dataset.at = "";
      await showAsks();
      return;
    }
    const mine = ++turn;
    const parts = page === "history" ? await records.history(parameters, go)
      : page === "operations" ? await (id ? records.operation(id, me, act) : records.operations(parameters, go))
        : page === "receipts" ? await (id ? records.receipt(id) : records.receipts(parameters, go))
          : page === "grants" ? await records.grants(parameters, go, me, act)
            : page === "definitions" ? await definitions(parameters, me, act) : await records.servers(me, act);
    if (mine !== turn) return;
    shown = { key: "", bar: null };
    const before = get("view").dataset.at;
    get("view").dataset.at = page + id;
    get("view").replaceChildren(make("div", { className: "stack" }, parts));
    if (before !== page + id) {
      scrollTo(0, 0);
      if (get("title")) get("title").focus({ preventScroll: true });
    }
  } catch (error) {
    failed(error);
  }
}

async function enter(secret) {
  say("");
  try {
    if (/^[A-Za-z0-9]{4}[- ]?[A-Za-z0-9]{4}$/.test(secret)) {
      setToken("");
      setToken((await api("POST", "login", { code: secret })).token);
    } else {
      setToken(secret);
    }
    me = await api("GET", "me");
  } catch (error) {
    setToken("");
    say(error instanceof Refused && error.status === 401 ? "This is neither a code nor a person's token." : error.message, true);
    get("token").focus();
    return;
  }
  get("who").textContent = me.id + " (" + (me.roles.join(", ") || "no role") + ")";
  for (const name of ["nav", "me", "view"]) get(name).hidden = false;
  get("login").hidden = true;
  showLive(true);
  stopListening = listen(refresh, (isLive, error) => {
    showLive(isLive);
    if (error instanceof Refused && error.status === 401) failed(error);
  });
  await refresh().catch(failed);
  await show();
}

function leave(reason) {
  if (isIn() && !reason) api("POST", "logout", {}).catch(() => {});
  setToken("");
  if (stopListening) stopListening();
  me = null;
  asks = [];
  turn += 1;
  shown = { key: "", bar: null };
  get("view").replaceChildren();
  for (const name of ["nav", "me", "view", "rules"]) get(name).hidden = true;
  get("login").hidden = false;
  document.title = "Sallyport";
  say(reason || "", Boolean(reason));
  get("token").focus();
}

get("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  const secret = get("token").value.trim();
  get("token").value = "";
  enter(secret);
});
get("leave").addEventListener("click", () => leave());
get("sound").addEventListener("click", () => {
  sound = !sound;
  get("sound").textContent = sound ? "Sound on" : "Sound off";
  get("sound").setAttribute("aria-pressed", String(sound));
});
addEventListener("hashchange", () => { if (!takeCode()) show(); });

document.addEventListener("keydown", (event) => {
  if (!isIn() || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  if (event.key === "Escape" && shown.bar && shown.bar.back()) {
    get("page").focus();
    return;
  }
  if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement || route().page !== "asks") return;
  const at = order.indexOf(route().id || order[0]);
  if (event.key === "j" || event.key === "k") {
    const next = order[at + (event.key === "j" ? 1 : -1)];
    if (next) location.hash = "#/asks/" + next;
  } else if ((event.key === "a" || event.key === "d") && shown.bar) {
    event.preventDefault();  // the letter must not land in the field that is focused next
    if (live) shown.bar.begin(event.key === "a" ? "approve" : "deny");
    else say("Not connected: what is shown may be old.", true);
  }
});

// A link with a one-time code logs in; the code leaves the address at once.
function takeCode() {
  const found = location.hash.match(/^#code=([A-Za-z0-9-]{8,9})$/);
  if (!found) return false;
  history.replaceState(null, "", "/#/asks");
  enter(found[1]);
  return true;
}
if (!takeCode()) get("token").focus();
