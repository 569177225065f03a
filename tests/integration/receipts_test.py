#!/usr/bin/env python3
"""What an auditor can rely on: receipts_test.py sallyport=PATH export-worker=PATH

Nothing secret is written anywhere; the log extends its checkpoints or does not start; one receipt can be proven by itself;
every kind of tampering has its name.
"""
import base64
import hashlib
import json
import re
import shutil
import signal
import subprocess
import sys

from gateway import PROGRAMS, SOURCE, Case, code_of, main, wait_until

LEAKING = str(SOURCE / "tests/fixtures/servers/leaking_server.py")
ENV = "canary-env-5EC2E7"
SHAPED = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
TRUST = {"servers": {"leak": {"tools": {
    "look": "read",
    **{name: {"effect": "record", "destructive": False, "scope": "things/{/id}", "says": "Thing {/id} with {/password} and {/pin}",
              "record": {"arguments": ["/id", "/note", "/password", "/token", "/pin"], "result": ["/id", "/key", "/token"]}}
       for name in ("put", "fail", "die")},
    "refuse": {"effect": "record", "destructive": False, "scope": "refused", "errors": "none"}}}}}
REDACT = {"redact": ["/pin"]}


class Receipts(Case):
    judges_receipts = True

    def leaking(self, rules=None, **config):
        policy = {"default": "ask", **REDACT,
                  "rules": [{"id": "all", "allow": {"server": "leak"}}] if rules is None else rules}
        server = {"command": sys.executable, "args": ["-B", LEAKING], "env": {"LEAK_KEY": ENV}}
        return self.gateway(servers={"leak": server}, trust=TRUST, policy=policy, **config)

    def owner(self, g, *words, **options):
        return g.run(*words, "--token-file", g.state / "owner.token", **options)

    def ask(self, g, client, arguments, meta=None):
        """A call that is left waiting, and its ask."""
        client.last += 1
        client.connection.request("POST", client.mount, json.dumps(
            {"jsonrpc": "2.0", "id": client.last, "method": "tools/call",
             "params": {"name": "leak__put", "arguments": arguments, "_meta": meta or {}}}).encode(), client.headers())
        waiting, = wait_until(lambda: self.json_of(self.owner(g, "approvals", "list", "--json"))["approvals"], "the ask")
        return waiting

    def json_of(self, done, code=0):
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return json.loads(done.stdout)

    def predicates(self, g, **wanted):
        found = [one["predicate"] for one in g.receipts()]
        return [one for one in found if all(one.get(name) == value for name, value in wanted.items())]

    def verify(self, g, *words, code=0):
        report = self.json_of(self.run_program("receipts", "verify", "--state", g.state, "--json", *words), code)
        return report, {finding["kind"] for finding in report["findings"]}

    # Canaries: what is marked is looked for in every byte that the program wrote.

    def written(self, g, *more):
        texts = {str(path): path.read_bytes() for path in g.folder.rglob("*")
                 if path.is_file() and path != g.config and "lock.json" not in path.name}
        texts["log"] = "\n".join(self.log_lines).encode()
        for number, one in enumerate(more):
            texts["output %d" % number] = one.encode()
        return texts

    def test_canaries_stay_out_of_all_that_is_written(self):
        g = self.leaking().start("--verbose")
        client = g.client().connect()
        marked = {"id": "7", "password": "canary-password-1", "pin": "canary-pin-2", "token": SHAPED, "deep": {"t": "canary-deep-3"},
                  "note": "Bearer canary-note-0123456789"}
        answers = [client.call("leak__" + tool, marked) for tool in ("look", "put", "fail", "refuse", "die") if tool != "fail"]
        self.assertIn(ENV, json.dumps(answers))  # the wire is untouched
        client.ask("tools/call", {"name": "leak__fail", "arguments": {**marked, "id": "8"}})
        wrong = client.call("leak__put", {**marked, "password": "canary-password-1" + "x" * 60, "pin": 5, "more": "canary-more-4"})
        self.assertEqual(code_of(wrong), "ARGUMENTS_INVALID")
        for secret in ("canary-password-1", "canary-pin", SHAPED):
            self.assertNotIn(secret, json.dumps(wrong))
        client.ask("tools/call", {"name": SHAPED, "arguments": {}})
        outputs = [self.owner(g, *words).stdout for words in (
            ("receipts", "list", "--limit", "100"), ("receipts", "list", "--json"), ("operations", "list"),
            ("operations", "list", "--json"), ("status",), ("approvals", "list", "--only", "all", "--json"))]
        outputs += [self.owner(g, "show", row["id"]).stdout
                    for row in self.json_of(self.owner(g, "operations", "list", "--json"))["operations"]]
        outputs.append(g.ask_control("GET", "/metrics", g.token("owner"))[1].decode())
        lines = g.process.lines
        g.stop()
        self.log_lines = lines
        outputs += [json.dumps(g.receipts())]
        for where, text in self.written(g, *outputs).items():
            for secret in (ENV, "canary-password-1", "canary-pin-2", SHAPED, "canary-deep-3", "canary-note", "canary-more-4"):
                self.assertNotIn(secret.encode(), text, where)
            tokens = [] if where.endswith(".token") else [g.token("owner"), g.token()]
            for token in tokens:
                self.assertNotIn(token.encode(), text, where)
        put = self.predicates(g, kind="intent", tool="put")[0]
        self.assertEqual(put["arguments"]["recorded"], {"/id": "7"})
        self.assertEqual(sorted(put["arguments"]["redacted"]), ["/note", "/password", "/pin", "/token"])
        outcome = self.predicates(g, kind="outcome", tool="put")[0]
        self.assertEqual(outcome["result"]["recorded"]["/id"], "7")
        self.assertNotIn("/token", outcome["result"]["recorded"])
        self.assertEqual(self.verify(g)[1] - {"intent-without-outcome"}, {"tail-not-anchored"})

    def test_what_waits_for_a_person_lies_sealed(self):
        g = self.leaking(rules=[]).start()
        client = g.client().connect()
        ask = self.ask(g, client, {"id": "7", "note": "canary-waiting-1"})
        self.assertIn("canary-waiting-1", self.owner(g, "approvals", "show", ask["id"]).stdout)
        for path in g.state.iterdir():
            if path.is_file():
                self.assertNotIn(b"canary-waiting-1", path.read_bytes(), path)
        self.assertEqual(self.owner(g, "approvals", "deny", ask["id"], "--reason", "no").returncode, 0)
        self.assertNotIn("canary-waiting-1", self.owner(g, "approvals", "show", ask["id"], "--json").stdout)

    # Checkpoints, anchors, proofs.

    def test_checkpoints_go_to_the_anchor_and_prove_single_receipts(self):
        anchor = self.folder / "elsewhere" / "anchor"
        anchor.parent.mkdir()
        g = self.leaking(receipts={"anchor": {"file": str(anchor)}}).start()
        client = g.client().connect()
        for number in range(5):
            client.call("leak__put", {"id": str(number)})
        note = self.owner(g, "receipts", "checkpoint")
        self.assertEqual(note.returncode, 0, note.stderr)
        self.assertTrue(anchor.read_text().endswith(note.stdout))
        g.stop()
        key, checkpoint_key = self.folder / "receipts.pub", self.folder / "checkpoint.pub"
        key.write_text(self.run_program("receipts", "key", "--state", g.state).stdout)
        checkpoint_key.write_text(self.run_program("receipts", "key", "--checkpoint", "--state", g.state).stdout)
        log = self.folder / "log.jsonl"
        self.run_program("receipts", "export", "--state", g.state, "--output", log)
        verified = self.json_of(self.run_program("receipts", "verify", log, "--key", key, "--checkpoint", anchor, "--checkpoint-key",
                                                 checkpoint_key, "--json"))
        self.assertEqual(verified["findings"], [])
        self.assertEqual(verified["anchored"], verified["entries"])
        for one in self.predicates(g)[::4]:
            proof = self.folder / "proof"
            self.assertEqual(self.run_program("receipts", "prove", one["id"], "--state", g.state, "--output", proof).returncode, 0)
            words = ("receipts", "verify", "--proof", proof, "--key", key, "--checkpoint-key", checkpoint_key, "--json")
            self.assertTrue(self.json_of(self.run_program(*words))["ok"])
            changed = proof.read_text().replace("index %d" % one["seq"], "index %d" % (one["seq"] + 1))
            proof.write_text(changed)
            self.assertFalse(self.json_of(self.run_program(*words), 1)["ok"])
        self.assertEqual(self.run_program("receipts", "prove", "rc_none", "--state", g.state).returncode, 1)

    def test_a_command_can_be_the_anchor(self):
        kept = self.folder / "kept"
        script = self.folder / "keep"
        script.write_text("#!/bin/sh\ncat >>%s\n" % kept)
        script.chmod(0o700)
        g = self.leaking(receipts={"anchor": {"command": [str(script)], "newest": ["tail", "-n", "6", str(kept)]}})
        kept.write_text("")
        g.start()
        g.stop()
        self.assertIn("sallyport.dev/", kept.read_text())
        g.start()
        g.stop()
        script.write_text("#!/bin/sh\nexit 3\n")
        g.start()
        g.client().connect().call("leak__put", {"id": "1"})
        made = self.owner(g, "receipts", "checkpoint")
        self.assertEqual(made.returncode, 0)
        self.assertIn("not anchored", made.stderr)
        self.assertIn("problem", self.json_of(self.owner(g, "status", "--json"))["checkpoint"])

    def copy(self, g, name):
        shutil.copytree(g.state, self.folder / name, ignore=lambda _, names: [one for one in names if one.endswith(".sock")])

    def put_back(self, g, name, keep=()):
        kept = {one: (g.state / one).read_bytes() for one in keep}
        shutil.rmtree(g.state)
        shutil.copytree(self.folder / name, g.state)
        for one, content in kept.items():
            (g.state / one).write_bytes(content)

    def refused(self, g):
        done = self.run_program("serve", "--config", g.config, "--port", "0", "--control-port", "0")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--accept-rollback", done.stderr)

    def test_verify_asks_the_anchor_of_the_config(self):
        anchor = self.folder / "anchor"
        g = self.leaking(receipts={"anchor": {"file": str(anchor)}}).start()
        g.stop()
        self.copy(g, "before")
        g.start()
        g.client().connect().call("leak__put", {"id": "7"})
        g.stop()

        def judged(code, *words):
            done = g.run("receipts", "verify", "--json", *words)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            report = json.loads(done.stdout)
            return report, {one["kind"] for one in report["findings"]}

        for words in ((), ("--checkpoint", anchor)):
            report, kinds = judged(0, *words)
            self.assertEqual((report["anchored"], kinds), (report["entries"], set()))
        self.put_back(g, "before", ())
        for words in ((), ("--checkpoint", anchor)):
            self.assertIn("shorter-than-checkpoint", judged(1, *words)[1])
        # Somebody took away from the anchor what was sent to it.
        anchor.unlink()
        done = g.run("receipts", "verify")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("somebody took away from it", done.stderr)
        config = json.loads(g.config.read_text())
        g.write({**config, "receipts": {"anchor": {"command": ["/bin/false"]}}})
        self.assertIn("was not looked at", g.run("receipts", "verify").stderr)

    def test_a_log_that_was_put_back_does_not_start_until_an_operator_says_so(self):
        anchor = self.folder / "anchor"
        g = self.leaking(rules=[], receipts={"anchor": {"file": str(anchor)}}).start()
        client = g.client().connect()
        ask = self.ask(g, client, {"id": "7"})
        g.stop()
        self.copy(g, "before")
        g.start()
        self.assertEqual(self.owner(g, "approvals", "approve", ask["id"], "--yes").returncode, 0)
        self.assertFalse(g.client().connect().call("sallyport_wait", {"id": ask["id"]}).get("isError"))
        g.stop()
        self.copy(g, "after")
        # The whole folder is put back: the anchor knows more. The store alone: the checkpoint beside it knows.
        for keep in ((), ("checkpoint",)):
            with self.subTest(keep=keep):
                self.put_back(g, "before", keep)
                self.refused(g)
        other = self.folder / "other.token"
        other.write_text("sp_nobody\n")
        accept = ("receipts", "checkpoint", "--accept-rollback", "--reason", "restored from the backup")
        self.assertEqual(g.run(*accept, "--token-file", other).returncode, 1)
        self.assertEqual(g.run(*accept, "--token-file", g.state / "client.token").returncode, 1)
        self.refused(g)
        accepted = self.owner(g, *accept)
        self.assertEqual(accepted.returncode, 0, accepted.stderr)
        self.assertEqual(self.owner(g, *accept).returncode, 1)  # there is nothing more to accept
        rollback, = self.predicates(g, kind="log")
        self.assertEqual((rollback["event"]["action"], rollback["event"]["by"]), ("rollback", "owner"))
        g.start()
        # Approved and carried out in the part that is gone: neither waits any more, and it is not called undone.
        self.assertEqual(self.json_of(self.owner(g, "approvals", "list", "--json"))["approvals"], [])
        self.assertNotEqual(self.owner(g, "approvals", "approve", ask["id"], "--yes").returncode, 0)
        unknown = self.json_of(self.owner(g, "operations", "list", "--only", "unknown", "--json"))["operations"]
        self.assertEqual([(one["basis"], one["unknown"]) for one in unknown], [("rollback", "lost")])
        self.assertEqual(code_of(g.client().connect().call("leak__put", {"id": "7"})), "BLOCKED_BY_UNKNOWN")
        # What the rules allow asks, if it names a key that only the lost part could know.
        g.write({**json.loads(g.config.read_text()), "policy": {"rules": [{"id": "all", "allow": {"server": "leak"}}]}})
        self.owner(g, "reload")
        done = self.owner(g, "policy", "accept", "--yes")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        client = g.client().connect()
        self.assertFalse(client.call("leak__put", {"id": "8"}).get("isError"))
        ask = self.ask(g, client, {"id": "9"}, {"dev.sallyport/idempotencyKey": "k-1"})
        self.assertEqual(ask["view"]["idempotencyKey"], "k-1")

    def test_another_checkpoint_key_is_not_taken_for_ours(self):
        anchor = self.folder / "anchor"
        g = self.leaking(receipts={"anchor": {"file": str(anchor)}}).start()
        g.stop()
        lines = anchor.read_text().rstrip("\n").split("\n")
        name, signature = lines[-1].rsplit(" ", 1)
        forged = bytearray(base64.b64decode(signature))
        forged[-1] ^= 1
        anchor.write_text("\n".join(lines[:-1] + ["%s %s" % (name, base64.b64encode(bytes(forged)).decode())]) + "\n")
        done = self.run_program("serve", "--config", g.config, "--port", "0", "--control-port", "0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did not sign", done.stderr)

    def test_a_pruned_log_is_verified_from_a_file_and_from_a_pipe(self):
        g = self.leaking(receipts={"retention": "1s"}).start()
        client = g.client().connect()
        for number in range(5):
            client.call("leak__put", {"id": str(number)})
        wait_until(lambda: self.predicates(g, kind="log"), "the pruning")
        g.stop()
        key = self.folder / "receipts.pub"
        key.write_text(self.run_program("receipts", "key", "--state", g.state).stdout)
        log = self.run_program("receipts", "export", "--state", g.state).stdout
        (self.folder / "log.jsonl").write_text(log)
        self.assertGreater(self.predicates(g)[0]["seq"], 0)
        for file in (self.folder / "log.jsonl", "-"):
            report = self.json_of(self.run_program("receipts", "verify", file, "--key", key, "--json", stdin=log))
            self.assertEqual({one["kind"] for one in report["findings"]}, {"pruned", "tail-not-anchored"})
        cut = "".join(log.splitlines(keepends=True)[1:])
        report = self.json_of(self.run_program("receipts", "verify", "-", "--key", key, "--json", stdin=cut), 1)
        self.assertIn("gap", {one["kind"] for one in report["findings"]})

    def test_a_grant_does_not_outlive_a_rollback(self):
        anchor = self.folder / "anchor"
        rules = [{"id": "put", "ask": {"server": "leak", "tool": "put"}, "approval": {"grants": True}}]
        g = self.leaking(rules=rules, receipts={"anchor": {"file": str(anchor)}}).start()
        ask = self.ask(g, g.client().connect(), {"id": "7"})
        granted = self.owner(g, "approvals", "approve", ask["id"], "--yes", "--this-run")
        self.assertEqual(granted.returncode, 0, granted.stderr)
        ident = self.json_of(self.owner(g, "grants", "list", "--json"))["grants"][0]["id"]
        self.assertIn(ident, self.owner(g, "show", ident).stdout)
        g.stop()
        self.copy(g, "before")
        g.start()
        self.assertEqual(self.owner(g, "grants", "revoke", ident, "--reason", "over").returncode, 0)
        g.stop()
        self.put_back(g, "before")
        self.refused(g)
        self.assertEqual(self.owner(g, "receipts", "checkpoint", "--accept-rollback", "--reason", "restored").returncode, 0)
        g.start()
        self.assertEqual(self.json_of(self.owner(g, "grants", "list", "--json"))["grants"], [])
        self.assertIn("void", [one["approval"].get("state") or one.get("event", {}).get("action")
                               for one in self.predicates(g, kind="approval")])

    def test_an_anchor_that_is_gone_does_not_go_unnoticed(self):
        anchor = self.folder / "anchor"
        g = self.leaking(receipts={"anchor": {"file": str(anchor)}}).start()
        g.stop()
        kept = anchor.read_text()
        anchor.unlink()
        self.refused(g)
        anchor.write_text(kept)
        g.start()
        g.stop()
        anchor.write_text(kept)  # an older copy of it
        self.refused(g)
        self.assertEqual(self.owner(g, "receipts", "checkpoint", "--accept-rollback", "--reason", "a new disk").returncode, 0)
        g.start()
        g.stop()
        report, kinds = self.verify(g, "--checkpoint", anchor, "--checkpoint-key", g.state / "checkpoint.pub")
        self.assertEqual(kinds, set())
        self.assertEqual(report["anchored"], report["entries"])

    # Keys.

    def test_the_signing_key_is_changed_and_the_old_one_says_so(self):
        g = self.leaking().start()
        first = self.folder / "first.pub"
        first.write_text((g.state / "receipts.pub").read_text())
        self.assertEqual(self.owner(g, "receipts", "key", "--rotate", "--reason", "yearly").returncode, 2)  # one owns the folder
        g.stop()
        self.assertEqual(g.run("receipts", "key", "--rotate", "--reason", "x", "--token-file", g.state / "client.token").returncode, 1)
        rotated = self.owner(g, "receipts", "key", "--rotate", "--reason", "yearly")
        self.assertEqual(rotated.returncode, 0, rotated.stderr)
        self.assertNotEqual(first.read_text(), (g.state / "receipts.pub").read_text())
        self.assertFalse((g.state / "receipts.key.next").exists())
        g.start()
        g.client().connect().call("leak__put", {"id": "1"})
        g.stop()
        created, changed = self.predicates(g, kind="key")
        self.assertEqual([created["seq"], created["event"]["action"], changed["event"]["action"]], [0, "created", "rotated"])
        log = self.folder / "log.jsonl"
        self.run_program("receipts", "export", "--state", g.state, "--output", log)
        report = self.json_of(self.run_program("receipts", "verify", log, "--key", first, "--json"))  # the first key alone
        self.assertEqual({one["kind"] for one in report["findings"]}, {"tail-not-anchored"})

    def test_the_checkpoint_key_is_changed_and_endorsed_by_the_old_one(self):
        anchor = self.folder / "anchor"
        g = self.leaking(receipts={"anchor": {"file": str(anchor)}}).start()
        g.client().connect().call("leak__put", {"id": "1"})
        g.stop()
        first = self.folder / "first.pub"
        first.write_text((g.state / "checkpoint.pub").read_text())
        old = (g.state / "checkpoint.key").read_text()
        rotated = self.owner(g, "receipts", "key", "--rotate", "--checkpoint", "--reason", "yearly")
        self.assertEqual(rotated.returncode, 0, rotated.stderr)
        self.assertNotEqual(first.read_text(), (g.state / "checkpoint.pub").read_text())
        # As a crash leaves it: recorded, and the old key still in its place.
        (g.state / "checkpoint.key").rename(g.state / "checkpoint.key.next")
        (g.state / "checkpoint.key").write_text(old)
        g.start()
        g.client().connect().call("leak__put", {"id": "2"})
        g.stop()
        self.assertFalse((g.state / "checkpoint.key.next").exists())
        report, kinds = self.verify(g, "--checkpoint", anchor, "--checkpoint-key", first)  # the first key alone
        self.assertEqual(kinds, set())
        self.assertEqual(report["anchored"], report["entries"])
        # A note of the old key is still ours; it does not cover what came after it.
        notes = anchor.read_text().split("sallyport.dev/")
        self.assertEqual({one["event"]["action"] for one in self.predicates(g, kind="key")}, {"created", "checkpoint-rotated"})
        self.assertGreater(len(notes), 3)

    def test_keys_that_others_can_read_are_refused(self):
        g = self.leaking().start()
        g.stop()
        for name in ("receipts.key", "checkpoint.key", "store.key", "fingerprint.key"):
            with self.subTest(name=name):
                (g.state / name).chmod(0o640)
                done = self.run_program("serve", "--config", g.config, "--port", "0", "--control-port", "0")
                self.assertEqual(done.returncode, 2)
                self.assertIn(name, done.stderr)
                (g.state / name).chmod(0o600)

    # Calls that are no good ones.

    def test_what_could_not_be_read_and_what_is_reserved_is_on_record(self):
        g = self.leaking().start()
        client = g.client().connect()
        asked = [("tools/call", {"arguments": {}}), ("tools/call", {"name": "leak__put", "arguments": [SHAPED]}),
                 ("tools/call", {"name": "sallyport_approve", "arguments": {"id": "ap_1"}}),
                 ("resources/read", {"uri": 5}), ("prompts/get", {"name": "x", "arguments": 1})]
        for method, params in asked:
            self.assertEqual(client.ask(method, params)["error"]["code"], -32602, params)
        g.stop()
        refusals = self.predicates(g, kind="refusal")
        self.assertEqual(len(refusals), len(asked))
        for one in refusals:
            self.assertEqual(one["outcome"], {"basis": "not-sent", "value": "none"})
            self.assertEqual(one["decision"]["verdict"], "deny")
        self.assertEqual([one.get("tool") for one in refusals].count("sallyport_approve"), 1)
        self.assertEqual(sorted(one["request"].get("method", "tools/call") for one in refusals), sorted(method for method, _ in asked))
        self.assertNotIn(SHAPED, json.dumps(refusals))

    # Questions to the log.

    def test_arguments_are_opened_for_auditors_and_each_reading_is_on_record(self):
        digest = lambda token: hashlib.sha256(token.encode()).hexdigest()
        people = [{"id": "user:ann", "tokenSha256": digest("ann"), "roles": ["auditor"]},
                  {"id": "user:bob", "tokenSha256": digest("bob"), "roles": ["operator", "approver"], "groups": ["owners"]}]
        g = self.leaking(people=people).start()
        for who in ("ann", "bob"):
            (self.folder / who).write_text(who + "\n")
        arguments = {"id": "7", "note": "hello", "pin": "canary-pin-9"}
        g.client().connect().call("leak__put", arguments)
        intent = self.predicates(g, kind="intent")[0]
        as_ann = lambda *words: g.run("receipts", "open", *words, "--json", "--token-file", self.folder / "ann")
        self.assertEqual(g.run("receipts", "open", intent["id"], "--token-file", self.folder / "bob").returncode, 1)
        opened = self.json_of(as_ann(intent["id"]))
        self.assertEqual(json.loads(opened["arguments"]), {"id": "7", "note": "hello"})
        self.assertTrue(opened["matches"])
        self.assertTrue(self.json_of(as_ann(intent["operation"], json.dumps(arguments)))["matches"])
        self.assertFalse(self.json_of(as_ann(intent["operation"], '{"id":"8","note":"hello"}'), 1)["matches"])
        read = self.predicates(g, kind="access")
        self.assertEqual([(one["event"]["action"], one["event"]["by"], one["event"]["details"]["matches"]) for one in read],
                         [("opened", "user:ann", "yes"), ("compared", "user:ann", "yes"), ("compared", "user:ann", "no")])
        for path in g.state.iterdir():
            if path.is_file():
                self.assertNotIn(b"hello", path.read_bytes().replace(b'"/note":"hello"', b""), path)

    def test_lists_are_narrowed_and_stories_told(self):
        g = self.leaking().start()
        client = g.client().connect()
        client.call("leak__put", {"id": "1"})
        client.call("leak__look", {"id": "1"})

        def kinds(*words):
            listed = self.json_of(self.owner(g, "receipts", "list", "--limit", "100", "--json", *words))["receipts"]
            return [one["kind"] for one in reversed(listed)]

        self.assertEqual(kinds("--effect", "record"), ["intent", "outcome"])
        self.assertEqual(kinds("--effect", "read"), ["call"])
        self.assertEqual(kinds("--since", "1h", "--tool", "put"), ["intent", "outcome"])
        self.assertEqual(kinds("--until", "yesterday"), [])
        self.assertEqual(self.owner(g, "receipts", "list", "--since", "soon").returncode, 2)
        intent = self.predicates(g, kind="intent")[0]
        story = self.owner(g, "receipts", "show", intent["operation"]).stdout
        for part in ("received", "decided", "allow (all says allow)", "sent", "answered", "applied (answered)", intent["id"]):
            self.assertIn(part, story)
        self.assertIn("applied (answered)", self.owner(g, "show", intent["id"]).stdout)
        # Every kind of id.
        run = self.owner(g, "show", intent["run"])
        self.assertEqual(run.returncode, 0, run.stderr)
        for one in self.predicates(g):
            self.assertEqual(one["id"] in run.stdout, one.get("run") == intent["run"], one)
        self.assertEqual(self.owner(g, "stop", "--server", "leak", "--reason", "one").returncode, 0)
        self.assertEqual(self.owner(g, "stop", "--all", "--reason", "two").returncode, 0)
        stops = self.json_of(self.owner(g, "stop", "--json"))["stops"]
        for one in stops:
            shown = self.json_of(self.owner(g, "show", one["id"], "--json"))["stops"]
            self.assertEqual([stop["reason"] for stop in shown], [one["reason"]])
        for unknown in ("gr_01KB9Z3W9Q8V5M0F7T2N6R4XHC", "st_01KB9Z3W9Q8V5M0F7T2N6R4XHC"):
            self.assertNotEqual(self.owner(g, "show", unknown).returncode, 0)

    def test_duplicates_are_told_from_what_is_known(self):
        g = self.leaking().start()
        client = g.client().connect()
        self.assertEqual(self.run_program("receipts", "duplicates", "--state", g.state).returncode, 0)
        client.call("leak__put", {"id": "1"})
        client.call("leak__put", {"id": "1"})
        client.call("leak__put", {"id": "2"})
        client.call("leak__put", {"id": "2", "deep": {"other": 1}})
        found = self.json_of(self.run_program("receipts", "duplicates", "--since", "1h", "--state", g.state, "--json"), 1)["duplicates"]
        self.assertEqual([(one["atLeast"], one["atMost"]) for one in found], [(2, 2), (2, 2)])
        self.assertEqual([one["why"].split(",")[0] for one in found], ["the same arguments", "alike in what is recorded"])
        words = self.run_program("receipts", "duplicates", "--tool", "put", "--state", g.state)
        self.assertIn("leak/put: carried out 2 times of 2 asked for, the same arguments", words.stdout)
        # What was asked for twice and done once, or not at all, is told as such; what fingerprints do not cover is said.
        for _ in range(2):
            client.call("leak__refuse", {"id": "1"})
        never = self.run_program("receipts", "duplicates", "--tool", "refuse", "--state", g.state)
        self.assertEqual(never.returncode, 0, never.stdout + json.dumps(self.predicates(g, tool="refuse")))
        self.assertIn("leak/refuse: carried out 0 times of 2 asked for, the same arguments\n", never.stdout)
        for pin in ("1", "2"):
            client.call("leak__put", {"id": "9", "pin": pin})
        hidden = self.run_program("receipts", "duplicates", "--since", "1h", "--state", g.state)
        self.assertIn("2 times of 2 asked for, the same arguments but for what is redacted: /pin\n", hidden.stdout)

    def test_equal_refusals_share_a_receipt_that_counts_them(self):
        g = self.leaking(rules=[{"id": "no", "deny": {"server": "leak", "tool": "put"}}]).start()
        client = g.client().connect()
        told = [client.call("leak__put", {"id": "1"}) for _ in range(6)]
        names = {one["_meta"]["dev.sallyport/call"]["receipt"] for one in told}
        self.assertEqual(len(names), 2)
        client.call("leak__put", {"id": "2"})
        g.stop(signal.SIGKILL)
        g.start()
        refusals = self.predicates(g, kind="refusal")
        self.assertEqual(sorted(one.get("count", 1) for one in refusals), [1, 1, 5])
        self.assertLessEqual(names, {one["id"] for one in refusals})
        client = g.client().connect()
        for _ in range(3):
            client.call("leak__put", {"id": "3"})
        g.stop()
        self.assertEqual(sorted(one.get("count", 1) for one in self.predicates(g, kind="refusal")), [1, 1, 1, 2, 5])

    # Every kind of tampering, on a copy of an honest log.

    def test_every_kind_of_tampering_is_named(self):
        g = self.leaking(rules=[{"id": "put", "ask": {"server": "leak", "tool": "put"}}, {"id": "look", "allow": {"server": "leak", "effect": "read"}}])
        g.start()
        client = g.client().connect()
        for number in range(3):
            client.call("leak__look", {"id": str(number)})
        ask = self.ask(g, client, {"id": "7"})
        self.assertEqual(self.owner(g, "approvals", "approve", ask["id"], "--yes").returncode, 0)
        g.client().connect().call("sallyport_wait", {"id": ask["id"]})
        g.stop()
        done = subprocess.run([sys.executable, "-B", str(SOURCE / "examples/quickstart/tamper.py"), PROGRAMS["sallyport"], str(g.state)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        kinds = set(re.findall(r"^.{50} ([a-z-]+): ", done.stdout, re.M))
        self.assertEqual(len(kinds), 13, done.stdout)  # every finding but `pruned`, which is no tampering

    def test_the_lines_of_the_docs_verify_a_log(self):
        g = self.leaking().start()
        g.client().connect().call("leak__put", {"id": "1"})
        g.stop()
        lines = re.search(r"^```bash$(.*?)^```$", (SOURCE / "docs/verify.md").read_text(), re.S | re.M).group(1)
        (self.folder / "log.jsonl").write_text(self.run_program("receipts", "export", "--state", g.state).stdout)
        (self.folder / "receipts.pub").write_text(self.run_program("receipts", "key", "--state", g.state).stdout)
        run = lambda: subprocess.run(["bash", "-c", lines], cwd=self.folder, capture_output=True, text=True, check=False)
        done = run()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("every signature and every link holds", done.stdout)
        log = self.folder / "log.jsonl"
        log.write_text("".join(log.read_text().splitlines(keepends=True)[:-2] + log.read_text().splitlines(keepends=True)[-1:]))
        self.assertEqual(run().returncode, 1)


if __name__ == "__main__":
    main()
