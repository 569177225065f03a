// The first line of the official TypeScript SDK as a client: does the same at every URL, and says in a line what came back.
//   node client_v1.mjs ERA TOKEN URL…
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { visit } from './visit.mjs';

const [, , , token, ...urls] = process.argv;
for (const url of urls) {
  const client = new Client({ name: 'pairs', version: '1' }, { capabilities: { elicitation: { form: {} } } });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
  await visit(client, transport, {
    onAsk: (answer) => client.setRequestHandler(ElicitRequestSchema, answer),
    version: () => transport.protocolVersion,
    call: (name, given, options) => client.callTool({ name, arguments: given }, undefined, options),
  });
}
