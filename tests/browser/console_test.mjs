// The console as people use it: a call waits, appears, is answered by keyboard, and the agent is told.
import assert from "node:assert/strict";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, beforeEach, test } from "node:test";
import { closeBrowser, code, Gateway, kPeople, kTools, openConsole, until, words } from "./support.mjs";

let gateway;
const pages = [];
const open = async (...given) => {
  const page = await openConsole(gateway, ...given);
  pages.push(page);
  return page;
};
beforeEach(async () => { gateway = await new Gateway().start(); });
afterEach(async () => {
  const faults = pages.splice(0).flatMap((page) => page.faults);
  await closeBrowser();
  await gateway.close();
  assert.deepEqual(faults, []);
});
after(closeBrowser);

test("a call waits, appears, is approved by keyboard, and completes", async () => {
  const page = await open("dana");
  await page.getByText("All quiet").waitFor();
  const agent = await gateway.agent();
  const answer = agent.call("refund", { order: "7", amount: 40, note: "broken" });
  await page.getByRole("heading", { name: 'Refund 40 for order "7"' }).waitFor();
  assert.match(await page.title(), /^\(1\)/);
  assert.match(await page.locator("#page").innerText(), /Money leaves the house/);
  await page.keyboard.press("a");
  await page.keyboard.press("Enter");
  const result = await answer;
  assert.equal(words(result), "done: refund");
  assert.equal(code(result), undefined);
  await page.getByText("All quiet").waitFor();
  assert.deepEqual(gateway.calls(), [{ name: "refund", arguments: { order: "7", amount: 40, note: "broken" } }]);
});

test("a denial by keyboard with its reason reaches the model", async () => {
  const page = await open("dana");
  const agent = await gateway.agent();
  const answer = agent.call("refund", { order: "7", amount: 40 });
  await page.getByRole("heading", { name: /Refund 40/ }).waitFor();
  await page.keyboard.press("d");
  await page.keyboard.type("order 7 was never paid");
  await page.keyboard.press("Enter");
  const result = await answer;
  assert.equal(code(result), "APPROVAL_DENIED");
  assert.match(words(result), /order 7 was never paid/);
  const again = await agent.call("refund", { order: "7", amount: 40 });
  assert.equal(code(again), "APPROVAL_DENIED", "the denial holds for the run");
  assert.deepEqual(gateway.calls(), []);
});

test("of two approvers who answer at once one is first and the other is told", async () => {
  const [dana, kim] = [await open("dana"), await open("kim")];
  const answer = (await gateway.agent()).call("refund", { order: "7", amount: 40 });
  for (const page of [dana, kim]) {
    await page.getByRole("heading", { name: /Refund 40/ }).waitFor();
    await page.keyboard.press("a");
    await page.locator("#yes").waitFor();
  }
  await Promise.all([dana.keyboard.press("Enter"), kim.keyboard.press("Enter")]);
  await answer;
  for (const page of [dana, kim]) await page.locator("#message:not([hidden])").waitFor();
  const said = await Promise.all([dana, kim].map((page) => page.locator("#message").innerText()));
  assert.equal(said.filter((text) => /^Approved/.test(text)).length, 1, said.join(" | "));
  assert.equal(said.filter((text) => /already/.test(text)).length, 1, said.join(" | "));
  assert.equal(gateway.calls().length, 1);
});

test("a one-time code logs in once, and leaves the address", async () => {
  const made = (await gateway.api("dana", "POST", "/api/v1/login/code", {})).body;
  const page = await open(null, { at: "#code=" + made.code });
  await page.getByText("user:dana (approver, operator, auditor)").waitFor();
  assert.equal(new URL(page.url()).hash, "#/asks");
  const second = await open(null, { at: "#code=" + made.code });
  await second.getByText("This is neither a code nor a person's token.").waitFor();
  await page.reload();
  await page.locator("#login").waitFor();
  assert.deepEqual(await page.evaluate(() => [document.cookie, localStorage.length, sessionStorage.length]), ["", 0, 0]);
});

test("an agent's token and a wrong one open nothing, and guessing is locked out", async () => {
  const page = await open(null);
  for (const secret of ["token-of-the-agent-0123456789", "wrong"]) {
    await page.fill("#token", secret);
    await page.keyboard.press("Enter");
    await page.getByText("This is neither a code nor a person's token.").waitFor();
    assert.ok(await page.locator("#view").isHidden());
  }
  for (let i = 0; i < 12; i += 1) {
    await page.fill("#token", "ABCD-" + String(2000 + i));
    await page.keyboard.press("Enter");
    await page.locator("#message.bad").waitFor();
  }
  await page.getByText(/wait a minute/).waitFor();
  await page.fill("#token", kPeople.kim);
  await page.keyboard.press("Enter");
  await page.locator("#view:not([hidden])").waitFor();
});

test("what an auditor sees cannot be answered", async () => {
  const page = await open("ada");
  const agent = await gateway.agent();
  const answer = agent.call("refund", { order: "7", amount: 40 });
  await page.getByText("This one is not yours to answer.").waitFor();
  await page.getByText("Their values are for those who may answer this.").waitFor();
  assert.equal(await page.locator("#act").count(), 0);
  await page.keyboard.press("a");
  assert.equal(await page.locator("#act").count(), 0);
  const [ask] = await gateway.waiting();
  await gateway.api("dana", "POST", "/api/v1/approvals/" + ask.id + "/deny", { reason: "no" });
  assert.equal(code(await answer), "APPROVAL_DENIED");
});

test("an operator sees what changed of a definition and accepts exactly that; nobody else can", async () => {
  gateway.setTools(kTools.map((tool) => (tool.name === "refund" ? { ...tool, description: "Refunds an order\u202e twice." } : tool)));
  await gateway.stop();
  await gateway.start();
  const kim = await open("kim", { at: "#/definitions" });
  await kim.getByText("1 not accepted as they are now.").waitFor();
  assert.equal(await kim.locator("#accept").count(), 0, "an approver accepts no definitions");
  const page = await open("dana");
  await page.getByRole("link", { name: "Servers" }).click();
  await page.getByRole("link", { name: "1 not accepted as they are now" }).click();
  await page.getByRole("heading", { name: "tool refund" }).waitFor();
  assert.match(await page.locator("#view").innerText(), /2 of 3 accepted as they are/);
  const table = await page.getByRole("region", { name: "Changes of refund" }).innerText();
  assert.match(table, /Refunds an order\./);
  assert.match(table, /Refunds an order\\u\{202E\} twice\./);
  assert.match(await page.locator("#view").innerText(), /look: a text holds hidden characters/);
  await page.getByRole("link", { name: "tool refund" }).click();
  await page.getByRole("heading", { name: "Definitions: refund of shop" }).waitFor();
  await page.locator("#accept").click();
  await page.getByRole("button", { name: "Yes, exactly these" }).click();
  await page.getByText("Everything is accepted as it is.").waitFor();
  const lock = JSON.parse(readFileSync(join(gateway.folder, "trust.lock.json"), "utf8"));
  assert.equal(lock.servers.shop.tools.refund[0].by, "user:dana");
  assert.equal((await gateway.api("kim", "POST", "/api/v1/trust/accept", { digest: "sha256:" + "0".repeat(64) })).status, 403);
});

test("a page whose gateway goes away says so, and comes back by itself with what waits", async () => {
  const page = await open("dana");
  await page.getByText("All quiet").waitFor();
  const ports = gateway.ports;
  await gateway.stop();
  await page.locator("#live[data-off]").waitFor();
  await gateway.start(...ports);
  const answer = (await gateway.agent()).call("refund", { order: "8", amount: 1 });
  await page.getByRole("heading", { name: /Refund 1 for/ }).waitFor();
  await page.locator("#live:not([data-off])").waitFor();
  await page.keyboard.press("a");
  await page.keyboard.press("Enter");
  assert.equal(words(await answer), "done: refund");
});

test("what a person types is not taken away by what arrives meanwhile", async () => {
  const page = await open("dana");
  const agent = await gateway.agent();
  const first = agent.call("refund", { order: "1", amount: 1 });
  await page.getByRole("heading", { name: /Refund 1 for/ }).waitFor();
  await page.keyboard.press("d");
  await page.keyboard.type("not th");
  const second = agent.call("write_note", { path: "/notes/a", text: "x" });
  await page.getByText("Write the note").first().waitFor();
  await page.keyboard.type("is one");
  await page.keyboard.press("Enter");
  assert.match(words(await first), /not this one/);
  await page.getByRole("heading", { name: /Write the note/ }).waitFor();
  await page.keyboard.press("d");
  await page.keyboard.press("Enter");
  assert.equal(code(await second), "APPROVAL_DENIED");
});

test("similar calls are one group, of which some are approved and the rest stay", async () => {
  const page = await open("kim");
  const agent = await gateway.agent();
  const answers = [1, 2, 3, 4].map((n) => agent.call("write_note", { path: "/notes/" + n, text: "same" }));
  await page.getByRole("heading", { name: "4 similar calls of write_note" }).waitFor();
  const table = page.getByRole("region", { name: "What differs" });
  assert.match(await table.innerText(), /"\/notes\/3"/);
  assert.doesNotMatch(await table.locator("thead").innerText(), /text/, "what all share is no column");
  await table.getByLabel(/take Write the note "\/notes\/3"/).uncheck();
  await page.getByRole("button", { name: "Approve 3" }).click();
  await page.getByRole("button", { name: "Approve exactly these 3" }).click();
  await page.getByRole("heading", { name: /Write the note "\/notes\/3"/ }).waitFor();
  await until(() => gateway.calls().length === 3, "three calls");
  await page.keyboard.press("d");
  await page.keyboard.type("not three");
  await page.keyboard.press("Enter");
  const results = await Promise.all(answers);
  assert.deepEqual(results.map((one) => code(one)), [undefined, undefined, "APPROVAL_DENIED", undefined]);
  const receipts = (await gateway.api("dana", "GET", "/api/v1/receipts?kind=intent")).body.receipts;
  assert.equal(new Set(receipts.map((one) => one.receipt.predicate.approval.id)).size, 3, "each spent its own approval");
});

test("a group that somebody else dissolves gives way to what is left of it", async () => {
  const page = await open("kim");
  const agent = await gateway.agent();
  const answers = [1, 2].map((n) => agent.call("write_note", { path: "/notes/" + n, text: "same" }));
  await page.getByRole("heading", { name: "2 similar calls of write_note" }).waitFor();
  const deny = (one) => gateway.api("dana", "POST", "/api/v1/approvals/" + one.id + "/deny", { reason: "no" });
  const [first, second] = await gateway.waiting(2);
  await deny(first);
  await page.getByRole("heading", { name: /Write the note/ }).waitFor();
  await deny(second);
  await Promise.all(answers);
});

test("what joins a group under a person's hand is not ticked, and what they ticked off stays so", async () => {
  const page = await open("kim");
  const agent = await gateway.agent();
  const answers = [1, 2, 3].map((n) => agent.call("write_note", { path: "/notes/" + n, text: "same" }));
  await page.getByRole("heading", { name: "3 similar calls of write_note" }).waitFor();
  const table = page.getByRole("region", { name: "What differs" });
  await table.getByLabel(/take Write the note "\/notes\/2"/).uncheck();
  await page.locator("#reason").fill("not two");
  await page.getByRole("button", { name: "Approve 2" }).click();
  answers.push(agent.call("write_note", { path: "/notes/4", text: "same" }));
  await page.getByRole("heading", { name: "4 similar calls of write_note" }).waitFor();
  assert.equal(await table.getByLabel(/take Write the note "\/notes\/2"/).isChecked(), false);
  assert.equal(await table.getByLabel(/take Write the note "\/notes\/4"/).isChecked(), false);
  assert.equal(await page.locator("#reason").inputValue(), "not two");
  await page.getByRole("button", { name: "Approve 2" }).click();
  await page.getByRole("button", { name: "Approve exactly these 2" }).click();
  await until(() => gateway.calls().length === 2, "two calls");
  for (const one of await gateway.waiting(2)) await gateway.api("dana", "POST", "/api/v1/approvals/" + one.id + "/deny", { reason: "no" });
  assert.deepEqual((await Promise.all(answers)).map((one) => code(one)), [undefined, "APPROVAL_DENIED", undefined, "APPROVAL_DENIED"]);
});

test("the page that a person reads stays when somebody else answers it", async () => {
  const page = await open("dana");
  const agent = await gateway.agent();
  const first = agent.call("refund", { order: "1", amount: 1 });
  await page.getByRole("heading", { name: /Refund 1 for/ }).waitFor();
  const second = agent.call("write_note", { path: "/notes/2", text: "x" });
  await page.getByText(/Write the note/).first().waitFor();
  const [one] = (await gateway.waiting(2)).sort((a, b) => a.created.localeCompare(b.created));
  await gateway.api("kim", "POST", "/api/v1/approvals/" + one.id + "/deny", { reason: "seen by kim" });
  assert.equal(code(await first), "APPROVAL_DENIED");
  await page.locator("#page").getByText(/denied by user:kim/).waitFor();
  await page.keyboard.press("a");
  await page.keyboard.press("Enter");
  assert.equal(await page.getByRole("heading", { name: /Refund 1 for/ }).count(), 1, "no other page came under their hand");
  assert.equal((await gateway.waiting(1)).length, 1);
  await page.keyboard.press("j");
  await page.getByRole("heading", { name: /Write the note/ }).waitFor();
  await page.keyboard.press("d");
  await page.keyboard.press("Enter");
  assert.equal(code(await second), "APPROVAL_DENIED");
});

test("a person answers by tapping on a phone", async () => {
  const page = await open("dana", { width: 390, height: 844 });
  const agent = await gateway.agent();
  const first = agent.call("refund", { order: "1", amount: 1 });
  await page.getByRole("link", { name: /Refund 1 for/ }).click();
  await page.getByRole("button", { name: "Approve…" }).click();
  await page.getByRole("button", { name: "Approve exactly this" }).click();
  assert.equal(words(await first), "done: refund");
  await page.getByText("Nothing waits").waitFor();
  const second = agent.call("refund", { order: "2", amount: 2 });
  await page.getByRole("link", { name: /Refund 2 for/ }).click();
  await page.getByRole("button", { name: "Deny…" }).click();
  await page.getByLabel(/Why/).fill("from the train");
  await page.getByRole("button", { name: "Deny" }).click();
  assert.match(words(await second), /from the train/);
});

test("a grant for the run is given in words, answers the like, is listed and revoked", async () => {
  const page = await open("kim");
  const agent = await gateway.agent();
  const first = agent.call("write_note", { path: "/notes/a", text: "one" });
  await page.getByRole("heading", { name: /Write the note/ }).waitFor();
  await page.keyboard.press("a");
  await page.getByLabel("this run").check();
  await page.getByLabel("what text may be").selectOption("any");
  await page.getByLabel("what path may be").selectOption("within");
  assert.match(await page.locator("#words").innerText(), /`path` is a path within \/notes, `text` may be anything/);
  await page.locator("#yes").click();
  assert.equal(words(await first), "done: write_note");
  assert.equal(words(await agent.call("write_note", { path: "/notes/b", text: "two" })), "done: write_note");
  await page.getByRole("link", { name: "Grants" }).click();
  await page.getByText("`path` is a path within \"/notes\"").waitFor();
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByText("No grants").waitFor();
  const asked = agent.call("write_note", { path: "/notes/c", text: "three" });
  const [ask] = await gateway.waiting();
  await gateway.api("kim", "POST", "/api/v1/approvals/" + ask.id + "/deny", { reason: "enough" });
  assert.equal(code(await asked), "APPROVAL_DENIED");
  const used = (await gateway.api("dana", "GET", "/api/v1/receipts?kind=intent")).body.receipts[0].receipt.predicate.approval;
  assert.equal(used.form, "grant");
  assert.match(used.id, /^gr_/);
});

test("an operator settles an open unknown in the same act", async () => {
  const agent = await gateway.agent();
  assert.equal(code(await agent.call("vanish", {})), "OUTCOME_UNKNOWN");
  const page = await open("dana");
  const answer = agent.call("refund", { order: "7", amount: 2 });
  await page.getByRole("heading", { name: "Open unknowns in this scope" }).waitFor();
  await page.getByLabel("With your answer").selectOption("none");
  await page.keyboard.press("a");
  await page.fill("#reason", "the shop shows nothing");
  await page.keyboard.press("Enter");
  assert.equal(words(await answer), "done: refund");
  const left = (await gateway.api("dana", "GET", "/api/v1/operations?state=unknown")).body.operations;
  assert.deepEqual(left, []);
});

test("the difference from the last call and recent denials stand beside the ask", async () => {
  const agent = await gateway.agent();
  const first = agent.call("refund", { order: "7", amount: 2, note: "a" });
  let [ask] = await gateway.waiting();
  await gateway.api("dana", "POST", "/api/v1/approvals/" + ask.id + "/approve", { shown: ask.shown });
  await first;
  const second = agent.call("refund", { order: "9", amount: 9 });
  [ask] = await gateway.waiting();
  await gateway.api("dana", "POST", "/api/v1/approvals/" + ask.id + "/deny", { reason: "not that one" });
  await second;
  const page = await open("dana");
  const third = agent.call("refund", { order: "7", amount: 200, note: "a" });
  const table = page.getByRole("region", { name: "Differences from the last call" });
  assert.match((await table.innerText()).replace(/\s+/g, " "), /\/amount 2 200/);
  assert.match(await page.locator("#page").innerText(), /not that one/);
  await page.keyboard.press("d");
  await page.keyboard.press("Enter");
  await third;
  await page.getByRole("link", { name: "History" }).click();
  await page.getByRole("link", { name: /Refund 2 for/ }).click();
  await page.getByRole("heading", { name: "Receipts" }).waitFor();
  assert.match(await page.locator("#page").innerText(), /intent/);
});

test("changed rules stand above everything, and an operator puts exactly what is shown in force", async () => {
  const [dana, kim] = [await open("dana"), await open("kim")];
  await dana.getByText("All quiet").waitFor();
  assert.ok(await dana.locator("#rules").isHidden());
  const settings = JSON.parse(readFileSync(gateway.config, "utf8"));
  const write = (policy) => {  // as editors do
    writeFileSync(gateway.config + ".new", JSON.stringify({ ...settings, policy }), { mode: 0o600 });
    renameSync(gateway.config + ".new", gateway.config);
  };
  const odd = "<b>no</b>";
  write({ ...settings.policy, rules: [...settings.policy.rules.slice(1), { id: odd, deny: { server: "shop", tool: "vanish" } }] });
  for (const page of [dana, kim]) {
    await page.getByText("Changed rules wait for an operator").waitFor();
    const box = await page.locator("#rules").innerText();
    assert.match(box, /looser: the ask `refunds` is gone\./);
    assert.ok(box.includes("stricter: the deny `" + odd + "` is new."), box);
    assert.match(box, /taken as a whole/);
    assert.equal(await page.locator("#rules b").count(), 0, "what the file says is text");
  }
  assert.equal(await kim.locator("#rules button").count(), 0, "no operator");
  const before = (await gateway.api("dana", "GET", "/api/v1/policy")).body;
  await dana.getByRole("button", { name: "Put this in force" }).click();
  await dana.getByRole("button", { name: "Yes, exactly this" }).waitFor();
  assert.equal((await gateway.api("dana", "GET", "/api/v1/policy")).body.state, "waiting", "one click is not enough");
  await dana.getByRole("button", { name: "Yes, exactly this" }).click();
  await dana.getByText("These rules are in force now.").waitFor();
  for (const page of [dana, kim]) await page.locator("#rules").waitFor({ state: "hidden" });
  const now = (await gateway.api("dana", "GET", "/api/v1/policy")).body;
  assert.equal(now.state, "in_force");
  assert.notEqual(now.policy, before.policy);
  write({ ...settings.policy, rules: [{ id: "x", alow: {} }] });
  await kim.getByText("The files were changed and not taken.").waitFor();
  assert.match(await kim.locator("#rules").innerText(), /did you mean `allow`/);
  assert.equal(await dana.locator("#rules button").count(), 0, "nothing there to put in force");
});
