// The second line of the official TypeScript SDK as a modern server over HTTP that takes no legacy client. Prints its URL.
//   node server_v2.mjs
import { McpServer, acceptedContent, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { serveFetch } from '../serve.mjs';

const said = (text) => ({ content: [{ type: 'text', text }] });
const colour = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] };

function newServer() {
  const server = new McpServer({ name: 'typescript-v2', version: '2' });
  server.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) },
    ({ a, b }) => ({ ...said(String(a + b)), structuredContent: { sum: a + b } }));
  server.registerTool('fail', { inputSchema: z.object({}) }, () => { throw new Error('broken on purpose'); });
  server.registerTool('count', { inputSchema: z.object({ to: z.number() }) }, async ({ to }, { mcpReq }) => {
    for (let progress = 1; progress <= to; ++progress) {
      await mcpReq.notify({
        method: 'notifications/progress', params: { progressToken: mcpReq._meta.progressToken, progress, total: to },
      });
    }
    return said('counted');
  });
  server.registerTool('paint', { inputSchema: z.object({ what: z.string() }) }, ({ what }, ctx) => {
    const told = acceptedContent(ctx.mcpReq.inputResponses, 'colour');
    if (told !== undefined) return said(`${what} is ${told.colour}`);
    return inputRequired({
      inputRequests: { colour: inputRequired.elicit({ message: `Which colour for ${what}?`, requestedSchema: colour }) },
    });
  });
  server.registerResource('note', 'note://one', {}, (uri) => ({ contents: [{ uri: uri.href, text: 'hello' }] }));
  return server;
}

serveFetch(createMcpHandler(newServer, { legacy: 'reject' }));
