// What servers say of themselves beside what was accepted, in the words of `sallyport trust diff`; an operator accepts here.
import { api, query } from "./api.js";
import { cell, codeBlock, folded, make, marked, rows, table } from "./dom.js";

const section = (title, ...content) => make("section", {}, make("h2", {}, title), content);
const title = (one) => [one.kind, ...(one.name ? [" ", marked(one.name)] : [])];
const link = (server, name, ...text) => make("a", { href: "#/definitions?" + new URLSearchParams(name ? { server, name } : { server }) }, text);

export const differences = (label, list) => table(label, ["Where", "Before", "Now"], list.map((one) =>
  make("tr", {}, cell(one.pointer || "the whole"), cell(one.before ?? "not there", "was"), cell(one.after ?? "not there", "now"))));

function open(server, one) {
  return make("div", { className: "card page" },
    make("header", {}, make("h2", {}, one.name ? link(server, one.name, title(one)) : title(one), " ", make("span", { className: "chip warn" }, one.state)),
      make("p", { className: "sub" }, one.digest || "without a digest")),
    one.reason ? make("p", { className: "note" }, folded(one.reason)) : "",
    (one.findings || []).map((found) => make("p", { className: "note" }, "look: ", folded(found))),
    one.state === "gone" ? make("p", { className: "note" }, "It was accepted and is not offered any more: accepting takes it out of the lock.") : "",
    (one.replaces || []).map((digest) => make("p", { className: "note" }, "Accepted beside it, and dropped with it unless you keep what is accepted already: ", digest)),
    (one.changes || []).length ? section("Changed since it was accepted", differences("Changes of " + (one.name || one.kind), one.changes)) : "",
    !(one.definition || []).length ? "" : make("details", { open: !(one.changes || []).length }, make("summary", {}, "As the server says now"), codeBlock(one.definition || [], "Definition of " + (one.name || one.kind))));
}

function serverCard(server) {
  const unsettled = server.definitions.filter((one) => !one.settled || (one.replaces || []).length);
  return [make("div", { className: "card page" },
    make("header", {}, make("h2", {}, link(server.id, "", marked(server.id)), " ", make("span", { className: "chip" + (unsettled.length || server.identityChanged ? " warn" : " good") },
      server.definitions.length - unsettled.length + " of " + server.definitions.length + " accepted as they are"))),
    server.identityChanged ? make("p", { className: "note" }, "The identity has changed: ", folded(server.identityChanged)) : "",
    server.accepted === false ? make("p", { className: "note" }, "Nothing of it was accepted yet.") : "",
    server.problem ? make("p", { className: "note" }, "problem: ", folded(server.problem)) : "",
    rows([["identity", server.identity], ["identity is not pinned to one version", server.unpinned]])),
  unsettled.map((one) => open(server.id, one))];
}

// Accepts exactly the review that stands above it.
function acceptBar(review, members, act) {
  const also = make("input", { type: "checkbox", id: "also" });
  let sure = false;
  const button = make("button", { type: "button", className: "yes", id: "accept", on: { click: () => {
    if (!sure) {
      sure = true;
      button.textContent = "Yes, exactly these";
      return;
    }
    button.disabled = true;
    act(() => api("POST", "trust/accept", { digest: review.digest, ...members, also: also.checked }), "Accepted.");
  } } }, "Accept these definitions");
  return make("div", { className: "card page" }, make("p", {}, make("label", {}, also, " keep what is accepted already (deploys, replicas)")), make("div", { className: "buttons" }, button));
}

export async function definitions(parameters, me, act) {
  const members = { server: parameters.get("server") || "", tool: parameters.get("name") || "" };
  const review = await api("GET", query("trust", members));
  const some = members.server || members.tool;
  return [make("div", { className: "head" }, make("h1", { id: "title", tabIndex: -1 }, "Definitions", members.tool ? [": ", marked(members.tool)] : "", members.server ? [" of ", marked(members.server)] : "")),
    some ? make("a", { href: "#/definitions" }, "← All definitions") : "",
    make("p", { className: "hint" }, review.open ? review.open + " not accepted as they are now." : "Everything is accepted as it is."),
    make("div", { className: "stack" }, review.servers.map(serverCard),
      review.open && me.roles.includes("operator") ? acceptBar(review, members, act) : "")];
}
