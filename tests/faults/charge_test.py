#!/usr/bin/env python3
"""One write under each fault of a real server, a real client and a real gateway: charge_test.py sallyport=PATH export-worker=PATH

The worker counts what it executes. It is executed 0 or 1 times, never 2, and the receipts tell the truth each time.
"""
import http.client
import json
import signal
import threading

from gateway import OURS, PROGRAMS, Case, code_of, main, wait_until

CHARGE = {"effect": "record", "destructive": False, "scope": "export", "deadline": "3s"}
ARGUMENTS = {"dataset": "orders", "request_id": "r-1"}


class Charge(Case):
    def start(self, *flags, words=(), **contract):
        self.file = self.folder / "exports.json"
        self.file.write_text('{"config": {"format": "csv", "destination": "exports/x", "max_retries": 1}, "revision": 1}')
        tools = {"read_config": "read", "lookup_export": "read", "queue_export": CHARGE | contract}
        self.g = self.gateway(servers={"export": {"command": PROGRAMS["export-worker"], "args": ["--state", str(self.file), *flags]}},
                              trust={"servers": {"export": {"tools": tools}}})
        self.g.start(*words)
        return self.g

    def charge(self, client=None, **arguments):
        return (client or self.g.client().connect()).call("export__queue_export", ARGUMENTS | arguments)

    def executed(self):
        return len(json.loads(self.file.read_text()).get("exports", []))

    def settled(self, result, executed, outcome):
        operation = result["_meta"][OURS]["operation"]
        self.assertEqual(self.executed(), executed)
        self.assertEqual(self.g.outcome_told(operation), outcome)
        self.assertEqual(result["_meta"][OURS]["outcome"], outcome)
        # Whatever it was: the same call again does not make it two, unless it is known that nothing was done.
        again = self.charge()
        self.assertLessEqual(self.executed(), 1)
        if outcome == "unknown":
            self.assertIn(code_of(again), ("BLOCKED_BY_UNKNOWN", "OUTCOME_UNKNOWN"))
        done = self.g.verify()
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return operation

    def test_the_server_ends_before_it_does_anything(self):
        self.start("--crash-before", "queue_export:1")
        self.settled(self.charge(), 0, "unknown")  # nobody can tell it from the next one

    def test_the_server_ends_after_it_did_it(self):
        self.start("--crash", "queue_export:1")
        self.settled(self.charge(), 1, "unknown")

    def test_the_server_never_answers(self):
        self.start("--lose-answer", "queue_export:1")
        self.settled(self.charge(), 1, "unknown")

    def test_the_server_answers_twice(self):
        self.start("--repeat-answer", "queue_export:1")
        result = self.charge()
        self.assertFalse(result.get("isError"))
        self.assertEqual(self.executed(), 1)
        self.assertEqual(self.g.outcome_told(result["_meta"][OURS]["operation"]), "applied")

    def test_the_server_answers_late(self):
        self.start("--delay", "queue_export:4000", deadline="1s")
        result = self.charge()
        self.assertEqual(code_of(result), "OUTCOME_UNKNOWN")
        operation = result["_meta"][OURS]["operation"]
        wait_until(lambda: self.g.outcome_told(operation) == "applied", "the late answer to be taken as evidence")
        self.assertEqual(self.executed(), 1)

    def test_an_error_after_it_was_done(self):
        self.start("--error-after", "queue_export:1")
        result = self.charge()
        operation = result["_meta"][OURS]["operation"]
        self.assertEqual((self.executed(), self.g.outcome_told(operation), code_of(result)), (1, "unknown", "OUTCOME_UNKNOWN"))

    def test_an_error_that_the_contract_explains(self):
        self.start("--error", "queue_export:1", errors="none")
        result = self.charge()
        self.assertEqual((self.executed(), result["_meta"][OURS]["outcome"]), (0, "none"))
        self.assertFalse(self.charge().get("isError"))
        self.assertEqual(self.executed(), 1)

    def test_a_key_makes_the_repeat_safe(self):
        self.start("--crash", "queue_export:1", repeat="keyed", idempotencyKey={"argument": "/request_id"}, attempts=1)
        lost, again = self.charge(), self.charge()
        self.assertEqual(code_of(lost), "OUTCOME_UNKNOWN")
        self.assertEqual(again["_meta"][OURS]["operation"], lost["_meta"][OURS]["operation"])
        self.assertEqual(again["structuredContent"]["export_id"], "ex-1")
        self.assertEqual(self.executed(), 1)
        self.assertTrue(self.charge()["_meta"][OURS]["replayed"])

    def test_a_lookup_settles_what_a_crash_left(self):
        look = {"tool": "lookup_export", "arguments": {"request_id": {"from": "/request_id"}}, "applied": {"found": True}}
        self.start("--crash", "queue_export:1", lookup=look)
        result = self.charge()
        self.assertEqual((result["_meta"][OURS]["outcome"], self.executed()), ("applied", 1))
        self.assertEqual(self.g.outcome_told(result["_meta"][OURS]["operation"]), "applied")

    def test_the_client_goes_away(self):
        self.start("--delay", "queue_export:1500")
        client = self.g.client().connect()
        body = json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
                           "params": {"name": "export__queue_export", "arguments": ARGUMENTS}}).encode()
        client.connection.request("POST", client.mount, body, client.headers())
        wait_until(lambda: self.executed() == 1, "the worker to do it")
        client.connection.close()
        again = self.charge()  # joins it, or is told what became of it, or is kept off
        self.assertEqual(self.executed(), 1, again)
        wait_until(lambda: self.g.outcome_told(self.only_operation()) in ("applied", "unknown"), "the outcome")

    def only_operation(self):
        return next(one["predicate"]["operation"] for one in self.g.receipts() if one["predicate"]["kind"] == "intent")

    def test_the_gateway_is_killed_while_the_server_works(self):
        look = {"tool": "lookup_export", "arguments": {"request_id": {"from": "/request_id"}}, "applied": {"found": True}}
        self.start("--delay", "queue_export:60000", lookup=look, deadline="50s")
        client = self.g.client().connect()

        def lost():
            try:
                self.charge(client)
            except (OSError, http.client.HTTPException, AssertionError, ValueError):
                pass

        caller = threading.Thread(target=lost)
        caller.start()
        wait_until(lambda: self.executed() == 1, "the worker to do it")
        self.g.stop(signal.SIGKILL)
        caller.join(60)
        self.g.start()
        operation = self.only_operation()
        wait_until(lambda: self.g.outcome_told(operation) == "applied", "the lookup after the start")
        self.assertEqual(self.executed(), 1)
        story = self.g.run("operations", "show", operation, "--json", "--token-file", self.g.state / "owner.token")
        kinds = [one["kind"] for one in json.loads(story.stdout)["receipts"]]
        self.assertEqual(kinds, ["intent", "outcome", "call", "reconciliation"])


if __name__ == "__main__":
    main()
