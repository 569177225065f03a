#!/usr/bin/env python3
"""Owners, bridges and the commands around them: processes_test.py sallyport=PATH"""
import json
import os
import re
import signal
import socket
import sys
import threading

from gateway import FIXTURE, LIMIT, PROGRAMS, SOURCE, Case, Lines, Process, descendants, environment, main, wait_until, words_of

ODD = {"command": sys.executable, "args": ["-B", FIXTURE]}
TRUST = {"servers": {"odd": {"tools": {"raw": "read", "sleep": "read", "inside": "read", "grandchild": "read"}}}}


class Processes(Case):
    def odd(self, **config):
        return self.gateway(servers={"odd": ODD}, trust=TRUST, **config)

    def bridge(self, gateway, *words, **options):
        return Lines(self, [PROGRAMS["sallyport"], "stdio", "--config", gateway.config, *words], **options)

    def owners(self):
        """The owners that bridges started."""
        return [pid for pid, words in descendants() if " serve " in words]

    def end_owners(self):
        for pid in self.owners():
            os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not self.owners(), "the owners end")

    # ---- bridges

    def test_stdio_starts_an_owner_that_is_shared_and_outlives_its_clients(self):
        g = self.odd(listen={"port": 0}, control={"port": 0})
        self.addCleanup(self.end_owners)
        first = self.bridge(g)
        self.assertEqual(first.connect()["serverInfo"]["name"], "sallyport")
        owners = self.owners()
        self.assertEqual(len(owners), 1, descendants())
        second = self.bridge(g, "--server", "odd")
        second.connect()
        self.assertIn("raw", {tool["name"] for tool in second.tools()})
        self.assertIn("odd__raw", {tool["name"] for tool in first.tools()})
        inside = [json.loads(words_of(client.call(tool))) for client, tool in ((first, "odd__inside"), (second, "inside"))]
        self.assertEqual(inside[0]["pid"], inside[1]["pid"])  # one child for one principal
        self.assertEqual(first.close(), 0)
        self.assertIn("again", words_of(second.call("raw", {"a": "again"})))
        self.assertEqual(second.close(), 0)
        third = self.bridge(g)
        third.connect()
        self.assertEqual(json.loads(words_of(third.call("odd__inside")))["pid"], inside[0]["pid"])
        self.assertEqual(self.owners(), owners)
        self.assertEqual(third.close(), 0)
        self.end_owners()
        calls = [one["predicate"] for one in g.receipts() if one["predicate"]["kind"] == "call"]
        self.assertEqual({(one["gateway"]["boundary"], one["principal"]) for one in calls},
                         {("client-started", "local:%d" % os.getuid())})
        self.assertEqual(g.verify().returncode, 0)

    def test_two_bridges_at_once_start_one_owner(self):
        g = self.odd(listen={"port": 0}, control={"port": 0})
        self.addCleanup(self.end_owners)
        clients = [self.bridge(g) for _ in range(4)]
        for client in clients:
            client.connect()
        self.assertTrue(all("odd__raw" in {tool["name"] for tool in client.tools()} for client in clients))
        for client in clients:
            self.assertEqual(client.close(), 0)
        wait_until(lambda: len(self.owners()) == 1, "the owners that came too late end")

    def test_wrap_needs_no_file_and_asks(self):
        state = self.folder / "state"
        client = Lines(self, [PROGRAMS["sallyport"], "wrap", "--state", state, "--", sys.executable, "-B", FIXTURE])
        self.addCleanup(self.end_owners)
        client.connect()
        name = next(tool["name"] for tool in client.tools() if tool["name"].endswith("raw"))
        answers = []
        caller = threading.Thread(target=lambda: answers.append(client.call(name, {"wrapped": 1})))
        caller.start()

        def cli(*words):
            return self.run_program("--state", state, "--token-file", state / "owner.token", *words)

        def waiting():
            listed = cli("approvals", "list", "--json")
            return listed.returncode == 0 and json.loads(listed.stdout)["approvals"]

        ask, = wait_until(waiting, "an ask")
        self.assertEqual(cli("approvals", "approve", ask["id"], "--yes").returncode, 0)
        caller.join(LIMIT)
        self.assertIn("wrapped", words_of(answers[0]))
        self.assertEqual(client.close(), 0)
        self.end_owners()

    def test_stdout_of_a_bridge_carries_protocol_only(self):
        g = self.odd().start("--idle-exit", "10m")
        client = self.bridge(g, "--verbose")
        client.connect()
        client.send(b"not json")
        self.assertEqual(json.loads(client.receive_raw())["error"]["code"], -32700)
        client.send(b"[" * 5000 + b"]" * 5000)
        self.assertIn("error", json.loads(client.receive_raw()))
        client.call("odd__raw")
        for note in client.notes:
            self.assertEqual(note["jsonrpc"], "2.0")

    def test_a_bridge_presents_a_token(self):
        g = self.odd().start()
        client = self.bridge(g, "--token-file", g.state / "client.token")
        client.connect()
        client.call("odd__raw")
        client.close()
        wrong = self.folder / "wrong.token"
        wrong.write_text("sp_wrong\n")
        for words in (("--token-file", wrong), ("--token-file", g.state / "owner.token"), ("--server", "nobody")):
            refused = g.run("stdio", *words, stdin="")
            self.assertEqual((refused.returncode, refused.stdout), (2, ""), words)
            self.assertTrue(refused.stderr.startswith("sallyport: "), refused.stderr)
        g.stop()
        self.assertEqual([one["predicate"]["principal"] for one in g.receipts() if one["predicate"]["kind"] == "call"], ["client:local"])

    def test_the_owner_is_killed_under_a_bridge(self):
        g = self.odd().start()
        client = self.bridge(g)
        client.connect()
        client.call("odd__raw")
        g.stop(signal.SIGKILL)
        self.assertEqual(client.process.child.wait(LIMIT), 2)
        self.assertTrue(client.process.said("sallyport: "))

    # ---- the owner's life

    def test_an_idle_owner_ends(self):
        g = self.odd().start("--idle-exit", "1s")
        client = self.bridge(g)
        client.connect()
        client.call("odd__raw")
        self.assertEqual(client.close(), 0)
        self.assertEqual(g.process.child.wait(LIMIT), 0)
        self.assertIn("ended", [one["predicate"].get("event", {}).get("action") for one in g.receipts()])

    def test_a_second_owner_is_refused_and_the_first_is_named(self):
        g = self.odd().start()
        second = g.run("serve", "--port", "0", "--control-port", "0")
        self.assertEqual(second.returncode, 2)
        self.assertIn(str(g.pid), second.stderr)
        self.assertIn(str(g.state), second.stderr)
        g.client().connect().call("odd__raw")
        g.stop()
        g.start()

    def test_a_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            g = self.odd()
            for flags in (("--port", taken.getsockname()[1], "--control-port", 0), ("--control-port", taken.getsockname()[1], "--port", 0)):
                done = g.run("serve", *flags)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("127.0.0.1:%d" % taken.getsockname()[1], done.stderr)
        g.start()  # what was begun is cleared away

    def test_sigterm_lets_a_call_end_and_leaves_nothing(self):
        g = self.odd().start()
        client = g.client().connect()
        client.call("odd__grandchild")
        answers = []
        caller = threading.Thread(target=lambda: answers.append(client.call("odd__sleep", {"ms": 1500})))
        caller.start()
        owner = g.token("owner")
        wait_until(lambda: b'"callsInFlight":1' in g.ask_control("GET", "/api/v1/status", owner)[1], "the call is under way")
        self.assertEqual(g.stop(), 0)
        caller.join(LIMIT)
        self.assertEqual(words_of(answers[0]), "slept")

    # ---- files

    def test_a_config_that_cannot_be_read(self):
        absent = self.run_program("serve", "--config", self.folder / "absent.jsonc")
        folder = self.run_program("serve", "--config", self.folder)
        open_to_all = self.folder / "open.jsonc"
        open_to_all.write_text("{}")
        open_to_all.chmod(0o666)
        writable = self.run_program("serve", "--config", open_to_all)
        junk = self.folder / "junk.jsonc"
        junk.write_bytes(b"{ \"mcpServers\": \xff }")
        bytes_ = self.run_program("serve", "--config", junk)
        results = [(absent, "absent.jsonc"), (folder, str(self.folder)), (writable, "open.jsonc"), (bytes_, "junk.jsonc")]
        if os.geteuid() != 0:
            closed = self.folder / "closed.jsonc"
            closed.write_text("{}")
            closed.chmod(0)
            results.append((self.run_program("serve", "--config", closed), "closed.jsonc"))
        for done, name in results:
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(name, done.stderr)

    def test_check_names_five_faults_at_once(self):
        config = self.folder / "sallyport.jsonc"
        config.write_text("""{
  "mcpServers": { "a": { "command": "true", "autostart": 1 } },
  "listen": { "address": "0.0.0.0", "port": 8720 },
  "lissten": {},
  "people": [ { "id": "user:dana", "tokenSha256": "abc", "roles": ["approver"] } ],
  "policy": { "rules": [ { "id": "x", "deny": { "server": "nobody" } } ] },
  "limits": { "depth": "deep" }
}
""")
        for words in ((), ("--offline",)):
            done = self.run_program("check", "--config", config, *words)
            self.assertEqual(done.returncode, 1, done.stderr)
            for line, part in ((2, "autostart"), (3, "0.0.0.0"), (4, "lissten"), (5, "SHA-256"), (7, "whole number")):
                self.assertTrue(re.search(r"sallyport\.jsonc:%d:\d+: .*%s" % (line, re.escape(part)), done.stdout), (line, part, done.stdout))
        named = json.loads(self.run_program("check", "--config", config, "--json").stdout)
        self.assertGreaterEqual(len(named["faults"]), 5)

    def test_init_from_a_client_file_and_then_serve(self):
        desktop = self.folder / ".config/Claude/claude_desktop_config.json"
        desktop.parent.mkdir(parents=True)
        theirs = json.dumps({"mcpServers": {"odd": {**ODD, "autoApprove": ["raw"]}}, "globalShortcut": "Ctrl+Space"}, indent=2)
        desktop.write_text(theirs)
        env = environment(HOME=str(self.folder), XDG_CONFIG_HOME=str(self.folder / ".config"))
        state = ("--state", str(self.folder / "state"))  # root's would be the system's
        done = self.run_program("init", desktop, "--yes", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("sallyport", done.stdout)
        self.assertEqual(desktop.read_text(), theirs)
        made = self.folder / ".config/sallyport"
        self.assertEqual({path.name for path in made.iterdir()},
                         {"sallyport.jsonc", "trust.jsonc", "policy.jsonc", "trust.lock.json", "owner.token"})
        self.assertEqual((made / "owner.token").stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.run_program("check", *state, env=env).returncode, 0)
        again = self.run_program("init", desktop, "--yes", env=env)
        self.assertEqual(again.returncode, 2, again.stderr)
        server = Process([PROGRAMS["sallyport"], "serve", "--port", "0", "--control-port", "0", *state], env=env)
        self.addCleanup(server.end)
        server.said("sallyport: clients: ")
        client = Lines(self, [PROGRAMS["sallyport"], "stdio", *state], env=env)
        client.connect()
        self.assertIn("odd__raw", {tool["name"] for tool in client.tools()})
        client.close()
        self.assertEqual(server.end(), 0)

    def test_init_without_a_person_believes_no_server(self):
        server = {"command": sys.executable, "args": ["-B", str(SOURCE / "tests/fixtures/servers/full_server.py")]}
        theirs = self.folder / "mcp.json"
        theirs.write_text(json.dumps({"mcpServers": {"full": server}}))
        env = environment(HOME=str(self.folder), XDG_CONFIG_HOME=str(self.folder / ".config"))
        done = self.run_program("init", theirs, "--yes", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("say of themselves that they only read", done.stderr)
        made = self.folder / ".config/sallyport"
        claimed = re.findall(r"\n  full/(\S+)", done.stderr)
        self.assertTrue(claimed)
        for name in claimed:
            self.assertRegex((made / "trust.jsonc").read_text(), r'\n *// "%s": "…",' % re.escape(name))
        self.assertIn('// { "id": "reads"', (made / "policy.jsonc").read_text())
        self.assertEqual(self.run_program("check", "--state", self.folder / "state", env=env).returncode, 0)


if __name__ == "__main__":
    main()
