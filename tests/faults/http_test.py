#!/usr/bin/env python3
"""One write over HTTP whose connection breaks at each place: http_test.py sallyport=PATH

The server counts what it executes, over real sockets. It is executed 0 or 1 times, never 2; what the client is told and
what the receipts say is so, or says that it is not known.
"""
import http.client
import subprocess
import sys
import threading
import time

from gateway import OURS, SOURCE, Case, code_of, environment, main, wait_until

SERVER = str(SOURCE / "tests/fixtures/servers/charge_server.py")
CHARGE = {"effect": "external", "destructive": False, "scope": "accounts/{/account}"}
ARGUMENTS = {"account": "a", "amount": 5}
LOOKUP = {"tool": "find", "arguments": {"account": {"from": "/account"}}, "applied": {"found": True}}


class Server:
    """The fixture, as long as its stdin is open."""

    def __init__(self, case, fault):
        self.books = case.folder / "books"
        self.books.write_text("")
        self.process = subprocess.Popen([sys.executable, "-B", SERVER, fault, str(self.books)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=environment())
        case.addCleanup(self.end)
        self.port = int(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()

    def executed(self):
        return len(self.books.read_text().splitlines())

    def release(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", "/release", b"", {"Content-Length": "0"})
        connection.getresponse().read()
        connection.close()


class HttpCharge(Case):
    def start(self, fault, **contract):
        self.server = Server(self, fault)
        tools = {"find": "read", "charge": CHARGE | contract}
        self.g = self.gateway(servers={"pay": {"type": "http", "url": "http://127.0.0.1:%d/mcp" % self.server.port}},
                              trust={"servers": {"pay": {"tools": tools}}})
        self.g.start()

    def charge(self, **arguments):
        return self.g.client().connect().call("pay__charge", ARGUMENTS | arguments)

    def settled(self, result, executed, outcome):
        operation = result["_meta"][OURS]["operation"]
        self.assertEqual((self.server.executed(), result["_meta"][OURS]["outcome"], self.g.outcome_told(operation)),
                         (executed, outcome, outcome), result)
        if outcome == "unknown":
            blocked = self.charge()
            self.assertEqual(code_of(blocked), "BLOCKED_BY_UNKNOWN")
            self.assertIn(operation, blocked["content"][0]["text"])
            self.assertEqual(self.server.executed(), executed)
        self.assertIn(self.g.verify().returncode, (0, 1))
        return operation

    def test_reset_before_anything_was_done(self):
        self.start("reset-before")
        self.settled(self.charge(), 0, "unknown")

    def test_reset_while_the_request_was_sent(self):
        self.start("none")
        self.settled(self.charge(padding="x" * 1_000_000), 0, "unknown")

    def test_reset_after_it_was_done(self):
        self.start("reset-after")
        self.settled(self.charge(), 1, "unknown")

    def test_reset_inside_the_answer(self):
        self.start("reset-in-answer")
        self.settled(self.charge(), 1, "unknown")

    def test_a_proxy_that_gave_up_waiting(self):
        self.start("proxy", errors="none")
        self.settled(self.charge(), 1, "unknown")

    def test_the_answer_comes_twice(self):
        self.start("twice")
        self.settled(self.charge(), 1, "applied")

    def test_the_answer_comes_late(self):
        self.start("late", deadline="500ms")
        result = self.charge()
        self.assertEqual(code_of(result), "OUTCOME_UNKNOWN")
        self.server.release()
        operation = result["_meta"][OURS]["operation"]
        wait_until(lambda: self.g.outcome_told(operation) == "applied", "the late answer to be taken as evidence")
        self.assertEqual(self.server.executed(), 1)

    def test_a_lookup_settles_what_a_reset_left(self):
        self.start("reset-after", lookup=LOOKUP)
        self.settled(self.charge(), 1, "applied")

    def test_a_busy_server_is_asked_again_when_it_said(self):
        self.start("busy", attempts=2, errors={"transient": {"http": [503]}})
        began = time.monotonic()
        self.settled(self.charge(), 1, "applied")
        self.assertGreaterEqual(time.monotonic() - began, 1)

    def test_no_server_is_no_doubt(self):
        self.start("none")
        self.assertFalse(self.g.client().connect().call("pay__find").get("isError"))
        self.server.end()
        result = self.charge()
        self.assertEqual((result["_meta"][OURS]["outcome"], code_of(result)), ("none", "SERVER_UNAVAILABLE"))

    def test_many_at_once_with_one_key_are_one(self):
        self.start("late")
        results = []

        def call():
            client = self.g.client().connect()
            results.append(client.call("pay__charge", ARGUMENTS, **{"dev.sallyport/idempotencyKey": "k-1"}))

        callers = [threading.Thread(target=call) for _ in range(12)]
        for caller in callers:
            caller.start()
        wait_until(lambda: len(results) == len(callers) - 1, "all but the first to be told")
        self.server.release()
        for caller in callers:
            caller.join(60)
        codes = sorted(code_of(one) or "" for one in results)
        self.assertEqual(codes, [""] + ["IDEMPOTENCY_IN_FLIGHT"] * (len(callers) - 1))
        self.assertEqual(self.server.executed(), 1)


if __name__ == "__main__":
    main()
