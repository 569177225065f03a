#!/usr/bin/env python3
"""The example server does what its page says, faults included: export_worker_test.py PROGRAM"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
GOOD = {"format": "csv", "destination": "exports/daily", "max_retries": 2}


class Worker:
    def __init__(self, folder, *flags):
        self.state = os.path.join(folder, "state.json")
        self.process = subprocess.Popen([PROGRAM, "--state", self.state, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()

    def send(self, method, params=None):
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params or {}}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return self.last

    def receive(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def ask(self, method, params=None):
        ident = self.send(method, params)
        answer = self.receive()
        assert answer["id"] == ident, answer
        return answer

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def kept(self):
        with open(self.state, encoding="utf-8") as file:
            return json.load(file)


class ExportWorker(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def worker(self, *flags):
        return Worker(self.folder.name, *flags)

    def test_negotiates_a_protocol(self):
        with self.worker() as worker:
            for wanted, got in (("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")):
                self.assertEqual(worker.ask("initialize", {"protocolVersion": wanted})["result"]["protocolVersion"], got)
            self.assertEqual(worker.ask("ping")["result"], {})
            self.assertEqual(worker.ask("resources/list")["error"]["code"], -32601)
            tools = worker.ask("tools/list")["result"]["tools"]
            self.assertEqual(len(tools), 6)
            self.assertTrue(all("outputSchema" in tool and "annotations" in tool for tool in tools))

    def test_writes_checks_queues_and_publishes(self):
        with self.worker() as worker:
            self.assertEqual(worker.call("queue_export", dataset="orders")["result"]["isError"], True)
            self.assertEqual(worker.call("write_config", **GOOD)["result"]["structuredContent"], {"revision": 1})
            self.assertTrue(worker.call("check_config")["result"]["structuredContent"]["passed"])
            worker.call("write_config", **{**GOOD, "destination": "elsewhere"})
            self.assertFalse(worker.call("check_config")["result"]["structuredContent"]["passed"])
            first = worker.call("queue_export", dataset="orders")["result"]["structuredContent"]
            self.assertEqual(first, {"export_id": "ex-1", "status": "queued"})
            self.assertEqual(worker.call("lookup_export", dataset="orders")["result"]["structuredContent"]["export_id"], "ex-1")
            worker.call("publish", export_id="ex-1")
            kept = worker.kept()
            self.assertEqual(kept["published"], ["ex-1"])
            self.assertEqual(kept["executions"]["queue_export"], 1)

    def test_the_same_request_is_queued_once(self):
        with self.worker() as worker:
            worker.call("write_config", **GOOD)
            for _ in range(2):
                answer = worker.call("queue_export", dataset="orders", request_id="r1")
                self.assertEqual(answer["result"]["structuredContent"]["export_id"], "ex-1")
            self.assertTrue(worker.call("queue_export", dataset="other", request_id="r1")["result"]["isError"])
            self.assertEqual(len(worker.kept()["exports"]), 1)

    def test_wrong_input_is_answered(self):
        with self.worker() as worker:
            self.assertEqual(worker.call("write_config", format="csv", destination="x", max_retries="two")["error"]["code"], -32602)
            self.assertEqual(worker.call("no_such_tool")["error"]["code"], -32602)
            worker.process.stdin.write(b"{oops\n")
            worker.process.stdin.flush()
            self.assertEqual(worker.receive()["error"]["code"], -32700)

    def test_a_lost_answer_was_done_and_a_new_process_counts_on(self):
        with self.worker("--lose-answer", "write_config:1") as worker:
            worker.send("tools/call", {"name": "write_config", "arguments": GOOD})
            self.assertEqual(worker.ask("ping")["result"], {})
            self.assertEqual(worker.kept()["executions"]["write_config"], 1)
        with self.worker("--lose-answer", "write_config:1") as worker:
            self.assertEqual(worker.call("write_config", **GOOD)["result"]["structuredContent"], {"revision": 2})

    def test_crashes_after_and_before(self):
        with self.worker("--crash", "write_config:1") as worker:
            worker.send("tools/call", {"name": "write_config", "arguments": GOOD})
            self.assertIsNone(worker.receive())
            self.assertEqual(worker.kept()["revision"], 1)
        with self.worker("--crash-before", "write_config:1") as worker:
            worker.send("tools/call", {"name": "write_config", "arguments": GOOD})
            self.assertIsNone(worker.receive())
            self.assertEqual(worker.kept()["revision"], 1)

    def test_errors_and_transient_faults(self):
        with self.worker("--transient", "write_config:1", "--error", "check_config", "--error-after", "queue_export:1") as worker:
            self.assertEqual(worker.call("write_config", **GOOD)["error"]["code"], -32050)
            self.assertEqual(worker.call("write_config", **GOOD)["result"]["structuredContent"], {"revision": 1})
            self.assertTrue(worker.call("check_config")["result"]["isError"])
            self.assertTrue(worker.call("queue_export", dataset="a")["result"]["isError"])
            self.assertEqual(len(worker.kept()["exports"]), 1)

    def test_late_and_double_answers(self):
        with self.worker("--delay", "write_config:150", "--repeat-answer", "check_config") as worker:
            late = worker.send("tools/call", {"name": "write_config", "arguments": GOOD})
            self.assertEqual(worker.ask("ping")["result"], {})
            self.assertEqual(worker.receive()["id"], late)
            first = worker.send("tools/call", {"name": "check_config", "arguments": {}})
            self.assertEqual([worker.receive()["id"], worker.receive()["id"]], [first, first])

    def test_unknown_flags_are_refused(self):
        for flags in ([], ["--state"], ["--state", "x", "--crash", "nothing"], ["--state", "x", "--delay", "publish"],
                      ["--state", "x", "--error", "publish:y"], ["--state", "x", "--other", "y"]):
            done = subprocess.run([PROGRAM, *flags], stdin=subprocess.DEVNULL, capture_output=True, check=False)
            self.assertEqual(done.returncode, 2, flags)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
