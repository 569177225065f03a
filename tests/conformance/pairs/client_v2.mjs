// The second line of the official TypeScript SDK as a client of either era: `modern` finds out what is spoken.
//   node client_v2.mjs ERA TOKEN URL…
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { visit } from './visit.mjs';

const [, , era, token, ...urls] = process.argv;
for (const url of urls) {
  const client = new Client({ name: 'pairs', version: '2' },
    { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : 'auto' }, capabilities: { elicitation: { form: {} } } });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
  await visit(client, transport, {
    onAsk: (answer) => client.setRequestHandler('elicitation/create', answer),
    version: () => client.getNegotiatedProtocolVersion(),
    call: (name, given, options) => client.callTool({ name, arguments: given }, options),
  });
}
