#!/usr/bin/env python3
"""Bad input over real sockets, and children that misbehave: a clear error each time, the process alive, the next request
served. input_test.py sallyport=PATH"""
import json
import socket
import struct
import sys

from gateway import ACCEPT, FIXTURE, LIMIT, OURS, Case, code_of, main, wait_until, words_of

ECHO = "odd__raw"


class Input(Case):
    """One gateway per test, in front of the fixture, whose `raw` tool is rated a read and echoes the line it got."""

    def begin(self, flags=(), servers=None, tools=None, **config):
        servers = {"odd": {"command": sys.executable, "args": ["-B", FIXTURE, *flags]}, **(servers or {})}
        trust = {"servers": {"odd": {"tools": {"raw": "read", "*": {"deadline": "2s"}, **(tools or {})}}}}
        self.g = self.gateway(servers=servers, trust=trust, **config).start()
        self.c = self.g.client().connect()
        return self.c

    def goes_on(self):
        """The same process serves a new connection, and the session that was there."""
        self.assertIsNone(self.g.process.child.poll(), "\n".join(self.g.process.lines[-30:]))
        for client in (self.g.client().connect(), self.c):
            result = client.call(ECHO, {"still": "here"})
            self.assertIn('"still":"here"', words_of(result).replace(" ", ""))
            self.assertNotIn("isError", result)

    def send(self, data, shut=False, limit=LIMIT):
        """All that comes back for these bytes on a connection of their own, until the other end closes it."""
        with self.g.socket() as raw:
            raw.settimeout(limit)
            try:
                raw.sendall(data)
                if shut:
                    raw.shutdown(socket.SHUT_WR)
                back = b""
                while chunk := raw.recv(65536):
                    back += chunk
            except ConnectionResetError:
                pass  # it closed on bytes that it had no wish to read; what it said came before
            return back

    def head(self, *lines, method="POST", path="/mcp"):
        fixed = ["Host: " + self.g.address, "Authorization: Bearer " + self.g.token(), "Accept: " + ACCEPT,
                 "Mcp-Session-Id: " + self.c.session]
        return "\r\n".join(["%s %s HTTP/1.1" % (method, path), *fixed, *lines, "", ""]).encode()

    def refused(self, back, *statuses):
        self.assertRegex(back[:20], rb"HTTP/1.1 (%s) " % "|".join(map(str, statuses)).encode(), back[:300])

    def rpc_error(self, answer, code, status=400, ident=None):
        self.assertEqual(answer.status, status, answer.body)
        message = json.loads(answer.body)
        self.assertEqual((message["error"]["code"], message["id"]), (code, ident), message)
        self.assertTrue(message["error"]["message"])

    # ---- HTTP

    def test_a_truncated_body(self):
        self.begin()
        kind = "Content-Type: application/json"
        back = self.send(self.head(kind, "Content-Length: 100") + b'{"jsonrpc":"2.0","id":9,', shut=True)
        if back:
            self.refused(back, 400)
        back = self.send(self.head(kind, "Transfer-Encoding: chunked") + b'20\r\n{"jsonrpc"', shut=True)
        if back:
            self.refused(back, 400)
        self.goes_on()

    def test_an_oversized_body(self):
        self.begin(limits={"messageBytes": 65536})
        announced = self.send(self.head("Content-Type: application/json", "Content-Length: 65537"))
        self.refused(announced, 413)
        chunks = b"".join(b"4000\r\n" + b" " * 0x4000 + b"\r\n" for _ in range(5))
        self.refused(self.send(self.head("Content-Type: application/json", "Transfer-Encoding: chunked") + chunks), 413)
        self.refused(self.send(self.head("Content-Type: application/json", "Content-Length: 99999999999999999999")), 400, 413)
        self.goes_on()
        fits = {"text": "x" * 60000}
        self.assertIn("x" * 60000, words_of(self.c.call(ECHO, fits)))

    def test_wrong_content_types(self):
        self.begin()
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for kind in (None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                     "application/jsonp", "application/json; charset=latin-1", "application/json, text/plain"):
            with self.subTest(kind=kind):
                self.assertEqual(self.c.post(body, Content_Type=kind).status, 415)
        for encoding in ("gzip", "br", "x"):
            self.assertEqual(self.c.post(body, Content_Encoding=encoding).status, 415)
        self.assertEqual(self.c.post(body, Accept="text/html").status, 406)
        self.assertEqual(self.c.post(body, Content_Type="application/json; charset=UTF-8").status, 200)
        self.goes_on()

    def test_heads_that_mean_two_things(self):
        self.begin()
        kind, ping = "Content-Type: application/json", b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        length = "Content-Length: %d" % len(ping)
        for lines, body in (((kind, "Transfer-Encoding: xchunked"), b""), ((kind, "Transfer-Encoding: gzip, chunked"), b""),
                            ((kind, length, "Transfer-Encoding: chunked"), ping), ((kind, length, "Content-Length: 3"), ping),
                            ((kind, length, "Host: elsewhere"), ping), ((kind, length, "X-Folded: a\r\n b"), ping),
                            ((kind, "Content-Length: -1"), b""), ((kind, "Content-Length: 0x10"), ping),
                            ((kind, length, "Bad Name: x"), ping), ((kind, length, "X: a\0b"), ping)):
            with self.subTest(lines=lines):
                self.refused(self.send(self.head(*lines) + body, shut=True), 400, 403, 501)
        self.refused(self.send(self.head("Content-Length: 4", method="GET") + b"body", shut=True), 400)
        self.refused(self.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100), shut=True), 400)
        self.refused(self.send(b"GET / HTTP/9.9\r\n\r\n", shut=True), 400, 505)
        self.goes_on()

    def test_heads_without_end(self):
        self.begin()
        self.refused(self.send(self.head("X-Big: " + "x" * 70000)), 431)
        self.refused(self.send(self.head(*("X-%d: x" % i for i in range(500)))), 431)
        self.refused(self.send(self.head(path="/" + "a" * 20000)), 414, 431)
        self.goes_on()

    def test_slow_headers_do_not_hold_others_up(self):
        self.begin()
        slow = [self.g.socket() for _ in range(30)]
        for raw in slow:
            raw.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        self.goes_on()
        for raw in slow:  # each is told after its time
            raw.settimeout(LIMIT)
            back = b""
            while chunk := raw.recv(4096):
                back += chunk
            self.refused(back, 408)
        self.goes_on()

    def test_half_open_sockets(self):
        self.begin()
        silent = [self.g.socket() for _ in range(60)]
        ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        for raw in silent[:20]:
            raw.sendall(self.head("Content-Type: application/json", "Content-Length: 5000") + b"{")
        self.goes_on()
        # The client's end may be closed for writing: the answer comes all the same.
        self.refused(self.send(self.head("Content-Type: application/json", "Content-Length: %d" % len(ping)) + ping, shut=True), 200)
        # A client that asks and tears the connection down.
        for raw in silent[20:40]:
            raw.sendall(self.head("Content-Type: application/json", "Content-Length: %d" % len(ping)) + ping)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raw.close()
        self.goes_on()
        for raw in silent:
            raw.close()
        self.goes_on()

    # ---- JSON

    def test_ten_thousand_levels(self):
        self.begin()
        for opening, closing in (("[", "]"), ('{"a":', "}")):
            deep = opening * 10000 + "1" + closing * 10000
            body = '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"%s","arguments":{"x":%s}}}' % (ECHO, deep)
            self.rpc_error(self.c.post(body.encode()), -32600)
            self.rpc_error(self.c.post(deep.encode()), -32600)
        self.goes_on()

    def test_what_is_no_json(self):
        self.begin()
        for body in (b"", b" ", b"{", b'{"jsonrpc":"2.0","id":1,"method":"ping"}x', b"\xef\xbb\xbf{}", b"NaN", b"{'a':1}",
                     b'{"jsonrpc":"2.0","id":1,"method":"ping",}', b"\0", b'{"a":"\x01"}', b'{"a":01}', b"// x\n{}"):
            with self.subTest(body=body):
                self.rpc_error(self.c.post(body), -32700)
        self.goes_on()

    def test_invalid_utf_8(self):
        self.begin()
        for bad in (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x28\xa1", b"\xc3"):
            body = b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"odd__raw","arguments":{"x":"%s"}}}' % bad
            with self.subTest(bad=bad):
                self.rpc_error(self.c.post(body), -32700)
        self.goes_on()

    def test_what_is_no_message(self):
        self.begin()
        for body in (b"1", b'"x"', b"null", b"{}", b'{"jsonrpc":"1.0","id":1,"method":"ping"}', b'{"jsonrpc":"2.0","id":1}',
                     b'{"jsonrpc":"2.0","id":1,"method":7}', b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', b"[]",
                     b'{"jsonrpc":"2.0","id":null,"method":"ping"}', b'{"jsonrpc":"2.0","id":1,"method":"ping","params":3}'):
            with self.subTest(body=body):
                answer = self.c.post(body)
                self.assertEqual(answer.status, 400, answer.body)
                self.assertIn(json.loads(answer.body)["error"]["code"], (-32600, -32602))
        self.goes_on()

    def call_raw(self, arguments):
        body = b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"odd__raw","arguments":%s}}' % arguments
        return self.c.post(body)

    def test_duplicate_and_look_alike_keys(self):
        self.begin()
        # In the envelope nobody can say what was meant.
        for body in (b'{"jsonrpc":"2.0","id":5,"method":"ping","method":"tools/list"}', b'{"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}',
                     b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"odd__raw","name":"odd__die","arguments":{}}}',
                     b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"odd__raw","arguments":{},"arguments":{"a":1}}}',
                     b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"odd__raw","\\u006eame":"odd__die"}}'):
            with self.subTest(body=body):
                answer = self.c.post(body)
                self.assertIn(json.loads(answer.body)["error"]["code"], (-32600, -32602, -32700), answer.body)
        # In arguments the call is refused so that the model can mend it.
        for arguments in (b'{"a":1,"a":2}', b'{"a":1,"\\u0061":2}', b'{"x":{"a":1,"A":2}}', b'{"x":[{"ma\xc3\xb1ana":1,"man\xcc\x83ana":2}]}'):
            with self.subTest(arguments=arguments):
                result = self.call_raw(arguments).message(5)["result"]
                self.assertEqual(code_of(result), "ARGUMENTS_INVALID", result)
                self.assertTrue(result["isError"])
                self.assertTrue(result["_meta"][OURS]["reasons"][0]["message"])
        self.goes_on()

    def test_numbers_and_texts_that_cannot_be_judged(self):
        self.begin()
        for arguments in (b'{"a":1e999}', b'{"a":1e-999}', b'{"a":%s}' % (b"1" * 1025), b'{"a":"\\ud800"}', b'{"\\udc00":1}'):
            with self.subTest(arguments=arguments[:40]):
                answer = self.call_raw(arguments)
                if answer.status == 200:
                    self.assertEqual(code_of(answer.message(5)["result"]), "ARGUMENTS_INVALID", answer.body)
                else:
                    self.rpc_error(answer, -32700)
        self.goes_on()

    def test_bytes_of_arguments_and_results_pass_as_they_came(self):
        self.begin(tools={"bytes": "read"})
        arguments = b'{ "z" : 1.00 , "a":12345678901234567890123,"e":1E+2,"u":"\\u00fc\\/","n":{ } }'
        result = self.call_raw(arguments).message(5)["result"]
        self.assertIn('"arguments":' + arguments.decode(), words_of(result))
        body = b'{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"odd__bytes","arguments":{}}}'
        raw = self.c.post(body).raw_message(6)
        self.assertIn(b'"z":1.00,"a":12345678901234567890,"content":[ ] ,"_meta":{"dev.sallyport/call":', raw)
        self.assertIn(b'"x/y":1e2}}', raw)

    # ---- children

    def outcome(self, tool, code, outcome, arguments=None):
        result = self.c.call("odd__" + tool, arguments)
        self.assertEqual((code_of(result), result["_meta"][OURS]["outcome"]), (code, outcome), result)
        self.assertTrue(result["isError"])
        self.assertTrue(words_of(result))
        return result

    def test_a_child_that_prints_noise(self):
        self.begin(["--banner"], tools={"noise": "read", "crlf": "read", "split": "read", "twice": "read"})
        self.assertEqual(words_of(self.c.call("odd__noise")), "after noise")
        self.assertEqual(words_of(self.c.call("odd__crlf")), "crlf")
        self.assertEqual(words_of(self.c.call("odd__split")), "grüße \U0001F40E")
        self.assertEqual(words_of(self.c.call("odd__twice")), "first")
        self.goes_on()

    def dies(self, tool):
        self.begin()
        self.outcome(tool, "OUTCOME_UNKNOWN", "unknown")
        self.goes_on()
        listed = self.g.run("operations", "list", "--only", "unknown", "--json", "--token-file", self.g.state / "owner.token")
        self.assertEqual([row["tool"] for row in json.loads(listed.stdout)["operations"]], [tool], listed.stderr)

    def test_a_child_that_ends_in_a_call(self):
        self.dies("die")

    def test_a_child_that_is_killed_in_a_call(self):
        self.dies("signal")

    def test_a_child_that_ends_within_its_answer(self):
        self.dies("half")

    def test_a_child_that_ends_in_a_read(self):
        self.begin(tools={"die": "read"})
        result = self.c.call("odd__die")
        self.assertEqual(code_of(result), "SERVER_UNAVAILABLE", result)
        self.assertNotIn("did not run", words_of(result))
        self.goes_on()

    def test_a_child_that_floods_its_standard_error(self):
        self.begin(tools={"stderr": {"effect": "read", "deadline": "60s"}})
        self.assertEqual(words_of(self.c.call("odd__stderr", {"count": 300000, "line": "spam and more spam\n"})), "flooded")
        self.assertEqual(words_of(self.c.call("odd__stderr", {"count": 3, "line": "x" * 100000})), "flooded")
        self.assertIn("odd", self.g.process.said("spam"))
        self.goes_on()

    def test_a_child_that_never_answers(self):
        self.begin(tools={"never": {"effect": "record", "deadline": "1s"}, "sleep": {"effect": "read", "deadline": "1s"}})
        self.outcome("never", "OUTCOME_UNKNOWN", "unknown")
        self.outcome("sleep", "DEADLINE_EXCEEDED", "none", {"ms": 5000})
        self.goes_on()

    def test_a_child_that_answers_wrongly(self):
        self.begin(tools={"wrong_id": {"effect": "record", "deadline": "1s"}, "malformed": {"effect": "record", "deadline": "1s"}})
        self.assertEqual(words_of(self.c.call("odd__wrong_id", {"then": True})), "right")
        self.outcome("wrong_id", "OUTCOME_UNKNOWN", "unknown")
        self.goes_on()

    def test_a_child_whose_answer_is_too_large_or_too_deep(self):
        self.begin(tools={"huge": {"effect": "read", "deadline": "30s"}, "deep": "read"}, limits={"resultBytes": 100000})
        self.assertEqual(len(words_of(self.c.call("odd__huge", {"bytes": 90000}))), 90000)
        result = self.c.call("odd__huge", {"bytes": 3000000})
        self.assertEqual(code_of(result), "RESULT_WITHHELD", str(result)[:600])
        result = self.c.call("odd__deep")
        self.assertEqual(code_of(result), "RESULT_WITHHELD", str(result)[:600])
        self.goes_on()

    def test_a_server_that_cannot_start_is_named_and_the_others_go_on(self):
        self.begin(servers={"gone": {"command": str(self.folder / "no such program")},
                            "dies": {"command": sys.executable, "args": ["-B", FIXTURE, "--exit=3"]},
                            "refuses": {"command": sys.executable, "args": ["-B", FIXTURE, "--refuse"]}}, accept=False)
        self.assertEqual(self.g.run("trust", "accept", "--yes", "odd", "--token-file", self.g.state / "owner.token").returncode, 0)
        for name in ("gone", "dies", "refuses"):
            self.g.process.said(name)
            mount = self.g.client("/servers/%s/mcp" % name).connect()
            message = mount.ask("tools/call", {"name": "raw", "arguments": {}})
            self.assertIn(name, json.dumps(message))

        def all_named():
            status, text = self.g.ask_control("GET", "/readyz", self.g.token("owner"))
            down = {server["id"] for server in json.loads(text)["detail"]["servers"] if not server["up"] and server.get("reason")}
            return status == 503 and down == {"gone", "dies", "refuses"}

        wait_until(all_named, "/readyz names the dead servers")
        self.assertTrue(any(tool["name"] == ECHO for tool in self.c.tools()))


if __name__ == "__main__":
    main()
