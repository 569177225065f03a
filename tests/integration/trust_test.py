#!/usr/bin/env python3
"""What real servers declare, what is believed of it, and what holds: trust_test.py sallyport=PATH [CASE…]"""
import json

from gateway import MODULES, SOURCE, Case, code_of, main

CONTRACTS = SOURCE / "examples/contracts"


def node(package, *args):
    return {"command": "node", "args": [str(MODULES / package / "dist/index.js"), *args]}


class Trust(Case):
    def real(self, **more):
        files = self.folder / "files"
        files.mkdir(exist_ok=True)
        return {"everything": node("@modelcontextprotocol/server-everything", "stdio"),
                "filesystem": node("@modelcontextprotocol/server-filesystem", str(files)),
                "memory": {**node("@modelcontextprotocol/server-memory"),
                           "env": {"MEMORY_FILE_PATH": str(self.folder / "memory.json")}}, **more}

    def contracts(self, *names):
        return [str(CONTRACTS / (name + ".jsonc")) for name in names or ("everything", "filesystem", "memory")]

    def tools(self, gateway, *words):
        done = gateway.run("tools", "--json", "--token-file", gateway.state / "owner.token", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {(one["server"], one["tool"]): one for one in json.loads(done.stdout)["tools"]}

    def test_definitions_of_real_servers_hold_across_restarts(self):
        gateway = self.gateway(servers=self.real())
        lock = (self.folder / "trust.lock.json").read_bytes()
        for _ in range(2):
            gateway.start()
            states = {one["state"] for name, one in self.tools(gateway).items() if one.get("reason", "").find("as a task") < 0}
            self.assertEqual(states, {"accepted"})
            diff = gateway.run("trust", "diff", "--token-file", gateway.state / "owner.token")
            self.assertEqual(diff.returncode, 0, diff.stdout)
            gateway.stop()
            self.assertEqual((self.folder / "trust.lock.json").read_bytes(), lock)

    def test_get_env_stays_unrated_whatever_it_declares(self):
        gateway = self.gateway(servers=self.real(), trust=self.contracts(),
                               policy={"default": "deny", "rules": [{"id": "reads", "allow": {"effect": "read"}}]})
        gateway.start()
        effect = self.tools(gateway)["everything", "get-env"]["effect"]
        self.assertIs(effect["declared"]["readOnlyHint"], True)
        self.assertNotIn("assigned", effect)
        self.assertEqual((effect["effective"]["category"], effect["effective"]["destructive"]), ("unrated", True))
        client = gateway.client()
        client.connect()
        refused = client.ask("tools/call", {"name": "everything__get-env", "arguments": {}})
        self.assertEqual(code_of(refused["result"]), "POLICY_DENIED")
        listed = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
        self.assertNotIn("annotations", listed["everything__get-env"])
        self.assertIs(listed["everything__echo"]["annotations"]["readOnlyHint"], True)

    def test_two_releases_differ_by_what_they_say(self):
        files = self.folder / "files"
        files.mkdir()
        before, after = node("server-filesystem-before", str(files)), node("@modelcontextprotocol/server-filesystem", str(files))
        gateway = self.gateway(servers={"files": before})
        gateway.write({"mcpServers": {"files": after}, "trust": {"servers": {}}, "policy": {"default": "ask", "rules": []},
                       "state": "state"})
        shown = gateway.run("trust", "diff", "--report")
        self.assertEqual(shown.returncode, 1, shown.stderr)
        for part in ("It is not the server that was accepted", "## `write_file`: ", "- `/annotations`\n  - accepted: absent\n"):
            self.assertIn(part, shown.stdout)
        gateway.start()
        one = self.tools(gateway)["files", "write_file"]
        self.assertEqual(one["state"], "quarantined")
        self.assertIn("not the one that was accepted", one["reason"])
        gateway.stop()
        # The same program at the same place, with another text in it: the difference is that of the definitions.
        script = self.folder / "server.py"
        for entry in (before, after):
            script.write_text("import os\nos.execvp('node', %r)\n" % (["node", *entry["args"]],))
            gateway.write({"mcpServers": {"files": {"command": "/usr/bin/env", "args": ["python3", str(script)]}},
                           "trust": {"servers": {}}, "policy": {"default": "ask", "rules": []}, "state": "state"})
            if entry is before:
                gateway.accept()
        report = gateway.run("trust", "diff", "files", "write_file", "--report")
        self.assertEqual(report.returncode, 1, report.stderr)
        for part in ("## `write_file`: changed", "- `/annotations`\n  - accepted: absent\n", "- `/outputSchema`\n", "- `/title`\n"):
            self.assertIn(part, report.stdout)
        self.assertNotIn("`/name`", report.stdout)

    def test_contracts_that_ship_fit_their_servers_and_are_believed_only_when_accepted(self):
        gateway = self.gateway(servers=self.real(), trust=self.contracts(), accept=False)
        gateway.start()
        for one in self.tools(gateway).values():
            self.assertEqual((one["effect"]["effective"]["category"], one["effect"]["effective"]["destructive"]), ("unrated", True))
        gateway.stop()
        gateway.accept()
        check = gateway.run("check", "--offline")
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
        self.assertNotIn("no accepted tool", check.stdout + check.stderr)
        gateway.start()
        tools = self.tools(gateway)
        self.assertEqual(tools["filesystem", "write_file"]["effect"]["effective"]["category"], "file")
        self.assertEqual(tools["memory", "delete_entities"]["effect"]["effective"]["labels"], ["memory"])
        unrated = sorted(tool for (server, tool), one in tools.items()
                         if server != "everything" and one["effect"]["effective"]["category"] == "unrated")
        self.assertEqual(unrated, [], "every tool of these servers has a contract")


if __name__ == "__main__":
    main()
