// A server on the official SDK's second line, 2026-07-28 only: `http` prints its port, anything else is stdio.
import http from 'node:http'
import { Readable } from 'node:stream'
import { McpServer, acceptedContent, createMcpHandler, inputRequired } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import * as z from 'zod'

const text = (value) => ({ content: [{ type: 'text', text: value }] })
const colour = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] }

function make () {
  const server = new McpServer({ name: 'sdk-modern', version: '1' }, { capabilities: { logging: {} } })
  server.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, async ({ a, b }) => text(String(a + b)))
  server.registerTool('plain', { inputSchema: z.object({}), outputSchema: z.number() }, async () => ({ ...text('7'), structuredContent: 7 }))
  server.registerTool('paint', { inputSchema: z.object({ what: z.string() }) }, async ({ what }, ctx) => {
    const told = acceptedContent(ctx.mcpReq.inputResponses, 'colour')
    if (told === undefined) {
      return inputRequired({
        inputRequests: { colour: inputRequired.elicit({ message: `Which colour for ${what}?`, requestedSchema: colour }) },
        requestState: 'asked'
      })
    }
    return text(`${what} is ${told.colour} (${ctx.mcpReq.requestState?.() ?? 'no state'})`)
  })
  server.registerResource('note', 'note://one', { title: 'a note' }, async (uri) => ({ contents: [{ uri: uri.href, text: 'hello' }] }))
  server.registerPrompt('greet', { argsSchema: z.object({ name: z.string() }) }, async ({ name }) => (
    { messages: [{ role: 'user', content: { type: 'text', text: `Hello ${name}` } }] }))
  return server
}

if (process.argv[2] === 'http') {
  const handler = createMcpHandler(make, { legacy: 'reject' })
  const server = http.createServer(async (incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.on('close', () => gone.abort())
    const has_body = incoming.method === 'POST'
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
      method: incoming.method,
      headers: Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
      signal: gone.signal,
      ...(has_body ? { body: Readable.toWeb(incoming), duplex: 'half' } : {})
    })
    const response = await handler.fetch(request)
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    if (response.body) Readable.fromWeb(response.body).on('error', () => {}).pipe(outgoing)
    else outgoing.end()
  })
  server.listen(0, '127.0.0.1', () => console.log(server.address().port))
  process.stdin.on('end', () => process.exit(0)).resume()
} else {
  serveStdio(make)
}
