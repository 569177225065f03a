// The first line of the official TypeScript SDK as a legacy server over HTTP, with sessions. Prints its URL.
// Every server of this folder offers the same: add, fail, count, paint, and note://one.
//   node server_v1.mjs
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as z from 'zod';
import { serveSessions } from '../serve.mjs';

const said = (text) => ({ content: [{ type: 'text', text }] });
const colour = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] };

function newServer() {
  const server = new McpServer({ name: 'typescript-v1', version: '1' });
  server.registerTool('add', { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
    ({ a, b }) => ({ ...said(String(a + b)), structuredContent: { sum: a + b } }));
  server.registerTool('fail', { inputSchema: {} }, () => { throw new Error('broken on purpose'); });
  server.registerTool('count', { inputSchema: { to: z.number() } }, async ({ to }, extra) => {
    for (let progress = 1; progress <= to; ++progress) {
      await extra.sendNotification({
        method: 'notifications/progress', params: { progressToken: extra._meta.progressToken, progress, total: to },
      });
    }
    return said('counted');
  });
  server.registerTool('paint', { inputSchema: { what: z.string() } }, async ({ what }) => {
    const told = await server.server.elicitInput({ message: `Which colour for ${what}?`, requestedSchema: colour });
    return said(told.action === 'accept' ? `${what} is ${told.content.colour}` : told.action);
  });
  server.registerResource('note', 'note://one', {}, (uri) => ({ contents: [{ uri: uri.href, text: 'hello' }] }));
  return server;
}

serveSessions(StreamableHTTPServerTransport, newServer);
