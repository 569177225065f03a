#!/usr/bin/env python3
"""What real servers declare, what is believed of it, and what holds: trust_test.py sallyport=PATH [CASE…]"""
import concurrent.futures
import json

import sys

from gateway import MODULES, SOURCE, Case, code_of, main

CONTRACTS = SOURCE / "examples/contracts"
LISTING = SOURCE / "tests/fixtures/servers/listing_server.py"
# In the manner of GitHub's server: annotations with titles, wide schemas, pictures in texts.
GITHUB = [
    {"name": "get_me", "description": "Details of the authenticated user ✅️", "annotations": {"title": "Get my profile", "readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {}}},
    {"name": "list_issues", "description": "List issues. For pagination, use the 'endCursor' from the previous response's 'pageInfo'.",
     "annotations": {"title": "List issues", "readOnlyHint": True},
     "inputSchema": {"type": "object", "required": ["owner", "repo"], "properties": {
         "owner": {"type": "string"}, "repo": {"type": "string"}, "perPage": {"type": "number", "minimum": 1, "maximum": 100},
         "state": {"type": "string", "enum": ["OPEN", "CLOSED"]}, "labels": {"type": "array", "items": {"type": "string"}}}}},
    {"name": "issue_write", "description": "Create or update an issue.", "annotations": {"title": "Create or update issue", "readOnlyHint": False},
     "inputSchema": {"type": "object", "required": ["method", "owner", "repo"], "properties": {
         "method": {"type": "string", "enum": ["create", "update"]}, "owner": {"type": "string"}, "repo": {"type": "string"},
         "title": {"type": "string"}}}},
    {"name": "merge_pull_request", "description": "Merge a pull request.", "annotations": {"title": "Merge pull request", "readOnlyHint": False},
     "inputSchema": {"type": "object", "required": ["owner", "repo", "pullNumber"], "properties": {
         "owner": {"type": "string"}, "repo": {"type": "string"}, "pullNumber": {"type": "number"}}}, "_meta": {"com.github/toolset": "pull_requests"}},
]


def tool(name, *members, **annotations):
    return {"name": name, "description": name.replace("_", " ") + ".", **({"annotations": annotations} if annotations else {}),
            "inputSchema": {"type": "object", "required": list(members), "properties": {one: {"type": "string"} for one in members}}}


# In the manner of the servers that are no npm packages: the names and arguments that their contracts speak of.
PYTHON = {
    "git": [tool("git_" + name, "repo_path", *more) for name, *more in (
        ("status",), ("diff", "target"), ("diff_staged",), ("diff_unstaged",), ("log",), ("show", "revision"), ("branch", "branch_type"),
        ("add", "files"), ("create_branch", "branch_name"), ("commit", "message"), ("checkout", "branch_name"), ("reset",), ("init",))],
    "fetch": [tool("fetch", "url", readOnlyHint=True)],
    "time": [tool("get_current_time", "timezone"), tool("convert_time", "source_timezone", "time", "target_timezone")]}
EFFECTS = {"git": {"read": 7, "file": 6}, "fetch": {"external": 1}, "time": {"read": 2}}


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

    def scripted(self, name="script", counter=False, **script):
        """A server that lists what is in a file, which the test may write again."""
        file = self.folder / (name + ".json")
        file.write_text(json.dumps({"lists": [[]], "results": {}, **script}, ensure_ascii=False))
        return {"command": sys.executable, "args": ["-B", str(LISTING), str(file), *([str(file) + ".turns"] if counter else [])]}

    def as_owner(self, gateway, *words):
        return gateway.run(*words, "--token-file", gateway.state / "owner.token")

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
        shown = self.tools(gateway)["everything", "get-env"]
        self.assertEqual(shown["state"], "accepted", "pinned, and no less doubted for it")
        effect = shown["effect"]
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
        # The same program at the same place, which serves another release: the difference is that of the definitions.
        script, release = self.folder / "server.py", self.folder / "release.json"
        script.write_text("import json, os\nos.execvp('node', json.load(open(%r)))\n" % (str(release),))
        for entry in (before, after):
            release.write_text(json.dumps(["node", *entry["args"]]))
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

    def test_an_acceptance_without_an_owner_is_of_what_was_shown(self):
        gateway = self.gateway(servers={"s": self.scripted(instructions="Be kind.")}, accept=False)
        shown = json.loads(gateway.run("trust", "show", "--json").stdout)["digest"]
        self.scripted(instructions="Be unkind.")
        refused = gateway.run("trust", "accept", "--yes", "--shown", shown)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn("not the review that --shown names", refused.stderr)
        self.assertFalse((self.folder / "trust.lock.json").exists())
        now = json.loads(gateway.run("trust", "show", "--json").stdout)["digest"]
        accepted = gateway.run("trust", "accept", "--shown", now, stdin="")
        self.assertEqual(accepted.returncode, 0, accepted.stderr)
        self.assertIn("unkind", (self.folder / "trust.lock.json").read_text())

    def test_prompts_templates_and_instructions_change_only_with_an_acceptance(self):
        before = {"instructions": "Be kind.", "prompts": [{"name": "greet", "description": "Greets"}],
                  "templates": [{"uriTemplate": "note://{id}", "name": "Note", "description": "A note"}]}
        after = {"instructions": "Be unkind.", "prompts": [{"name": "greet", "description": "Greets and tells"}],
                 "templates": [{"uriTemplate": "note://{id}", "name": "Note", "description": "Read it first"}]}
        policy = {"default": "deny", "rules": [{"id": "all", "allow": {"server": "s", "method": ["prompts/get", "resources/read"]}}]}

        def told(gateway):
            client = gateway.client("/servers/s/mcp").connect()
            return [client.ask("prompts/list")["result"]["prompts"], client.ask("resources/templates/list")["result"]["resourceTemplates"]]

        gateway = self.gateway(servers={"s": self.scripted(**before)}, policy=policy)
        gateway.start()
        self.assertEqual(told(gateway), [before["prompts"], before["templates"]])
        gateway.stop()
        self.scripted(**after)
        gateway.start()
        self.assertEqual(told(gateway), [before["prompts"], before["templates"]])
        client = gateway.client()
        self.assertIn("The server `s` says:\nBe kind.", client.connect().instructions)
        self.assertEqual(client.ask("prompts/get", {"name": "s__greet"})["error"]["data"]["code"], "POLICY_DENIED")
        diff = self.as_owner(gateway, "trust", "diff")
        self.assertEqual(diff.returncode, 1, diff.stderr)
        for part in ("prompt greet  changed", "resource template note://{id}  changed", "instructions  changed",
                     '- "Be kind."', '+ "Be unkind."', '+ "Greets and tells"', "3 not accepted as they are now."):
            self.assertIn(part, diff.stdout)
        accepted = self.as_owner(gateway, "trust", "accept", "s", "greet", "--yes")
        self.assertEqual(accepted.stdout, "accepted prompt greet of s\n", accepted.stderr)
        self.assertEqual(told(gateway), [after["prompts"], before["templates"]])
        accepted = self.as_owner(gateway, "trust", "accept", "--yes")
        self.assertIn("accepted instructions of s\n", accepted.stdout)
        self.assertEqual(told(gateway), [after["prompts"], after["templates"]])
        self.assertIn("Be unkind.", gateway.client().connect().instructions)
        self.assertIn("result", client.ask("prompts/get", {"name": "s__greet"}))
        self.assertIn("result", client.ask("resources/read", {"uri": "note://1"}))
        gateway.stop()
        events = [(one["predicate"]["event"]["action"], one["predicate"]["event"].get("details", {}).get("of"))
                  for one in gateway.receipts() if one["predicate"]["kind"] == "definition"]
        for kind in ("prompt", "resource template", "instructions"):
            self.assertIn(("drifted", kind), events)
        self.assertEqual(gateway.verify().returncode, 0)

    def test_one_of_two_replicas_that_says_something_else_is_used_once_it_is_accepted_too(self):
        tool = {"name": "look", "description": "Looks", "inputSchema": {"type": "object"}}
        other = {**tool, "description": "Looks, release 2"}
        # One process each for the acceptance, for the gateway's own look, and for the client.
        server = self.scripted(counter=True, lists=[[tool], [tool], [other]], results={"look": {"content": []}})
        gateway = self.gateway(servers={"s": server}, trust={"servers": {"s": {"onDrift": "quarantine", "tools": {"look": "read"}}}})
        gateway.start()
        client = gateway.client().connect()
        self.assertIn("s__look", [one["name"] for one in client.tools()])
        self.assertEqual(code_of(client.call("s__look")), "TOOL_QUARANTINED")
        done = self.as_owner(gateway, "trust", "accept", "s", "look", "--yes", "--also")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("isError", client.call("s__look"))
        lock = json.loads((self.folder / "trust.lock.json").read_text())
        self.assertEqual([one["definition"]["description"] for one in lock["servers"]["s"]["tools"]["look"]], ["Looks", "Looks, release 2"])

    def test_a_script_that_nobody_accepted_is_not_run_for_calls_and_the_accepted_one_is_again(self):
        script, ran = self.folder / "server.py", self.folder / "ran"
        text = LISTING.read_text()
        script.write_text(text)
        server = self.scripted(lists=[[GITHUB[0]]], results={"get_me": {"content": []}})
        server["args"][server["args"].index(str(LISTING))] = str(script)
        policy = {"default": "deny", "rules": [{"id": "all", "allow": {"server": "s"}}]}
        gateway = self.gateway(servers={"s": server}, policy=policy, trust={"servers": {"s": {"tools": {"get_me": "read"}}}})
        gateway.start()
        self.tools(gateway)
        script.write_text("open(%r, 'a').write('x')\n" % (str(ran),) + text)
        client = gateway.client().connect()
        refused = client.call("s__get_me")
        self.assertEqual(code_of(refused), "TOOL_QUARANTINED")
        self.assertIn("not the one that was accepted", refused["content"][0]["text"])
        self.assertFalse(ran.exists(), "not a line of it ran")
        # Looking at it is what starts it.
        review = self.as_owner(gateway, "trust", "diff")
        self.assertEqual(review.returncode, 1, review.stderr)
        self.assertIn("IDENTITY HAS CHANGED", review.stdout)
        self.assertEqual(self.tools(gateway)["s", "get_me"]["state"], "quarantined")
        self.assertTrue(ran.exists())
        script.write_text(text)
        review = self.as_owner(gateway, "trust", "diff")
        self.assertEqual(review.returncode, 0, review.stdout)
        self.assertNotIn("isError", client.call("s__get_me"))

    def test_a_silent_change_shows_wherever_people_look(self):
        gateway = self.gateway(servers={"s": self.scripted(lists=[[GITHUB[0]]])})
        gateway.start()
        self.assertEqual({tool for _, tool in self.tools(gateway)}, {"get_me"})
        # The server tells nobody; it was started already.
        self.scripted(lists=[GITHUB[:2]])
        done = self.as_owner(gateway, "trust", "diff")
        self.assertIn("list_issues", done.stdout)
        accepted = self.as_owner(gateway, "trust", "accept", "--yes")
        self.assertEqual(accepted.stdout, "accepted s/list_issues\n", accepted.stderr)
        again = self.as_owner(gateway, "trust", "accept", "--yes")
        self.assertEqual((again.returncode, again.stdout), (0, "nothing to accept\n"))
        gateway.stop()
        here = gateway.run("trust", "accept", "--yes")
        self.assertEqual((here.returncode, here.stdout), (0, "nothing to accept\n"), here.stderr)

    def test_acceptances_at_once_lose_nothing_of_each_other(self):
        names = ["a", "b", "c", "d"]
        servers = {name: self.scripted(name, lists=[[tool("look_" + name)]]) for name in names}
        gateway = self.gateway(servers=servers, accept=False)
        gateway.start()
        with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
            done = list(pool.map(lambda name: self.as_owner(gateway, "trust", "accept", name, "--yes"), names))
        for name, one in zip(names, done):
            self.assertEqual(one.returncode, 0, one.stderr)
            self.assertEqual(one.stdout, "accepted identity of %s\naccepted %s/look_%s\n" % (name, name, name))
        lock = json.loads((self.folder / "trust.lock.json").read_text())
        self.assertEqual({name: list(one["tools"]) for name, one in lock["servers"].items()}, {name: ["look_" + name] for name in names})
        self.assertEqual({one["state"] for one in self.tools(gateway).values()}, {"accepted"})

    def test_check_names_what_is_gone_and_what_is_not_tied_down(self):
        shell = self.scripted(lists=[GITHUB[:2]])
        gateway = self.gateway(servers={"s": {"command": "/bin/sh", "args": ["-c", " ".join([shell["command"], *shell["args"]])]}})
        self.scripted(lists=[GITHUB[:1]])
        check = gateway.run("check")
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
        self.assertIn("tool `list_issues`: it was accepted and is not offered any more", check.stdout)
        self.assertIn("server `s` is not tied down", check.stdout)
        self.assertIn("server `s` is not tied down", gateway.run("check", "--offline").stdout)

    def test_a_server_that_the_config_calls_otherwise_now_keeps_what_was_accepted(self):
        server = self.scripted(lists=[[GITHUB[0]]], results={"get_me": {"content": []}})
        gateway = self.gateway(servers={"old": server})
        settings = json.loads(gateway.config.read_text())
        settings["mcpServers"] = {"new": server}
        settings["policy"] = {"default": "deny", "rules": [{"id": "all", "allow": {"server": "new"}}]}
        gateway.write(settings)
        gateway.start()
        self.assertEqual(self.tools(gateway)["new", "get_me"]["state"], "accepted")
        self.assertNotIn("isError", gateway.client().connect().call("new__get_me"))

    def test_every_contract_that_ships_fits_what_it_speaks_of(self):
        servers = {name: self.scripted(name, lists=[tools]) for name, tools in PYTHON.items()}
        known = {"everything", "filesystem", "memory", "github", *PYTHON}
        self.assertEqual({file.stem for file in CONTRACTS.glob("*.jsonc")}, known, "each is held against a server here")
        gateway = self.gateway(servers=servers, trust=self.contracts(*PYTHON))
        check = gateway.run("check", "--offline")
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
        for doubt in ("no accepted tool", "warning"):
            self.assertNotIn(doubt, check.stdout + check.stderr)
        gateway.start()
        counts = {}
        for (server, _), one in self.tools(gateway).items():
            of = counts.setdefault(server, {})
            category = one["effect"]["effective"]["category"]
            of[category] = of.get(category, 0) + 1
        self.assertEqual(counts, EFFECTS)

    def test_definitions_in_the_manner_of_github_hold_and_fit_its_contracts(self):
        gateway = self.gateway(servers={"github": self.scripted(lists=[GITHUB])}, trust=self.contracts("github"))
        for _ in range(2):
            gateway.start()
            tools = self.tools(gateway)
            self.assertEqual({one["state"] for one in tools.values()}, {"accepted"})
            self.assertEqual({tool: one["effect"]["effective"]["category"] for (_, tool), one in tools.items()},
                             {"get_me": "read", "list_issues": "read", "issue_write": "external", "merge_pull_request": "external"})
            gateway.stop()


if __name__ == "__main__":
    main()
