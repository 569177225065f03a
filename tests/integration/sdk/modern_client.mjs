// Drives the second line of the official TypeScript SDK: each line of standard input says where to connect, in which era,
// and what to do; each line of standard output is what came back.
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

function transportOf(route) {
  if (route.url === undefined) {
    return new StdioClientTransport({ command: route.command, args: route.args, env: route.env, stderr: 'inherit' });
  }
  return new StreamableHTTPClientTransport(new URL(route.url), { requestInit: { headers: { Authorization: `Bearer ${route.token}` } } });
}

async function run(route) {
  const client = new Client({ name: 'integration', version: '2' },
    { versionNegotiation: { mode: route.mode }, capabilities: { elicitation: { form: {} } } });
  const asked = [];
  client.setRequestHandler('elicitation/create', async request => {
    asked.push(request.params.message);
    return { action: 'accept', content: { colour: 'red' } };
  });
  await client.connect(transportOf(route));
  const out = { version: client.getNegotiatedProtocolVersion?.(), server: client.getServerVersion?.()?.name, answers: [], asked };
  out.tools = (await client.listTools()).tools.map(tool => tool.name);
  for (const one of route.calls ?? []) {
    const progress = [];
    try {
      const result = await client.callTool({ name: one.tool, arguments: one.arguments ?? {} },
        one.progress ? { onprogress: ({ progress: value }) => progress.push(value) } : {});
      out.answers.push({ result, progress });
    } catch (error) {
      out.answers.push({ error: { code: error.code ?? null, message: error.message } });
    }
  }
  if (route.read) out.read = (await client.readResource({ uri: route.read })).contents;
  if (route.prompt) out.prompt = (await client.getPrompt(route.prompt)).messages;
  await client.close();
  return out;
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await run(JSON.parse(line)).catch(error => ({ broke: `${error.stack ?? error}` }));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
