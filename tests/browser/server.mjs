// A stdio MCP server for the browser tests. The tools come from a JSON file (argv 2) that is read again at each list, so
// that a test can change them; every call is noted in argv 3, one JSON line each, and answered.
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , toolsFile, notes] = process.argv;
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");

for await (const line of createInterface({ input: process.stdin })) {
  if (!line.trim()) continue;
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  if (method === "initialize") {
    send({ id, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "shop", version: "1" } } });
  } else if (method === "tools/list") {
    send({ id, result: { tools: JSON.parse(readFileSync(toolsFile, "utf8")) } });
  } else if (method === "tools/call") {
    appendFileSync(notes, JSON.stringify({ name: params.name, arguments: params.arguments }) + "\n");
    if (params.name === "vanish") process.exit(1);
    send({ id, result: { content: [{ type: "text", text: "done: " + params.name }] } });
  } else if (method === "ping") {
    send({ id, result: {} });
  } else {
    send({ id, error: { code: -32601, message: "no such method" } });
  }
}
