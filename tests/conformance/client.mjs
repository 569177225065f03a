// The client that the suite's client scenarios want to see, on the official SDK.
//   node client.mjs SCENARIO URL
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [, , scenario, url] = process.argv;
const client = new Client({ name: 'conformance-client', version: '1.0.0' },
  { capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} } });
const confirmed = ({ params }) => (params.requestedSchema?.properties?.confirmed ? { confirmed: true } : {});
client.setRequestHandler(ElicitRequestSchema, (request) => ({ action: 'accept', content: confirmed(request) }));
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const call = (name, given = {}) => client.callTool({ name, arguments: given });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
const calls = {
  initialize: () => {},
  tools_call: () => client.callTool({ name: 'add_numbers', arguments: { a: 5, b: 3 } }),
  'elicitation-sep1034-client-defaults': () => client.callTool({ name: 'test_client_elicitation_defaults', arguments: {} }),
  'sse-retry': () => client.callTool({ name: 'test_reconnection', arguments: {} }),
  'json-schema-2020-12-preservation': () => {},
  // 2026-07-28: what the gateway in between sends is what is looked at.
  'request-metadata': () => {},
  'json-schema-ref-no-deref': () => {},
  'sep-2322-client-request-state': async () => {
    await Promise.all(['test_mrtr_echo_state', 'test_mrtr_unrelated', 'test_mrtr_no_state'].map((name) => call(name)));
    return call('test_mrtr_no_result_type');
  },
  'http-standard-headers': async () => {
    const { resources } = await client.listResources();
    const { prompts } = await client.listPrompts();
    if (resources[0]) await client.readResource({ uri: resources[0].uri });
    if (prompts[0]) await client.getPrompt({ name: prompts[0].name });
    return call(tools[0].name);
  },
  'http-custom-headers': async () => {
    // The gateway judges arguments by the schema, which knows no null here: absent is the same to the suite.
    const present = (given) => Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
    for (const { name, arguments: given } of context.toolCalls) await call(name, present(given));
  },
  'http-invalid-tool-headers': async () => {
    for (const { name, inputSchema } of tools) {
      await call(name, Object.fromEntries((inputSchema.required ?? []).map((member) => [member, 'x'])));
    }
  },
};
if (!calls[scenario]) throw new Error(`no such scenario: ${scenario}`);
const result = await calls[scenario]();
if (result?.isError) throw new Error(JSON.stringify(result));
console.error(`${scenario}: ${tools.length} tools, ${JSON.stringify(result ?? {}).slice(0, 300)}`);
await client.close();
