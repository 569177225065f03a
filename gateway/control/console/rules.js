// Rules whose change may loosen wait for an operator; files with faults were not taken. Either stands above everything.
import { api } from "./api.js";
import { add, get, make, marked, when } from "./dom.js";

let shown = "";

export async function showRules(me, act) {
  const rules = await api("GET", "policy");
  const waiting = rules.waiting || { digest: "", looser: [], stricter: [] };
  const key = me.id + rules.state + waiting.digest + (rules.refused || "");
  get("rules").hidden = rules.state === "in_force";
  if (key === shown) return;
  shown = key;
  const lines = (name) => waiting[name].map((line) => make("li", {}, name + ": ", marked(line)));
  const parts = rules.state === "refused"
    ? [make("p", {}, make("strong", {}, "The files were changed and not taken. "), "What was in force stays: ", marked(rules.refused || ""))]
    : [make("p", {}, make("strong", {}, "Changed rules wait for an operator, "), "because they may loosen (", when(waiting.since), ", by ", marked(waiting.by || ""), ")."),
      make("ul", {}, lines("looser"), lines("stricter")),
      waiting.stricter.length ? make("p", {}, "The files are taken as a whole, so what is stricter waits too.") : ""];
  let sure = false;
  const button = make("button", { type: "button", on: { click: () => {
    if (!sure) {
      sure = true;
      button.textContent = "Yes, exactly this";
      return;
    }
    act(() => api("POST", "policy/accept", { digest: waiting.digest }), "These rules are in force now.");
  } } }, "Put this in force");
  get("rules").replaceChildren(...add(make("div"), [...parts, waiting.digest && me.roles.includes("operator") ? button : ""]).childNodes);
}
