// The first line of the official TypeScript SDK as a legacy server over HTTP, with sessions. Prints its URL.
// Every server of this folder offers the same: add, fail, count, paint, and note://one.
//   node server_v1.mjs
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as z from 'zod';

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

const sessions = new Map();
const http = createServer(async (request, response) => {
  const known = sessions.get(request.headers['mcp-session-id']);
  if (known) return known.handleRequest(request, response);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
    onsessionclosed: (id) => sessions.delete(id),
  });
  await newServer().connect(transport);
  return transport.handleRequest(request, response);
});
http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
