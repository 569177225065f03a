// Notices to chat rooms and programs: signed, repeated, without values, and leading to the console.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, test } from "node:test";
import { closeBrowser, code, Gateway, openConsole, until } from "./support.mjs";

after(closeBrowser);

// A receiver that refuses the first delivery of each kind once.
async function receiver() {
  const got = [];
  const refused = new Set();
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const first = !refused.has(request.url);
    refused.add(request.url);
    if (!first) got.push({ url: request.url, headers: request.headers, body });
    response.statusCode = first ? 503 : 200;
    response.end("ok");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { got, url: "http://127.0.0.1:" + server.address().port, close: () => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }) };
}

test("asks are told, signed and without values, repeated until they are taken, and the link leads to the ask", async () => {
  const room = await receiver();
  const gateway = new Gateway();
  try {
    const settings = JSON.parse(readFileSync(gateway.config, "utf8"));
    writeFileSync(join(gateway.folder, "secret"), "the-shared-secret\n", { mode: 0o600 });
    settings.notify = [{ url: room.url + "/json", secret: { file: "secret" } }, { url: room.url + "/slack", format: "slack" }, { url: room.url + "/teams", format: "teams" },
      { url: room.url + "/own", body: { card: { text: "{says} <{url}>", who: "{principal}" } }, answers: false }, { url: room.url + "/all", secret: { file: "secret" }, arguments: true }];
    writeFileSync(gateway.config, JSON.stringify(settings));
    await gateway.start();
    const agent = await gateway.agent();
    const answer = agent.call("refund", { order: "secret-order", amount: 40 });
    const [ask] = await gateway.waiting();
    const of = (path, id) => until(() => room.got.find((one) => one.url === path && (!id || one.headers["sallyport-delivery"] === id)), path);
    const json = await of("/json", ask.id + "/pending");
    const time = json.headers["sallyport-timestamp"];
    assert.equal(json.headers["sallyport-signature"], "v1=" + createHmac("sha256", "the-shared-secret").update("v1:" + time + ":" + json.body).digest("hex"));
    assert.ok(Math.abs(Date.now() / 1000 - Number(time)) < 300);
    const told = JSON.parse(json.body);
    assert.equal(told.event, "asked");
    assert.equal(told.says, "Refund … for order …");
    assert.equal(told.url, gateway.control + "/#/asks/" + ask.id);
    const slack = JSON.parse((await of("/slack")).body);
    assert.equal(slack.blocks[0].text.type, "plain_text");
    assert.match(slack.text, /An agent asks: Refund …/);
    const teams = JSON.parse((await of("/teams")).body);
    assert.equal(teams.attachments[0].content.actions[0].url, told.url);
    const own = JSON.parse((await of("/own")).body);
    assert.deepEqual(own, { card: { text: "Refund … for order … <" + told.url + ">", who: "agent:ci" } });
    assert.match((await of("/all")).body, /secret-order/);
    const page = await openConsole(gateway, "dana", { at: told.url.slice(gateway.control.length + 1) });
    await page.getByRole("heading", { name: /Refund 40/ }).waitFor();
    await page.keyboard.press("d");
    await page.keyboard.type("secret-order is closed");
    await page.keyboard.press("Enter");
    assert.equal(code(await answer), "APPROVAL_DENIED");
    const ended = JSON.parse((await of("/json", ask.id + "/denied")).body);
    assert.equal(ended.event, "changed");
    assert.equal(ended.title, "denied by user:dana: Refund … for order …");
    for (const one of room.got.filter((each) => each.url !== "/all")) assert.doesNotMatch(one.body, /secret-order/, one.url);
    assert.deepEqual(page.faults, []);
  } finally {
    await closeBrowser();
    await gateway.close();
    await room.close();
  }
});
