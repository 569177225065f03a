// Every page in both themes, wide and as on a phone: axe-core finds no serious fault, nothing runs over the side, and a
// picture is kept (SALLYPORT_SCREENSHOTS, else build/screenshots).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { closeBrowser, Gateway, openConsole, picture } from "./support.mjs";

const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
after(closeBrowser);

async function judge(page, name) {
  await picture(page, name);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(over <= 0, name + ": " + over + " pixels run over the side");
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: kAxe });
  const found = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations
    .filter((one) => one.impact === "serious" || one.impact === "critical").map((one) => one.id + ": " + one.nodes.map((node) => node.html).slice(0, 3).join(" ")));
  assert.deepEqual(found, [], name);
}

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1280, 390]) {
    const look = { colorScheme, width, height: width === 390 ? 844 : 900 };
    const name = (page) => [page, width, colorScheme].join("-");
    test("the pages " + colorScheme + " at " + width, async () => {
      const gateway = await new Gateway().start();
      try {
        const door = await openConsole(gateway, null, look);
        await judge(door, name("login"));
        const page = await openConsole(gateway, "dana", look);
        await page.locator("aside").getByText("Nothing waits").waitFor();
        await judge(page, name("quiet"));
        const agent = await gateway.agent();
        const first = agent.call("refund", { order: "A-1041", amount: 12.5, note: "Arrived broken" });
        const [early] = await gateway.waiting();
        await gateway.api("dana", "POST", "/api/v1/approvals/" + early.id + "/approve", { shown: early.shown });
        await first;
        const waiting = [agent.call("refund", { order: "A-1041", amount: 480, note: "Customer\u202e says: " + "please ".repeat(150) }),
          ...[1, 2, 3, 4, 5].map((n) => agent.call("write_note", { path: "/srv/notes/2026-11-" + (20 + n), text: "Shift report " + n })),
          agent.call("write_note", { path: "/srv/notes/summary", text: "All five shifts were quiet." })];
        const asks = await gateway.waiting(7);
        const refund = asks.find((one) => one.tool === "refund");
        await page.locator('a[data-id="' + refund.id + '"]').waitFor();
        if (width === 390) await judge(page, name("list"));
        await page.locator('a[data-id="' + refund.id + '"]').click();
        await page.getByRole("heading", { name: /Refund 480/ }).waitFor();
        await judge(page, name("ask"));
        await page.keyboard.press("End");
        await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
        await picture(page, name("ask-end"));
        await page.keyboard.press("d");
        await page.locator("#reason").waitFor();
        await judge(page, name("deny"));
        await page.keyboard.press("Escape");
        const single = asks.find((one) => one.tool === "write_note");
        await page.evaluate((id) => { location.hash = "#/asks/" + id; }, single.id);
        await page.getByRole("heading", { name: /Write the note/ }).waitFor();
        await page.keyboard.press("a");
        await page.getByLabel("this run").check();
        await judge(page, name("grant"));
        await page.keyboard.press("Escape");
        await page.evaluate((id) => { location.hash = "#/asks/" + id; }, "g_" + single.group);
        await page.getByRole("heading", { name: "6 similar calls of write_note" }).waitFor();
        await judge(page, name("group"));
        for (const one of await gateway.waiting(7)) await gateway.api("dana", "POST", "/api/v1/approvals/" + one.id + "/deny", { reason: "That order is closed." });
        await Promise.all(waiting);
        await agent.call("vanish", {});
        const late = agent.call("refund", { order: "A-1042", amount: 20 });
        const [unsure] = await gateway.waiting();
        await page.evaluate((id) => { location.hash = "#/asks/" + id; }, unsure.id);
        await page.getByRole("heading", { name: /Refund 20/ }).waitFor();
        await page.getByText("It is not known whether these took effect").waitFor();
        await judge(page, name("unknown"));
        await gateway.api("dana", "POST", "/api/v1/approvals/" + unsure.id + "/deny", { reason: "Look at the lost one first." });
        await late;
        for (const [hash, heading] of [["history", "History"], ["operations", "Operations"], ["receipts", "Receipts"], ["grants", "Grants"], ["servers", "Servers and tools"], ["definitions", "Definitions"]]) {
          await page.evaluate((to) => { location.hash = "#/" + to; }, hash);
          await page.getByRole("heading", { name: heading, exact: true }).waitFor();
          await judge(page, name(hash));
        }
        await page.evaluate((to) => { location.hash = "#/operations/" + to; }, refund.operation);
        await page.getByRole("heading", { name: "Receipts" }).waitFor();
        await judge(page, name("operation"));
        assert.deepEqual([...door.faults, ...page.faults], []);
      } finally {
        await closeBrowser();
        await gateway.close();
      }
    });
  }
}
