#!/usr/bin/env python3
"""The owner is killed under load: process_test.py sallyport=PATH export-worker=PATH

Many writes are in flight against a server that counts what it executes; the owner gets SIGKILL at a random moment and is
started again, several times over. Nothing ran twice, nothing ran unrecorded, and what nobody knows of is called unknown.
"""
import collections
import http.client
import json
import os
import random
import signal
import threading

from gateway import PROGRAMS, Case, code_of, descendants, main, wait_until, words_of

ROUNDS = 4
CLIENTS = 8
TRUST = {"servers": {"export": {"tools": {
    "read_config": "read",
    "queue_export": {"effect": "record", "destructive": False, "scope": "export/{/dataset}",
                     "record": {"arguments": ["/dataset"]}}}}}}


class Load:
    """Clients that write as fast as they can until the connection is gone; what each of them was told."""

    def __init__(self, gateway, name):
        self.answered, self.asked, self.odd = set(), set(), []
        self.news = threading.Condition()
        self.clients = [gateway.client().connect() for _ in range(CLIENTS)]
        self.threads = [threading.Thread(target=self.run, args=(client, "%s_%d" % (name, number)))
                        for number, client in enumerate(self.clients)]
        for thread in self.threads:
            thread.start()

    def run(self, client, name):
        for number in range(100000):
            dataset = "%s_%d" % (name, number)
            with self.news:
                self.asked.add(dataset)
            try:
                result = client.call("export__queue_export", {"dataset": dataset})
            except (OSError, http.client.HTTPException, AssertionError, ValueError):
                return  # the connection ended with the owner, perhaps within an answer; what became of the call it will tell
            with self.news:
                if result.get("isError"):
                    self.odd.append(result)
                    return
                self.answered.add(dataset)
                self.news.notify_all()

    def until(self, count):
        with self.news:
            if not self.news.wait_for(lambda: len(self.answered) >= count or self.odd, 60):
                raise AssertionError("%d answers in 60 s" % len(self.answered))

    def end(self):
        for thread in self.threads:
            thread.join(60)
        return not any(thread.is_alive() for thread in self.threads)


class KilledOwner(Case):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "exports.json"
        self.file.write_text('{"config": {"format": "csv", "destination": "exports/x", "max_retries": 1}, "revision": 1}')

    def executed(self):
        return collections.Counter(one["dataset"] for one in json.loads(self.file.read_text()).get("exports", []))

    def log(self, g):
        """From the receipts: operation -> dataset of every intent, and operation -> its last outcome."""
        intents, outcomes = {}, {}
        for one in g.receipts():
            predicate = one["predicate"]
            if predicate["kind"] == "intent":
                intents[predicate["operation"]] = predicate["arguments"]["recorded"]["/dataset"].strip('"')
            elif predicate["kind"] in ("outcome", "reconciliation"):
                outcomes[predicate["operation"]] = predicate["outcome"]["value"]
        return intents, outcomes

    def verify(self, g):
        """Every finding is one that tells what happened: nothing is broken."""
        done = self.run_program("--state", g.state, "receipts", "verify", "--json")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        kinds = {finding["kind"] for finding in json.loads(done.stdout)["findings"]}
        self.assertLessEqual(kinds, {"tail-not-anchored", "intent-without-outcome"}, done.stdout)

    def unknown(self, g):
        listed = g.run("operations", "list", "--only", "unknown", "--limit", "1000", "--json", "--token-file", g.state / "owner.token")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        return {row["id"]: row for row in json.loads(listed.stdout)["operations"]}

    def test_kill_9_under_load(self):
        seed = int(os.environ.get("FAULT_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
        chance = random.Random(seed)
        g = self.gateway(servers={"export": {"command": PROGRAMS["export-worker"], "args": ["--state", str(self.file)]}}, trust=TRUST)
        answered, asked, self.in_flight = set(), set(), 0
        with self.subTest(FAULT_SEED=seed):
            for number in range(ROUNDS):
                g.start()
                load = Load(g, "r%d" % number)
                load.until(chance.randrange(5, 120))
                g.stop(signal.SIGKILL)
                self.assertTrue(load.end())
                self.assertEqual(load.odd, [])
                answered |= load.answered
                asked |= load.asked
                self.after_a_kill(g, answered, asked)
        self.assertGreater(self.in_flight, 0)  # else no kill met anything
        self.verify(g)

    def after_a_kill(self, g, answered, asked):
        wait_until(lambda: not self.left(), "the child ends with its owner")
        executed = self.executed()
        self.assertEqual([name for name, count in executed.items() if count > 1], [])
        self.assertLessEqual(set(executed), asked)
        self.verify(g)
        intents, outcomes = self.log(g)
        # Recorded before done; at most one operation for a call that was made once.
        self.assertLessEqual(set(executed), set(intents.values()))
        self.assertEqual(len(set(intents.values())), len(intents))
        # What the client was told is on record.
        applied = {intents[operation] for operation, value in outcomes.items() if value == "applied"}
        self.assertLessEqual(answered, applied)
        self.assertLessEqual(applied, set(executed))
        open_ = {operation for operation in intents if outcomes.get(operation, "unknown") == "unknown"}
        self.assertLessEqual(len(open_), CLIENTS)
        self.in_flight += len(open_)
        g.start()
        unknown = self.unknown(g)
        self.assertEqual(set(unknown), open_)
        self.blocked_and_resolved(g, {operation: intents[operation] for operation in open_}, executed)
        g.stop()

    def left(self):
        return [one for one in descendants() if "export-worker" in one[1]]

    def blocked_and_resolved(self, g, unknown, executed):
        """An unknown write stands in the way of its scope, and of no other, until a person settles it; it is never sent again."""
        client = g.client().connect()
        for operation, dataset in unknown.items():
            result = client.call("export__queue_export", {"dataset": dataset})
            self.assertEqual(code_of(result), "BLOCKED_BY_UNKNOWN", result)
            self.assertIn(operation, words_of(result))
            truth = "applied" if dataset in executed else "none"
            done = g.run("operations", "resolve", operation, truth, "--reason", "looked it up", "--token-file", g.state / "owner.token")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.unknown(g), {})
        self.assertEqual(self.executed(), executed)

    def test_kill_9_of_a_waiting_ask_spends_nothing(self):
        g = self.gateway(servers={"export": {"command": PROGRAMS["export-worker"], "args": ["--state", str(self.file)]}}, trust=TRUST,
                         policy={"default": "ask", "rules": []}).start()
        client = g.client().connect()
        caller = threading.Thread(target=lambda: self.assertRaises(Exception, client.call, "export__queue_export", {"dataset": "a"}))
        caller.start()

        def asks():
            listed = g.run("approvals", "list", "--json", "--token-file", g.state / "owner.token")
            return json.loads(listed.stdout)["approvals"] if listed.returncode == 0 else None

        ask, = wait_until(asks, "the ask")
        g.stop(signal.SIGKILL)
        caller.join(60)
        g.start()
        self.assertEqual([one["id"] for one in asks()], [ask["id"]])
        self.assertEqual(self.executed(), {})
        answers = []
        client = g.client().connect()
        caller = threading.Thread(target=lambda: answers.append(client.call("sallyport_wait", {"id": ask["id"]})))
        caller.start()
        approved = g.run("approvals", "approve", ask["id"], "--yes", "--token-file", g.state / "owner.token")
        self.assertEqual(approved.returncode, 0, approved.stderr)
        caller.join(60)
        self.assertEqual(self.executed(), {"a": 1}, answers)
        again = g.run("approvals", "approve", ask["id"], "--yes", "--token-file", g.state / "owner.token")
        self.assertNotEqual(again.returncode, 0)
        g.stop()
        self.verify(g)


if __name__ == "__main__":
    main()
