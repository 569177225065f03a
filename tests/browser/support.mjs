// A gateway as its own process, an agent over HTTP, and Debian's Chromium on the console. Nothing sleeps: tests wait for
// what they wait for.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const kProgram = process.env.SALLYPORT;
const kHere = fileURLToPath(new URL(".", import.meta.url));
export const kPictures = process.env.SALLYPORT_SCREENSHOTS || join(kHere, "../../build/screenshots");
const kLimit = 60_000;

export const kTools = [
  { name: "refund", description: "Refunds an order.", inputSchema: { type: "object", properties: { order: { type: "string" }, amount: { type: "number" }, note: { type: "string" } }, required: ["order", "amount"] } },
  { name: "write_note", description: "Writes a note.", inputSchema: { type: "object", properties: { path: { type: "string" }, text: { type: "string" } }, required: ["path", "text"] } },
  { name: "vanish", description: "Its answer never comes.", inputSchema: { type: "object" } },
];
const kTrust = { servers: { shop: { tools: {
  refund: { effect: "external", destructive: false, labels: ["money"], scope: "orders/{/order}", says: "Refund {/amount} for order {/order}" },
  write_note: { effect: "file", destructive: false, scope: "notes", says: "Write the note {/path}" },
  vanish: { effect: "record", destructive: false } } } } };
const kPolicy = { default: "ask", approval: { by: ["owners"] }, rules: [
  { id: "refunds", ask: { server: "shop", tool: "refund" }, message: "Money leaves the house: look at the order first." },
  { id: "notes", ask: { server: "shop", tool: "write_note" }, approval: { by: ["owners", "staff"], grants: true } },
  { id: "lost", allow: { server: "shop", tool: "vanish", effect: "record" } } ] };

const hash = (token) => createHash("sha256").update(token).digest("hex");
export const kPeople = { dana: "token-of-dana-0123456789", kim: "token-of-kim-0123456789", ada: "token-of-ada-0123456789" };
const kAgent = "token-of-the-agent-0123456789";

export async function until(condition, what) {
  for (const end = Date.now() + kLimit; Date.now() < end;) {
    const found = await condition();
    if (found) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error("waited in vain for " + what);
}

export class Gateway {
  constructor(options = {}) {
    this.folder = mkdtempSync(join(tmpdir(), "sp-browser-"));
    this.notes = join(this.folder, "notes");
    this.toolsFile = join(this.folder, "tools.json");
    this.config = join(this.folder, "sallyport.jsonc");
    this.options = options;
    writeFileSync(this.notes, "");
    this.setTools(options.tools || kTools);
    writeFileSync(this.config, JSON.stringify({
      mcpServers: { shop: { command: process.execPath, args: [join(kHere, "server.mjs"), this.toolsFile, this.notes] } },
      clients: [{ id: "agent:ci", tokenSha256: hash(kAgent), groups: ["agents"], owner: "user:dana", hold: "45s" }],
      people: [
        { id: "user:dana", tokenSha256: hash(kPeople.dana), roles: ["approver", "operator", "auditor"], groups: ["owners"] },
        { id: "user:kim", tokenSha256: hash(kPeople.kim), roles: ["approver"], groups: ["owners", "staff"] },
        { id: "user:ada", tokenSha256: hash(kPeople.ada), roles: ["auditor"], groups: [] }],
      trust: options.trust || kTrust, policy: options.policy || kPolicy, state: "state" }));
    const accepted = this.run("trust", "accept", "--yes");
    if (accepted.status !== 0) throw new Error(accepted.stderr);
  }

  setTools(tools) { writeFileSync(this.toolsFile, JSON.stringify(tools)); }
  run(...words) {
    return spawnSync(kProgram, [...words, "--config", this.config], { encoding: "utf8", timeout: kLimit, env: { ...process.env, ...this.env } });
  }

  async start(...ports) {
    const [port, control] = ports.length ? ports : ["0", "0"];
    this.said = "";
    this.child = spawn(kProgram, ["serve", "--config", this.config, "--port", port, "--control-port", control], { stdio: ["ignore", "ignore", "pipe"] });
    this.ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.stderr.on("data", (bytes) => { this.said += bytes; });
    const address = (what) => until(() => (this.said.match(new RegExp("sallyport: " + what + ": (http://[^/\\s]+)")) || [])[1], what + " in: " + this.said);
    this.clients = await address("clients");
    this.control = await address("people");
    this.ports = [this.clients, this.control].map((url) => new URL(url).port);
    return this;
  }

  async stop(signal = "SIGTERM") {
    if (!this.child) return;
    this.child.kill(signal);
    await this.ended;
    this.child = null;
  }
  async close() {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  calls() { return readFileSync(this.notes, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line)); }

  async api(person, method, path, body) {
    const response = await fetch(this.control + path, { method, headers: { Authorization: "Bearer " + kPeople[person], "Content-Type": "application/json" }, body: body && JSON.stringify(body) });
    return { status: response.status, body: await response.json() };
  }
  async waiting(many = 1) {
    const list = async () => (await this.api("dana", "GET", "/api/v1/approvals?state=pending")).body.approvals;
    return until(async () => { const found = await list(); return found.length === many && found; }, many + " asks that wait");
  }

  async agent() {
    const agent = new Agent(this);
    await agent.connect();
    return agent;
  }
}

// One session of the agent. call() gives a promise of the result.
export class Agent {
  constructor(gateway) { this.gateway = gateway; this.last = 0; this.headers = {}; }

  async post(message) {
    return fetch(this.gateway.clients + "/mcp", { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", ...message }), headers: {
      "Content-Type": "application/json", Accept: "application/json, text/event-stream", Authorization: "Bearer " + kAgent, ...this.headers } });
  }
  async connect() {
    const response = await this.post({ id: ++this.last, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "browser-test", version: "1" } } });
    await response.text();
    this.headers = { "Mcp-Session-Id": response.headers.get("mcp-session-id"), "MCP-Protocol-Version": "2025-11-25" };
    await (await this.post({ method: "notifications/initialized" })).text();
  }
  async call(name, args) {
    const id = ++this.last;
    const response = await this.post({ id, method: "tools/call", params: { name: "shop__" + name, arguments: args } });
    const text = await response.text();
    const messages = text.startsWith("{") ? [text] : text.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5));
    for (const message of messages.filter((one) => one.trim()).map((one) => JSON.parse(one))) if (message.id === id) return message.result || message.error;
    throw new Error("no answer: " + text);
  }
}

export const code = (result) => result._meta["dev.sallyport/call"].code;
export const words = (result) => result.content.map((one) => one.text).join("\n");

let browser = null;
export async function openBrowser() {
  const executablePath = ["/usr/bin/chromium", process.env.CHROMIUM].find((path) => path && existsSync(path));
  if (!executablePath) throw new Error("Chromium is missing: scripts/install.sh test");
  browser = browser || await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
  return browser;
}
export async function closeBrowser() { if (browser) await browser.close(); browser = null; }

// A console that `person` has logged in to. Every fault of the page, and every request that leaves it, fails the test.
export async function openConsole(gateway, person, { width = 1280, height = 900, colorScheme = "light", at = "" } = {}) {
  const context = await (await openBrowser()).newContext({ viewport: { width, height }, colorScheme, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(kLimit);
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error" && !/Failed to load resource|net::ERR/.test(message.text())) page.faults.push(message.text()); });
  page.on("request", (request) => { if (!request.url().startsWith(gateway.control)) page.faults.push("a request elsewhere: " + request.url()); });
  page.on("dialog", (dialog) => { page.faults.push("a dialog: " + dialog.message()); dialog.dismiss(); });
  await page.goto(gateway.control + "/" + at);
  if (person) {
    await page.fill("#token", kPeople[person]);
    await page.keyboard.press("Enter");
    await page.waitForSelector("#view:not([hidden])");
  }
  return page;
}

export async function picture(page, name) {
  mkdirSync(kPictures, { recursive: true });
  await page.screenshot({ path: join(kPictures, name + ".png"), fullPage: false });
}
