// Servers of the official SDKs over HTTP on a free port, whose URL is printed.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';

const listen = (answer) => {
  const http = createServer(answer);
  http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
};

// A handler of Fetch requests (the second line); a client that goes away aborts its request.
export const serveFetch = (handler) => listen(async (incoming, outgoing) => {
  const gone = new AbortController();
  outgoing.on('close', () => gone.abort());
  const body = incoming.method === 'POST' ? { body: Readable.toWeb(incoming), duplex: 'half' } : {};
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]);
  const url = `http://${incoming.headers.host}${incoming.url}`;
  const response = await handler.fetch(new Request(url, { method: incoming.method, headers, signal: gone.signal, ...body }));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (!response.body) return outgoing.end();
  return Readable.fromWeb(response.body).on('error', () => outgoing.destroy()).pipe(outgoing);
});

// One server for each session (the first line).
export const serveSessions = (Transport, newServer, options = () => ({})) => {
  const sessions = new Map();
  listen(async (request, response) => {
    const known = sessions.get(request.headers['mcp-session-id']);
    if (known) return known.handleRequest(request, response);
    const transport = new Transport({
      sessionIdGenerator: randomUUID,
      ...options(),
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await newServer().connect(transport);
    return transport.handleRequest(request, response);
  });
};
