"""Bytes that come in pieces and answers that come in any order, over real sockets and pipes. What every single byte does is
tested in process (tests/component); here each fixture is cut at twenty places.
"""
import json
import socket

import gateway as tools
from events import Events, setup
from gateway import PROGRAMS, Case, Lines, main

PLACES = 20


def places(size):
    return sorted({max(1, size * i // PLACES) for i in range(1, PLACES)})


class Cuts(Case):
    def test_http_requests_in_two_pieces(self):
        gateway = self.gateway(**setup("a")).start()
        client = gateway.client("/servers/a/mcp").connect()
        body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                           "params": {"name": "echo", "arguments": {"text": "gr\u00fc\u00dfe \U0001F40E"}}}, ensure_ascii=False).encode()
        head = "POST /servers/a/mcp HTTP/1.1\r\nHost: %s\r\n%s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (
            gateway.address, "\r\n".join("%s: %s" % pair for pair in client.headers().items()), len(body))
        whole = head.encode() + body
        seen = set()
        for at in places(len(whole)):
            raw = gateway.socket()
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            raw.sendall(whole[:at])
            client.ask("ping")  # the gateway had its turn with the first piece
            raw.sendall(whole[at:])
            answer = b""
            while piece := raw.recv(65536):
                answer += piece
            self.assertTrue(answer.startswith(b"HTTP/1.1 200"), (at, answer))
            seen.add(json.dumps(json.loads(answer.split(b"\r\n\r\n", 1)[1])["result"]["content"]))
        self.assertEqual(len(seen), 1)

    def test_lines_of_a_client_in_two_pieces(self):
        gateway = self.gateway(**setup("a")).start()
        lines = Lines(self, [PROGRAMS["sallyport"], "stdio", "--server", "a", "--config", gateway.config],
                      env=tools.environment(SALLYPORT_TOKEN=gateway.token()), bufsize=0)
        lines.connect()
        line = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
            "name": "echo", "arguments": {"text": "gr\u00fc\u00dfe \U0001F40E"}}}, ensure_ascii=False).encode() + b"\r\n"
        other = gateway.client("/servers/a/mcp").connect()
        seen = set()
        for at in places(len(line)):
            lines.process.child.stdin.write(line[:at])
            other.ask("ping")
            lines.process.child.stdin.write(line[at:])
            seen.add(json.dumps(json.loads(lines.raw_answer(7))["result"]["content"]))
        self.assertEqual(len(seen), 1)
        lines.close()

    def test_answers_of_a_server_in_two_pieces(self):
        client = self.gateway(**setup("a")).start().client("/servers/a/mcp").connect()
        for at in range(1, 8 * PLACES, 8):
            self.assertEqual(tools.words_of(client.call("cut", {"at": at})), "gr\u00fc\u00dfe \U0001F40E", at)

    def test_a_broken_stream_is_read_on_at_every_event(self):
        gateway = self.gateway(**setup("a")).start()
        client = Events(gateway, "/servers/a/mcp")
        values = list(range(1, 11))
        for cut in range(1, len(values) + 1):
            ident = 100 + cut
            events, last = [], None
            first = client.connection()
            first.connection.request("POST", client.mount, json.dumps({
                "jsonrpc": "2.0", "id": ident, "method": "tools/call",
                "params": {"name": "progress", "arguments": {"values": values}, "_meta": {"progressToken": ident}}}).encode(), first.headers())
            last = self.read_events(first.connection.getresponse(), events, cut)
            first.connection.close()
            if len(events) <= len(values):
                second = client.connection()
                second.connection.request("GET", client.mount, headers=second.headers(Accept="text/event-stream", Last_Event_ID=last))
                response = second.connection.getresponse()
                if response.status == 400:
                    continue  # the transport had taken all of it
                self.read_events(response, events, 1000)
            self.assertEqual([event["params"]["progress"] for event in events[:-1]], values)
            self.assertEqual(events[-1]["id"], ident)

    def read_events(self, response, events, most):
        """Up to so many; the id of the last one that was read."""
        last = None
        while len(events) < most:
            line = response.readline()
            if not line:
                break
            if line.startswith(b"id:"):
                ident = line[3:].strip().decode()
            elif line.startswith(b"data:"):
                last = ident
                if line[5:].strip():
                    events.append(json.loads(line[5:]))
        return last

    def test_two_hundred_clients_and_answers_in_any_order(self):
        gateway = self.gateway(**setup("a")).start()
        clients = [Events(gateway, "/servers/a/mcp") for _ in range(200)]
        for i, client in enumerate(clients):
            client.start(1, "tools/call", {"name": "shuffle", "arguments": {"of": 200, "text": "of %d" % i}})
        for i, client in enumerate(clients):
            self.assertEqual(client.answer(1)["result"]["content"][0]["text"], "of %d" % i)


if __name__ == "__main__":
    main()
