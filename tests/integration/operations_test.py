#!/usr/bin/env python3
"""Operations through the whole program: keys in headers and over restarts, runs, fingerprints."""
import json
import shutil

from gateway import OURS, PROGRAMS, Case, Gateway, code_of, main, words_of

TRUST = {"servers": {"export": {"tools": {
    "read_config": "read", "check_config": {"effect": "read", "scope": "export"},
    "write_config": {"effect": "record", "destructive": False, "scope": "export"},
    "queue_export": {"effect": "record", "destructive": False, "scope": "export/{/dataset}"}}}}}
POLICY = {"default": "deny", "rules": [
    {"id": "all", "allow": {"server": "export"}},
    {"id": "checked", "require": {"server": "export", "tool": "publish"},
     "evidence": {"tool": "check_config", "result": {"passed": True}}}]}
CONFIG = {"config": {"format": "csv", "destination": "exports/x", "max_retries": 1}, "revision": 1}


class Operations(Case):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "exports.json"
        self.file.write_text(json.dumps(CONFIG))

    def make(self, folder=None, **config):
        folder = folder or self.folder
        folder.mkdir(exist_ok=True)
        config = {"trust": TRUST, "policy": POLICY, "run": {"evidence": ["checked"]}, **config}
        return Gateway(self, folder, servers={"export": {"command": PROGRAMS["export-worker"], "args": ["--state", str(self.file)]}},
                       **config)

    def exports(self):
        return len(json.loads(self.file.read_text()).get("exports", []))

    def queue(self, client, key=None, dataset="orders", meta=None):
        client.last += 1
        params = {"name": "export__queue_export", "arguments": {"dataset": dataset}}
        if meta:
            params["_meta"] = {"dev.sallyport/idempotencyKey": meta}
        body = {"jsonrpc": "2.0", "id": client.last, "method": "tools/call", "params": params}
        return client.post(body, Idempotency_Key=key).message(client.last)["result"]

    def test_a_key_in_the_header_is_one_operation(self):
        client = self.make().start().client().connect()
        first, again = self.queue(client, "k-1"), self.queue(client, "k-1")
        self.assertNotIn("replayed", first["_meta"][OURS])
        self.assertTrue(again["_meta"][OURS]["replayed"])
        self.assertEqual(again["structuredContent"], first["structuredContent"])
        self.assertTrue(self.queue(client, meta="k-1")["_meta"][OURS]["replayed"])  # the same key, said otherwise
        self.assertEqual(code_of(self.queue(client, "k-1", "customers")), "IDEMPOTENCY_CONFLICT")
        self.assertEqual(code_of(self.queue(client, "k-1", meta="k-2")), "IDEMPOTENCY_KEY_INVALID")
        self.assertEqual(self.exports(), 1)

    def test_a_key_holds_over_a_restart(self):
        g = self.make().start()
        first = self.queue(g.client().connect(), "k-1")
        g.stop()
        g.start()
        again = self.queue(g.client().connect(), "k-1")
        self.assertEqual(again["_meta"][OURS]["operation"], first["_meta"][OURS]["operation"])
        self.assertTrue(again["_meta"][OURS]["replayed"])
        self.assertEqual(self.exports(), 1)

    def test_a_run_is_finished_with_its_evidence(self):
        g = self.make().start()
        client = g.client().connect()
        self.assertIn("sallyport_finish", [tool["name"] for tool in client.tools()])
        rejected = client.call("sallyport_finish")
        self.assertEqual(rejected["structuredContent"]["status"], "completion_rejected")
        self.assertIn("check_config", words_of(rejected))
        client.call("export__check_config")
        done = client.call("sallyport_finish")
        self.assertEqual(done["structuredContent"]["status"], "complete")
        runs = [one["predicate"] for one in g.receipts() if one["predicate"]["kind"] == "run"]
        self.assertEqual([one["event"]["action"] for one in runs], ["completion_rejected", "complete"])
        self.assertEqual(runs[1]["evidence"], [done["structuredContent"]["evidence"][0]["receipt"]])
        self.assertEqual(g.verify().returncode, 0)

    def test_a_run_can_only_have_to_show_what_a_rule_names(self):
        done = self.make(run={"evidence": ["all"]}, accept=False).run("check", "--offline")
        self.assertEqual(done.returncode, 1)
        self.assertIn("`run.evidence` names `all`", done.stdout + done.stderr)

    def fingerprint(self, g, *words):
        done = g.run("fingerprint", *words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_fingerprints_of_equal_files_are_equal_and_of_others_are_not(self):
        one = self.make()
        call = ("export", "queue_export", '{"dataset": "orders"}', "--principal", "agent:ci")
        value = self.fingerprint(one, *call)
        self.assertEqual(sorted(value), ["contract", "execution", "request"])

        def other(**config):
            folder = self.folder / "other"
            g = self.make(folder, accept=False, **config)
            shutil.copy(self.folder / "trust.lock.json", folder)
            return g

        self.assertEqual(self.fingerprint(other(), *call), value)
        self.assertEqual(self.fingerprint(other(), *call[:2], '{ "dataset":"orders" }', *call[3:]), value)
        limited = self.fingerprint(other(limits={"depth": 64}), *call)
        self.assertEqual(limited["contract"], value["contract"])
        self.assertNotEqual(limited["execution"], value["execution"])
        stricter = self.fingerprint(other(policy=POLICY | {"rules": POLICY["rules"][:1]}, run={"evidence": []}), *call)
        self.assertFalse(set(stricter.values()) & set(value.values()))
        for words in ((*call[:2], '{"dataset": "customers"}', *call[3:]), call[:3]):
            changed = self.fingerprint(one, *words)
            self.assertEqual(changed["execution"], value["execution"])
            self.assertNotEqual(changed["request"], value["request"])
        self.assertEqual(one.run("fingerprint", "export", "nothing").returncode, 2)
        self.assertEqual(one.run("fingerprint", "export", "queue_export", "[]").returncode, 2)


if __name__ == "__main__":
    main()
