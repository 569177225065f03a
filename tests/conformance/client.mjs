// The client that the suite's client scenarios want to see, on the official SDK.
//   node client.mjs SCENARIO URL
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [, , scenario, url] = process.argv;
const client = new Client({ name: 'conformance-client', version: '1.0.0' },
  { capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} } });
client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: {} }));
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
const calls = {
  initialize: () => {},
  tools_call: () => client.callTool({ name: 'add_numbers', arguments: { a: 5, b: 3 } }),
  'elicitation-sep1034-client-defaults': () => client.callTool({ name: 'test_client_elicitation_defaults', arguments: {} }),
  'sse-retry': () => client.callTool({ name: 'test_reconnection', arguments: {} }),
  'json-schema-2020-12-preservation': () => {},
};
if (!calls[scenario]) throw new Error(`no such scenario: ${scenario}`);
const result = await calls[scenario]();
if (result?.isError) throw new Error(JSON.stringify(result));
console.error(`${scenario}: ${tools.length} tools, ${JSON.stringify(result ?? {}).slice(0, 300)}`);
await client.close();
