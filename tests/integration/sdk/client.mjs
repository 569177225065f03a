// Drives the official TypeScript SDK: each line of standard input is a route with the calls to make on it, each line of
// standard output is what came back. client.py is the same with the official Python SDK.
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';

function transportOf(route) {
  if (route.url === undefined) {
    return new StdioClientTransport({ command: route.command, args: route.args, env: route.env, stderr: 'inherit' });
  }
  const headers = route.token === undefined ? {} : { Authorization: `Bearer ${route.token}` };
  return new StreamableHTTPClientTransport(new URL(route.url), { requestInit: { headers } });
}

async function call(client, prefix, one) {
  const params = { name: prefix + one.tool, arguments: one.arguments };
  const notes = [];
  const options = one.progress ? { onprogress: ({ progress, total }) => notes.push([progress, total ?? null]) } : {};
  try {
    // callTool judges the result by the tool's outputSchema; it has no way to call a tool that must run as a task.
    const result = one.plain
      ? await client.request({ method: 'tools/call', params }, ResultSchema)
      : await client.callTool(params, undefined, options);
    return { result, progress: notes };
  } catch (error) {
    return { error: { code: error.code ?? null, message: error.message } };
  }
}

async function run(route) {
  const client = new Client({ name: 'integration', version: '1' });
  const transport = transportOf(route);
  const arrived = new Map();  // id -> the message as it came, before any schema of the SDK saw it
  transport.onmessage = message => { if (message.id !== undefined && message.result) arrived.set(message.id, message.result); };
  await client.connect(transport);
  const tools = [];
  for (let cursor; ;) {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    tools.push(...page.tools);
    cursor = page.nextCursor;
    if (cursor === undefined) break;
  }
  await client.ping();
  const answers = [];
  for (const one of route.calls) {
    const before = Math.max(-1, ...arrived.keys());
    const answer = await call(client, route.prefix, one);
    const last = Math.max(-1, ...arrived.keys());
    if (answer.result && last > before) answer.result = arrived.get(last);
    answers.push(answer);
  }
  if (transport.terminateSession) await transport.terminateSession();
  await client.close();
  return { tools, answers };
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await run(JSON.parse(line)).catch(error => ({ broke: `${error.stack ?? error}` }));
  process.stdout.write(JSON.stringify(answer) + '\n');
}
