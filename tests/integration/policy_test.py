#!/usr/bin/env python3
"""Rules that change while the gateway runs: policy_test.py sallyport=PATH"""
import hashlib
import json
import os
import signal
import sys
import threading

from gateway import FIXTURE, Case, Http, code_of, main, wait_until

ODD = {"odd": {"command": sys.executable, "args": ["-B", FIXTURE]}}
TRUST = {"servers": {"odd": {"tools": {"raw": "read", "stderr": {"effect": "file", "errors": "none"}}}}}


def policy(*rules, **more):
    return {"default": "ask", "rules": list(rules), **more}


ALL = {"id": "all", "allow": {"server": "odd"}}
NO_RAW = {"id": "no-raw", "deny": {"server": "odd", "tool": "raw"}, "message": "Not now."}


class Policy(Case):
    def start(self, first, **config):
        self.file = self.folder / "policy.jsonc"
        self.write(first)
        g = self.gateway(servers=ODD, trust=TRUST, policy="policy.jsonc", **config)
        return g.start()

    def write(self, rules):
        """As editors do: a new file in the place of the old one."""
        new = self.folder / ".policy.new"
        new.write_text(rules if isinstance(rules, str) else json.dumps(rules))
        os.replace(new, self.file)

    def ask(self, g, *words, **options):
        return g.run(*words, "--token-file", g.state / "owner.token", **options)

    def view(self, g):
        status, body = g.ask_control("GET", "/api/v1/policy", g.token("owner"))
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def state_is(self, g, state):
        return wait_until(lambda: (found := self.view(g))["state"] == state and found, state)

    def policy_receipts(self, g):
        return [r["predicate"]["event"] for r in g.receipts() if r["predicate"]["kind"] == "policy"]

    def test_an_emergency_deny_is_in_force_as_soon_as_the_file_is_written(self):
        g = self.start(policy(ALL))
        client = g.client().connect()
        self.assertFalse(client.call("odd__raw", {"a": 1}).get("isError"))
        before = self.view(g)["policy"]
        # Its own test fails: it is taken all the same, because it only tightens.
        self.write(policy(ALL, NO_RAW, tests=[{"call": {"principal": "client:local", "server": "odd", "tool": "raw",
                                                        "arguments": {}}, "verdict": "allow"}]))
        wait_until(lambda: self.view(g)["policy"] != before, "the new policy")
        self.assertEqual(code_of(client.call("odd__raw", {"a": 1})), "POLICY_DENIED")
        self.assertIn("in_force", self.view(g)["state"])
        loads = self.policy_receipts(g)
        self.assertEqual([one["action"] for one in loads], ["loaded", "reloaded"])
        self.assertEqual(loads[1]["before"], before)
        digest = "sha256:" + hashlib.sha256(self.file.read_bytes()).hexdigest()
        self.assertEqual(loads[1]["details"][str(self.file)], digest)

    def test_what_may_loosen_waits_and_is_accepted_as_it_was_shown(self):
        g = self.start(policy(ALL, NO_RAW))
        client = g.client().connect()
        self.write(policy(ALL))
        g.process.child.send_signal(signal.SIGHUP)
        shown = self.state_is(g, "waiting")["waiting"]
        self.assertIn("no-raw", " ".join(shown["looser"]))
        self.assertEqual(code_of(client.call("odd__raw", {"a": 1})), "POLICY_DENIED")
        ready = json.loads(g.ask_control("GET", "/readyz", g.token("owner"))[1])
        self.assertEqual(ready["detail"]["policy"]["state"], "waiting")
        self.assertEqual(g.ask_control("POST", "/api/v1/policy/accept", g.token("owner"), {"digest": "sha256:" + "0" * 64})[0], 409)
        # Another file is another question.
        self.write(policy(ALL, {"id": "other", "deny": {"server": "odd", "tool": "stderr"}}))
        wait_until(lambda: self.view(g)["waiting"]["digest"] != shown["digest"], "the newer file")
        self.assertEqual(g.ask_control("POST", "/api/v1/policy/accept", g.token("owner"), {"digest": shown["digest"]})[0], 409)
        done = self.ask(g, "policy", "diff")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("looser: the deny `no-raw` is gone", done.stdout)
        done = self.ask(g, "policy", "accept", "--yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(client.call("odd__raw", {"a": 1}).get("isError"))
        self.assertEqual(code_of(client.call("odd__stderr", {"count": 1})), "POLICY_DENIED")
        last = self.policy_receipts(g)[-1]
        self.assertEqual((last["action"], last["by"], last["reason"]), ("reloaded", "owner", "accepted"))

    def test_a_client_that_is_taken_away_is_out_although_a_rule_still_names_it(self):
        digest = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("one", "two")}
        one = {"id": "agent:one", "tokenSha256": digest["one"], "groups": ["ops"]}
        two = {"id": "agent:two", "tokenSha256": digest["two"]}
        g = self.start(policy({"id": "r", "allow": {"server": "odd", "group": "ops"}},
                              {"id": "n", "deny": {"server": "odd", "tool": "stderr", "principal": "agent:one"}}),
                       clients=[one, two])
        client = Http(g, token="one").connect()
        self.assertFalse(client.call("odd__raw", {"a": 1}).get("isError"))
        g.write({**json.loads(g.config.read_text()), "clients": [two]})
        done = self.ask(g, "reload")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.view(g)["state"], "in_force")
        self.assertEqual(" ".join(self.view(g)["faults"]).count("is gone from the config"), 2)
        self.assertEqual(client.post(b'{"jsonrpc":"2.0","id":9,"method":"tools/list"}').status, 401)

    def test_accept_and_diff_are_about_the_file_as_it_lies_there(self):
        g = self.start(policy(ALL, NO_RAW))
        client = g.client().connect()
        for n in range(4):
            self.write(policy(ALL, {"id": "n%d" % n, "deny": {"server": "odd", "tool": "stderr", "arguments": {"count": n}}}))
            done = self.ask(g, "policy", "diff")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("is gone", done.stdout)
            done = self.ask(g, "policy", "accept", "--yes")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(code_of(client.call("odd__stderr", {"count": n})), "POLICY_DENIED")
        self.write(policy({"id": "all", "alow": {}}))
        for words in (("policy", "accept", "--yes"), ("policy", "diff")):
            done = self.ask(g, *words)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("did you mean `allow`", done.stdout + done.stderr)

    def test_a_file_that_goes_back_waits_for_nobody(self):
        g = self.start(policy(ALL, NO_RAW))
        self.write(policy(ALL))
        self.state_is(g, "waiting")
        self.write(policy(ALL, NO_RAW))
        self.state_is(g, "in_force")
        self.assertEqual(len(self.policy_receipts(g)), 1)

    def test_a_bad_file_leaves_the_old_one_and_says_so_everywhere(self):
        g = self.start(policy(ALL, NO_RAW))
        client = g.client().connect()
        self.write('{"rules": [ {"id": "all", "alow": {}} ]}')
        self.assertIn("alow", self.state_is(g, "refused")["refused"])
        g.process.said("reload.refused")
        detail = json.loads(g.ask_control("GET", "/readyz", g.token("owner"))[1])["detail"]["policy"]
        self.assertIn("policy.jsonc:1:", detail["refused"])
        self.assertIn("refused", self.ask(g, "status").stdout)
        done = self.ask(g, "reload")
        self.assertEqual(done.returncode, 1)
        self.assertIn("did you mean `allow`", done.stderr)
        self.assertEqual(code_of(client.call("odd__raw", {"a": 1})), "POLICY_DENIED")
        self.file.unlink()
        g.process.child.send_signal(signal.SIGHUP)
        wait_until(lambda: "alow" not in self.view(g)["refused"], "the missing file")
        self.assertEqual(code_of(client.call("odd__raw", {"a": 1})), "POLICY_DENIED")
        self.write(policy(ALL, NO_RAW))
        self.state_is(g, "in_force")

    def test_a_stop_in_the_middle_of_a_reload_lets_it_end(self):
        rules = [{"id": f"r{n}", "deny": {"server": "odd", "tool": "raw", "arguments": {"a": n}}} for n in range(4000)]
        g = self.start(policy(ALL, *rules))
        self.write(policy(ALL, *rules, NO_RAW))  # reading it takes longer than the stop of a gateway without work
        g.process.child.send_signal(signal.SIGHUP)
        g.stop()
        self.assertLessEqual(len(self.policy_receipts(g)), 2)

    def test_what_waits_is_decided_again(self):
        tokens = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("one", "dana")}
        g = self.start(policy({"id": "ask", "ask": {"server": "odd"}}),
                       clients=[{"id": "agent:one", "tokenSha256": tokens["one"], "hold": "300ms"}],
                       people=[{"id": "user:dana", "tokenSha256": tokens["dana"], "roles": ["approver", "operator"]}])
        client = Http(g, token="one").connect()
        result = client.call("odd__stderr", {"count": 1})
        self.assertEqual(code_of(result), "APPROVAL_PENDING")
        approval = result["_meta"]["dev.sallyport/call"]["approval"]
        page = json.loads(g.ask_control("GET", "/api/v1/approvals/" + approval, "dana")[1])
        self.write(policy({"id": "ask", "ask": {"server": "odd"}}, {"id": "no", "deny": {"server": "odd", "tool": "stderr"}}))
        wait_until(lambda: "no" in str(json.loads(g.ask_control("POST", "/api/v1/explain", "dana",
                   {"server": "odd", "tool": "stderr", "arguments": {"count": 1}})[1])["text"]), "the deny")
        g.ask_control("POST", "/api/v1/approvals/%s/approve" % approval, "dana", {"shown": page["shown"]})
        self.assertEqual(code_of(client.call("odd__stderr", {"count": 1})), "POLICY_DENIED")

    def test_clients_and_people_come_and_go_with_the_file(self):
        tokens = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("one", "two", "dana", "kim")}
        dana = {"id": "user:dana", "tokenSha256": tokens["dana"], "roles": ["approver", "operator"]}
        one, two = ({"id": "agent:" + name, "tokenSha256": tokens[name]} for name in ("one", "two"))
        g = self.start(policy(ALL), clients=[one, two], people=[dana])
        first, second = Http(g, token="one").connect(), Http(g, token="two").connect()
        settings = json.loads(g.config.read_text())
        g.write({**settings, "clients": [one]})  # who goes, goes at once
        wait_until(lambda: second.post({"jsonrpc": "2.0", "id": 9, "method": "ping"}).status == 401, "the end of agent:two")
        self.assertFalse(first.call("odd__raw", {"a": 1}).get("isError"))
        kim = {"id": "user:kim", "tokenSha256": tokens["kim"], "roles": ["watcher"]}
        g.write({**settings, "clients": [one, two], "people": [dana, kim]})  # who comes, waits for a yes
        wait_until(lambda: json.loads(g.ask_control("GET", "/api/v1/policy", "dana")[1])["state"] == "waiting", "the question")
        self.assertEqual(g.ask_control("GET", "/metrics", "kim")[0], 401)
        waiting = json.loads(g.ask_control("GET", "/api/v1/policy", "dana")[1])["waiting"]
        self.assertIn("client `agent:two` is new.", waiting["looser"])
        self.assertEqual(g.ask_control("POST", "/api/v1/policy/accept", "kim", {"digest": waiting["digest"]})[0], 401)
        self.assertEqual(g.ask_control("POST", "/api/v1/policy/accept", "dana", {"digest": waiting["digest"]})[0], 200)
        self.assertEqual(g.ask_control("GET", "/metrics", "kim")[0], 200)
        self.assertTrue(Http(g, token="two").connect().tools())

    def test_who_leaves_a_group_is_held_back_by_no_less_or_it_waits(self):
        hashes = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("one", "dana")}
        dana = {"id": "user:dana", "tokenSha256": hashes["dana"], "roles": ["operator"]}
        two = {"id": "agent:two", "tokenSha256": hashlib.sha256(b"two").hexdigest(), "groups": ["free", "held"]}

        def one(*groups):
            return {"id": "agent:one", "tokenSha256": hashes["one"], "groups": list(groups)}

        g = self.start(policy({"id": "free", "allow": {"server": "odd", "group": "free"}},
                              {"id": "held", "deny": {"server": "odd", "tool": "raw", "group": "held"}}, default="deny"),
                       clients=[one("free", "held"), two], people=[dana])
        settings = json.loads(g.config.read_text())
        client = Http(g, token="one").connect()
        self.assertFalse(client.call("odd__stderr", {"count": 1}).get("isError"))
        g.write({**settings, "clients": [one("held"), two]})  # an allow less: at once
        wait_until(lambda: len(self.policy_receipts(g)) == 2, "its receipt")
        self.assertEqual(code_of(Http(g, token="one").connect().call("odd__stderr", {"count": 1})), "POLICY_DENIED")
        g.write({**settings, "clients": [one(), two]})  # a deny less
        found = wait_until(lambda: (view := json.loads(g.ask_control("GET", "/api/v1/policy", "dana")[1]))["state"] == "waiting"
                           and view["waiting"], "the question")
        self.assertEqual(found["looser"], ["client `agent:one` is in other groups."])

    def test_definitions_that_are_accepted_leave_a_waiting_policy_waiting(self):
        g = self.start(policy(ALL, NO_RAW), accept=False)
        self.write(policy(ALL))
        self.state_is(g, "waiting")
        done = self.ask(g, "trust", "accept", "--yes", limit=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.view(g)["state"], "waiting")
        client = g.client().connect()
        self.assertEqual(code_of(client.call("odd__raw", {"a": 1})), "POLICY_DENIED")
        self.assertFalse(client.call("odd__stderr", {"count": 1}).get("isError"))

    def test_two_policies_compared_in_words(self):
        g = self.start(policy(ALL, NO_RAW))
        old = self.folder / "old.jsonc"
        old.write_text(json.dumps(policy(ALL)))
        done = g.run("policy", "diff", old)
        self.assertEqual((done.returncode, done.stdout), (0, "stricter: the deny `no-raw` is new.\n"), done.stderr)
        done = g.run("policy", "diff", self.file, old, "--json")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout)["looser"], ["the deny `no-raw` is gone."])
        old.write_text("{")
        self.assertEqual(g.run("policy", "diff", old).returncode, 2)

    def test_coverage_names_the_rules_that_no_test_touches(self):
        call = {"principal": "client:local", "server": "odd", "tool": "raw", "arguments": {}}
        g = self.start(policy(ALL, NO_RAW, {"id": "never", "ask": {"server": "odd", "tool": "stderr"}},
                              tests=[{"call": call, "verdict": "deny", "rules": ["no-raw"]}]))
        done = g.run("policy", "test")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        done = g.run("policy", "test", "--coverage")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no test touches the rule `never`\n2 of 3 rules are touched", done.stdout)

    def recorded(self):
        """A gateway that has answered a read, an allowed and a denied write, and is gone; its policy is `policy.jsonc`."""
        g = self.start(policy(ALL, {"id": "few", "deny": {"server": "odd", "tool": "stderr", "arguments": {"count": {"minimum": 5}}}}))
        client = g.client().connect()
        self.assertFalse(client.call("odd__raw", {"a": 1}).get("isError"))
        self.assertFalse(client.call("odd__stderr", {"count": 1}).get("isError"))
        self.assertEqual(code_of(client.call("odd__stderr", {"count": 9})), "POLICY_DENIED")
        self.assertEqual(code_of(client.call("odd__stderr", {"count": 1, "Count": 1})), "ARGUMENTS_INVALID")
        return g

    def test_replay_tells_what_would_have_been_decided_otherwise(self):
        g = self.recorded()
        g.stop()
        new = self.folder / "new.jsonc"
        new.write_text(json.dumps(policy(ALL, NO_RAW)))
        done = g.run("policy", "replay", "--policy", new, "--json")
        told = json.loads(done.stdout)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual((told["calls"], told["same"], told["looser"], told["stricter"], told["cannotTell"], told["notByRules"]),
                         (4, 1, 1, 1, 0, 1), told)
        done = g.run("policy", "replay", "--policy", new)
        self.assertIn("stricter: allow became deny by `no-raw`: 1 calls", done.stdout)
        self.assertIn("looser: deny became allow by `all`: 1 calls", done.stdout)
        # By its own policy: the writes hang on their arguments, which are gone.
        log = self.folder / "log.jsonl"
        self.assertEqual(g.run("receipts", "export", "--output", log).returncode, 0)
        done = g.run("policy", "replay", log)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cannot tell: `few` looks at what is gone, in 2 calls", done.stdout)
        log.write_text("{}\n")
        done = g.run("policy", "replay", log)
        self.assertEqual(done.returncode, 2)
        self.assertIn("line 1", done.stderr)

    def test_replay_leaves_out_what_no_rule_decided(self):
        g = self.start(policy({"id": "reads", "allow": {"server": "odd", "tool": "raw"}}))
        client = g.client().connect()
        self.assertFalse(client.call("odd__raw", {"a": 1}).get("isError"))
        for name in ("odd__nope", "nope__raw", "nope"):
            self.assertIn("error", client.ask("tools/call", {"name": name, "arguments": {}}))
        self.assertIn("error", client.ask("resources/read", {"uri": "nope://x"}))
        g.stop()
        done = g.run("policy", "replay", "--json")
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, told["looser"], told["stricter"], told["same"]), (0, 0, 0, 1), told)

    def test_explain_says_what_clients_are_not_told(self):
        hide = {"id": "h", "deny": {"server": "odd", "tool": "raw", "principal": "agent:*"}, "hide": True}
        g = self.start(policy(ALL, hide), clients=[{"id": "agent:one", "tokenSha256": hashlib.sha256(b"one").hexdigest()}])
        client = Http(g, token="one").connect()
        hidden, unknown = (client.ask("tools/call", {"name": name, "arguments": {}})["error"] for name in ("odd__raw", "odd__rax"))
        self.assertEqual((hidden["code"], hidden["message"].replace("raw", "rax")), (unknown["code"], unknown["message"]))

        def said(server, tool, principal="agent:one"):
            done = self.ask(g, "explain", server, tool, "{}", "--principal", principal)
            self.assertEqual(done.returncode, 1, done.stdout)
            offline = g.run("explain", server, tool, "{}", "--principal", principal, "--offline")
            self.assertEqual((offline.returncode, offline.stdout), (1, done.stdout))
            return done.stdout

        self.assertIn("`raw` is hidden from `agent:one` by the rule `h`", said("odd", "raw"))
        self.assertIn("Unknown tool `ra` of `odd`: did you mean `raw`?", said("odd", "ra"))
        self.assertIn("Unknown server `od`: did you mean `odd`?", said("od", "raw"))

    def test_a_stop_of_what_nobody_knows_is_in_force_and_says_so(self):
        g = self.start(policy(ALL), clients=[{"id": "agent:one", "tokenSha256": hashlib.sha256(b"one").hexdigest()}])
        Http(g, token="one").connect().tools()  # now the tools are known
        for words, near in ((("--server", "od"), "no server `od` is known: did you mean `odd`?"),
                            (("--server", "od", "--tool", "raw"), "no server `od` is known"),
                            (("--server", "odd", "--tool", "ra"), "no tool `ra` is known: did you mean `raw`?"),
                            (("--principal", "agent:on"), "no principal `agent:on` is known: did you mean `agent:one`?"),
                            (("--principal", "zzz"), "no principal `zzz` is known;")):
            done = self.ask(g, "stop", *words, "--reason", "x")
            self.assertEqual(done.returncode, 1, (words, done.stdout))
            self.assertIn(near, done.stderr)
            self.assertEqual(self.ask(g, "stop", *words, "--reason", "x", "--yes").returncode, 0, words)
        for words in (("--server", "odd"), ("--server", "odd", "--tool", "raw"), ("--principal", "agent:one"),
                      ("--principal", "local:7"), ("--principal", "owner"), ("--all",)):
            done = self.ask(g, "stop", *words, "--reason", "x")
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        self.assertEqual(len(json.loads(self.ask(g, "stop", "--json").stdout)["stops"]), 16)

    def test_names_that_do_not_exist_are_a_no(self):
        g = self.start(policy(ALL))
        for words in (("tools", "od"), ("tools", "od", "--json"), ("tools", "od", "--offline")):
            done = self.ask(g, *words)
            self.assertEqual((done.returncode, done.stdout), (1, ""), words)
            self.assertIn("there is no server `od`: did you mean `odd`?", done.stderr)
        for words in (("tools", "odd"), ("tools",), ("tools", "odd", "--offline")):
            self.assertEqual(self.ask(g, *words).returncode, 0, words)
        done = self.ask(g, "receipts", "list", "--kind", "bogus")
        self.assertEqual(done.returncode, 2)
        self.assertIn("reconciliation", done.stderr)
        for kind in {r["predicate"]["kind"] for r in g.receipts()}:
            self.assertIn(kind, self.ask(g, "receipts", "list", "--kind", kind).stdout)
        g.stop()
        for words in (("status",), ("operations", "list"), ("receipts", "list"), ("show", "op_1")):
            done = g.run(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn("no gateway", done.stderr, words)
            self.assertNotIn("login", done.stderr)

    def test_replay_reads_the_vault_of_a_running_gateway(self):
        hashes = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("one", "dana", "kim")}
        g = self.start(policy(ALL), clients=[{"id": "agent:one", "tokenSha256": hashes["one"]}],
                       people=[{"id": "user:dana", "tokenSha256": hashes["dana"], "roles": ["auditor"]},
                               {"id": "user:kim", "tokenSha256": hashes["kim"], "roles": ["approver"]}])
        client = Http(g, token="one").connect()
        for count in (1, 9):
            self.assertFalse(client.call("odd__stderr", {"count": count}).get("isError"))
        new = self.folder / "new.jsonc"
        new.write_text(json.dumps(policy(ALL, {"id": "few", "deny": {"server": "odd", "tool": "stderr",
                                                                     "arguments": {"count": {"minimum": 5}}}})))

        def replay(who):
            secret = self.folder / who
            secret.write_text(who)
            done = g.run("policy", "replay", "--policy", new, "--token-file", secret, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            return {**json.loads(done.stdout), "said": done.stderr}

        told = replay("dana")
        self.assertEqual(told["said"], "")
        self.assertEqual((told["calls"], told["same"], told["stricter"], told["cannotTell"]), (2, 1, 1, 0), told)
        self.assertEqual(told["changes"][0]["by"], "`few`")
        wait_until(lambda: sum(r["predicate"]["kind"] == "access" for r in g.receipts()) == 2, "a receipt of each reading")
        told = replay("kim")  # no auditor: the arguments stay closed, and that is said
        self.assertEqual((told["same"], told["stricter"], told["cannotTell"]), (0, 0, 2), told)
        self.assertIn("auditor", told["said"])
        self.assertEqual(sum(r["predicate"]["kind"] == "access" for r in g.receipts()), 2)

    def test_a_file_is_taken_as_a_whole_and_never_in_part(self):
        few = {"id": "few", "ask": {"server": "odd", "tool": "stderr"}}
        no_stderr = {"id": "no-stderr", "deny": {"server": "odd", "tool": "stderr"}}
        g = self.start(policy(ALL, NO_RAW))
        client = g.client().connect()
        self.write(policy(ALL, no_stderr))  # an emergency, and a deny less
        waiting = self.state_is(g, "waiting")["waiting"]
        self.assertEqual(waiting["stricter"], ["the deny `no-stderr` is new."])
        self.assertIn("no-stderr", g.process.said("reload.waits"))
        self.assertFalse(client.call("odd__stderr", {"count": 1}).get("isError"), "nothing of it is in force")
        self.assertIn("what is stricter waits too", self.ask(g, "policy", "diff").stdout)
        self.write(policy(ALL, NO_RAW, few))  # without the rest it needs nobody
        wait_until(lambda: (found := self.view(g))["state"] == "in_force" and found["policy"] != waiting["digest"], "the ask")
        wait_until(lambda: len(self.policy_receipts(g)) == 2, "its receipt")
        self.write(policy(ALL, NO_RAW, {"id": "few", "deny": few["ask"]}))  # what asked denies: nobody needs to agree
        wait_until(lambda: len(self.policy_receipts(g)) == 3, "its receipt")
        self.assertEqual(self.view(g)["state"], "in_force")
        self.assertEqual(code_of(client.call("odd__stderr", {"count": 1})), "POLICY_DENIED")

    def test_explain_answers_by_its_exit_code_and_as_the_gateway_would(self):
        g = self.start(policy(ALL, NO_RAW, budgets=[{"id": "few", "per": "run", "requests": 9}]))

        def explain(tool, *more):
            done = g.run("explain", "odd", tool, '{"count": 1}', *more)
            self.assertEqual(done.stderr, "")
            return done.returncode, done.stdout

        for offline in (False, True):
            if offline:
                g.stop()
            words = ("--offline",) if offline else ("--token-file", g.state / "owner.token")
            code, text = explain("raw", *words, "--principal", "client:local")
            self.assertEqual((code, text.splitlines()[0]), (1, "verdict: deny"), "although a rule of it allows")
            code, text = explain("stderr", *words, "--principal", "client:local")
            self.assertEqual((code, text.splitlines()[0]), (0, "verdict: allow"))
            self.assertIn("Counted by `few`", text)
            self.assertNotIn("has no client", text)
            code, text = explain("stderr", *words, "--principal", "agent:typo")
            self.assertIn("The config has no client `agent:typo`", text)
            code, text = explain("stderr", *words, "--principal", "anonymous:7")
            self.assertEqual((code, text.splitlines()[0]), (1, "verdict: ask"), text)
            self.assertIn("an anonymous client can only be allowed", text)

    def test_a_draft_from_recorded_calls_is_no_looser_than_they_were(self):
        g = self.recorded()
        g.stop()
        done = g.run("policy", "suggest")
        self.assertEqual(done.returncode, 0, done.stderr)
        draft = self.folder / "draft.jsonc"
        draft.write_text(done.stdout)
        done = g.run("policy", "replay", "--policy", draft)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + draft.read_text())
        self.file.write_text(draft.read_text())
        done = g.run("policy", "test", "--coverage")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(g.run("check", "--offline").returncode, 0, g.run("check", "--offline").stdout)

    def test_a_policy_of_fifty_megabytes_is_refused_by_name(self):
        g = self.start(policy(ALL, NO_RAW))
        client = g.client().connect()
        self.write('{"rules":[' + ",".join(json.dumps({"id": "r%d" % i, "deny": {"server": "odd", "arguments": {"a": "x" * 1000}}})
                                             for i in range(48_000)) + "]}")
        self.assertIn("policy.jsonc", self.state_is(g, "refused")["refused"])
        done = g.run("check", "--offline")
        self.assertEqual(done.returncode, 1)
        self.assertIn("policy.jsonc", done.stdout)
        self.assertLess(len(done.stdout), 2000)
        self.assertEqual(code_of(client.call("odd__raw", {"a": 1})), "POLICY_DENIED")

    def test_the_deadline_of_a_run_ends_what_was_sent_too(self):
        self.file = self.folder / "policy.jsonc"
        self.write(policy(ALL, budgets=[{"id": "run", "per": "run", "deadline": "4s"}]))
        trust = {"servers": {"odd": {"tools": {"raw": "read", "never": {"effect": "file"}}}}}
        g = self.gateway(servers=ODD, trust=trust, policy="policy.jsonc").start()
        client = g.client().connect()
        result = client.call("odd__never", {})  # by itself it would be waited for five minutes
        self.assertEqual(code_of(result), "OUTCOME_UNKNOWN", result)
        self.assertIn("did not answer `never` in time", result["content"][0]["text"])
        result = client.call("odd__raw", {"a": 1})
        self.assertEqual(code_of(result), "BUDGET_EXHAUSTED")
        self.assertIn("the run's deadline of 4s is over", result["content"][0]["text"])

    def test_a_budget_holds_however_often_the_gateway_is_killed(self):
        trust = {"servers": {"odd": {"tools": {"stderr": {"effect": "file", "errors": "none", "scope": "n-{/n}"}}}}}
        self.file = self.folder / "policy.jsonc"
        self.write(policy(ALL, budgets=[{"id": "tries", "per": "principal", "attempts": 30,
                                         "match": {"server": "odd", "tool": "stderr"}}]))
        g = self.gateway(servers=ODD, trust=trust, policy="policy.jsonc")
        numbers, answers, exhausted = iter(range(10**6)), [], threading.Event()

        def work(client):
            while not exhausted.is_set():
                try:
                    result = client.call("odd__stderr", {"count": 0, "n": next(numbers)})
                except Exception:  # the gateway is gone
                    return
                answers.append(result)
                if code_of(result) == "BUDGET_EXHAUSTED":
                    exhausted.set()

        for turn in range(4):
            g.start()
            before = len(answers)
            workers = [threading.Thread(target=work, args=(g.client().connect(),)) for _ in range(4)]
            for one in workers:
                one.start()
            if turn < 3:
                wait_until(lambda: len(answers) >= before + 4 or exhausted.is_set(), "some answers")
                g.stop(signal.SIGKILL)
            for one in workers:
                one.join(60)
        self.assertTrue(exhausted.is_set())
        g.stop()
        intents = [r for r in g.receipts() if r["predicate"]["kind"] == "intent"]
        self.assertEqual(len(intents), 30, "as many as the budget holds, whatever became of them")


if __name__ == "__main__":
    main()
