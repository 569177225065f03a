"""The legacy versions with the whole program in between: resources, prompts, completion, logging, subscriptions; one server
and several, over HTTP and stdio."""
import json
import shlex
import sys
import time

import gateway as tools
from events import METHODS, Events, hash_of, setup
from gateway import OURS, PROGRAMS, Case, Lines, code_of, main, wait_until


class OneServer(Case):
    def client(self, **more):
        return self.gateway(**setup("a", **more)).start().client("/servers/a/mcp").connect()

    def test_capabilities_are_the_servers(self):
        gateway = self.gateway(**setup("a")).start()
        declared = Events(gateway, "/servers/a/mcp").initialized["capabilities"]
        self.assertEqual(declared, {"tools": {"listChanged": True}, "logging": {}, "prompts": {"listChanged": True},
                                    "resources": {"subscribe": True, "listChanged": True}, "completions": {}})

    def test_capabilities_that_no_server_has_are_not_declared(self):
        gateway = self.gateway(servers={"s": {"command": sys.executable, "args": ["-B", tools.FIXTURE]}}).start()
        self.assertEqual(Events(gateway).initialized["capabilities"], {"tools": {"listChanged": True}, "logging": {}})

    def test_c122_lists_keep_their_bytes(self):
        client = self.client()
        answer = client.post({"jsonrpc": "2.0", "id": 1, "method": "prompts/list"}).raw_message(1)
        self.assertIn(b'{"name":"greet","title":"Gr\\u00fc\\u00dfe","icons":[{"src":"https://x/i.png"}],'
                      b'"arguments":[{"name":"who","required":true}],"x":1.00},{ "name" : "weird name/a" , "description":"odd" }', answer)
        self.assertIn(b'"x-page":1.50', answer)
        answer = client.post({"jsonrpc": "2.0", "id": 2, "method": "resources/list"}).raw_message(2)
        self.assertIn(b'{"uri":"a://two","name":"two","annotations":{"priority":0.50}}', answer)

    def test_c079_pages_follow_cursors_of_our_own(self):
        client = self.client()
        first = client.ask("prompts/list")["result"]
        self.assertNotIn("at", first["nextCursor"].lower()[:2])
        second = client.ask("prompts/list", {"cursor": first["nextCursor"]})["result"]
        self.assertEqual([prompt["name"] for prompt in first["prompts"] + second["prompts"]], ["greet", "weird name/a", "third"])
        self.assertNotIn("nextCursor", second)
        for bad in ["x", first["nextCursor"] + "A", "at +/%=2", 7]:
            self.assertEqual(client.ask("prompts/list", {"cursor": bad})["error"]["code"], -32602, bad)
        self.assertEqual(client.ask("resources/list", {"cursor": first["nextCursor"]})["error"]["code"], -32602)

    def test_reads_keep_their_bytes_and_leave_receipts(self):
        gateway = self.gateway(**setup("a")).start()
        client = gateway.client("/servers/a/mcp").connect()
        raw = client.post({"jsonrpc": "2.0", "id": 7, "method": "resources/read", "params": {"uri": "a://one"}}).raw_message(7)
        self.assertIn(b'"contents":[{"uri":"a://one","text":"content of a","v":1.00}],', raw)
        self.assertIn(b'"com.example/c":1', raw)
        self.assertEqual(json.loads(raw)["result"]["_meta"][OURS]["verdict"], "allow")
        prompt = client.ask("prompts/get", {"name": "greet", "arguments": {"who": "x"}})["result"]
        self.assertEqual(prompt["messages"][0]["content"]["text"], 'greet of a: {"who": "x"}')
        complete = client.ask("completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"},
                                                      "argument": {"name": "who", "value": "x"}})["result"]
        self.assertEqual(complete["completion"]["values"][0], "a")
        gateway.stop()
        receipts = [each["predicate"] for each in gateway.receipts() if each["predicate"]["kind"] == "call"]
        self.assertEqual([each["request"]["method"] for each in receipts], METHODS[1:])
        self.assertEqual(receipts[0]["uri"], "a://one")
        self.assertEqual([each.get("tool") for each in receipts], [None, "greet", "greet"])
        for each in receipts:
            self.assertEqual(each["effect"]["effective"]["category"], "read")
            self.assertEqual(each["decision"]["verdict"], "allow")
        self.assertEqual(gateway.verify().returncode, 0)

    def test_errors_of_the_server_pass(self):
        client = self.client()
        missing = client.ask("resources/read", {"uri": "a://missing"})["error"]
        self.assertEqual((missing["code"], missing["data"]), (-32002, {"uri": "a://missing"}))
        unknown = client.ask("prompts/get", {"name": "nobody"})["error"]
        self.assertEqual((unknown["code"], unknown["message"], unknown["data"]), (-32602, "no such prompt", {"n": 1}))

    def test_malformed_requests_are_refused(self):
        client = self.client()
        for method, params in [("resources/read", {}), ("resources/read", {"uri": 7}), ("prompts/get", {"name": None}),
                               ("prompts/get", {"name": "greet", "arguments": []}), ("completion/complete", {"ref": {}}),
                               ("completion/complete", {"ref": {"type": "ref/x", "name": "g"}, "argument": {"name": "a", "value": "b"}}),
                               ("resources/subscribe", {})]:
            self.assertEqual(client.ask(method, params)["error"]["code"], -32602, (method, params))
        twice = client.post(b'{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"greet","Name":"third"}}')
        self.assertEqual((twice.status, twice.message()["error"]["code"]), (400, -32600))

    def test_rules_decide_of_reads(self):
        options = setup("a")
        options["policy"] = {"default": "ask", "rules": [
            {"id": "some", "allow": {"server": "a", "method": ["resources/read"], "uri": "a://one"}},
            {"id": "never", "deny": {"server": "a", "method": ["prompts/get"], "tool": "third"}, "message": "Not that one."},
            {"id": "hid", "deny": {"server": "a", "method": ["resources/read"], "uri": "a://two"}, "hide": True}]}
        gateway = self.gateway(**options).start()
        client = gateway.client("/servers/a/mcp").connect()
        self.assertIn("result", client.ask("resources/read", {"uri": "a://one"}))
        denied = client.ask("prompts/get", {"name": "third"})["error"]
        self.assertEqual((denied["code"], denied["data"]["code"], denied["data"]["outcome"]), (8720, "POLICY_DENIED", "none"))
        self.assertIn("Not that one.", denied["message"])
        self.assertTrue(denied["data"]["receipt"].startswith("rc_"))
        self.assertEqual(client.ask("resources/read", {"uri": "a://two"})["error"]["code"], -32002)
        self.assertEqual(client.ask("resources/subscribe", {"uri": "a://two"})["error"]["code"], -32002)
        uris = [each["uri"] for each in client.ask("resources/list")["result"]["resources"]]
        self.assertEqual(uris, ["a://one"])

    def test_a_read_that_a_rule_asks_for_waits_and_then_runs(self):
        options = setup("a")
        options["policy"] = {"rules": [{"id": "tools", "allow": {"server": "a"}}]}
        options["clients"] = [{"id": "agent", "tokenSha256": hash_of("agent-token"), "hold": "1s"}]
        gateway = self.gateway(**options).start()
        client = gateway.client("/servers/a/mcp", token="agent-token").connect()
        pending = client.ask("resources/read", {"uri": "a://one"})["error"]
        self.assertEqual((pending["code"], pending["data"]["code"]), (8720, "APPROVAL_PENDING"))
        approval = pending["data"]["approval"]
        status, page = gateway.ask_control("GET", "/api/v1/approvals/" + approval, gateway.token("owner"))
        self.assertEqual(status, 200, page)
        view = json.loads(page)
        self.assertIn("resources/read", json.dumps(view))
        status, said = gateway.ask_control("POST", "/api/v1/approvals/%s/approve" % approval, gateway.token("owner"),
                                           {"shown": view["shown"], "reason": "fine"})
        self.assertEqual(status, 200, said)
        read = client.ask("resources/read", {"uri": "a://one"})["result"]
        self.assertEqual(read["contents"][0]["text"], "content of a")

    def test_a_tool_that_needs_tasks_is_named_as_unusable(self):
        gateway = self.gateway(**setup("a")).start()
        client = gateway.client("/servers/a/mcp").connect()
        self.assertNotIn("task_only", [tool["name"] for tool in client.tools()])
        refused = client.call("task_only")
        self.assertEqual(code_of(refused), "TOOL_QUARANTINED")
        self.assertIn("task", tools.words_of(refused))

    def test_c119_c121_results_keep_what_nobody_knows(self):
        client = self.client()
        raw = client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                           "params": {"name": "echo", "arguments": {"text": "grüße"}}}).raw_message(1)
        self.assertIn(b'"icons":[{"src":"data:x","sizes":["1x1"]}]},{"type":"hologram","depth":1.00e2}]', raw)
        self.assertIn(b'"structuredContent":{"n":1.10,"big":12345678901234567890},"x-unknown":[1.0,2.50]', raw)
        self.assertIn(b'"com.example/a":1e2', raw)


class Aggregated(Case):
    def test_prompts_stand_under_exposed_names(self):
        gateway = self.gateway(**setup("a", "b")).start()
        client = gateway.client().connect()
        names, cursor = [], None
        while True:
            page = client.ask("prompts/list", {"cursor": cursor} if cursor else {})["result"]
            names += [prompt["name"] for prompt in page["prompts"]]
            cursor = page.get("nextCursor")
            if not cursor:
                break
        self.assertEqual(len(names), 6)
        self.assertEqual([name for name in names if "weird" not in name], ["a__greet", "a__third", "b__greet", "b__third"])
        weird = [name for name in names if name.startswith("b__weird")][0]
        self.assertRegex(weird, r"^b__weird-name-b_[0-9a-f]{10}$")
        got = client.ask("prompts/get", {"name": weird})["result"]
        self.assertIn("weird name/b of b", got["messages"][0]["content"]["text"])
        # A client that never listed finds them too.
        other = gateway.client().connect()
        self.assertIn("result", other.ask("prompts/get", {"name": "b__greet"}))
        self.assertEqual(other.ask("prompts/get", {"name": "greet"})["error"]["code"], -32602)
        self.assertEqual(other.ask("prompts/get", {"name": "c__greet"})["error"]["code"], -32602)

    def test_a_server_that_hangs_holds_up_nobody_who_wants_another(self):
        options = setup("a", "b")
        flag = self.folder / "hang"
        words = " ".join(shlex.quote(word) for word in [options["servers"]["b"]["command"], *options["servers"]["b"]["args"]])
        options["servers"]["b"] = {"command": "sh", "args": ["-c", "[ -e %s ] && exec sleep 600; exec %s" % (flag, words)]}
        gateway = self.gateway(**options)
        flag.touch()
        gateway.start()
        client = gateway.client().connect()
        for method, params in [("tools/call", {"name": "a__echo", "arguments": {"text": "x"}}), ("prompts/get", {"name": "a__greet"}),
                               ("resources/read", {"uri": "a://one"})]:
            begun = time.monotonic()
            self.assertIn("result", client.ask(method, params), method)
            self.assertLess(time.monotonic() - begun, 8, method)

    def test_prompts_keep_their_bytes_but_for_the_name(self):
        client = self.gateway(**setup("a", "b")).start().client().connect()
        raw = client.post({"jsonrpc": "2.0", "id": 1, "method": "prompts/list"}).raw_message(1)
        self.assertIn(b'{"name":"a__greet","title":"Gr\\u00fc\\u00dfe","icons":[{"src":"https://x/i.png"}],', raw)
        self.assertIn(b'"arguments":[{"name":"who","required":true}],"x":1.00}', raw)

    def test_resources_are_routed_by_their_uri(self):
        gateway = self.gateway(**setup("a", "b")).start()
        client = gateway.client().connect()
        for uri, owner in [("b://one", "b"), ("a://two", "a"), ("b://items/7", "b")]:
            answer = client.ask("resources/read", {"uri": uri})
            self.assertEqual(answer["result"]["contents"][0]["text"], "content of " + owner)
        both = client.ask("resources/read", {"uri": "shared://both"})["error"]
        self.assertEqual(both["code"], 8720)
        self.assertIn("`a`, `b`", both["message"])
        unknown = client.ask("resources/read", {"uri": "c://x"})["error"]
        self.assertEqual((unknown["code"], unknown["data"]), (-32002, {"uri": "c://x"}))
        templates = client.ask("resources/templates/list")["result"]["resourceTemplates"]
        self.assertEqual([each["uriTemplate"] for each in templates], ["a://items/{id}", "b://items/{id}"])

    def test_completions_map_what_they_refer_to(self):
        client = self.gateway(**setup("a", "b")).start().client().connect()
        argument = {"name": "who", "value": "x"}
        by_prompt = client.ask("completion/complete", {"ref": {"type": "ref/prompt", "name": "b__greet"}, "argument": argument})
        self.assertEqual(by_prompt["result"]["completion"]["values"], ["b", '{"type": "ref/prompt", "name": "greet"}'])
        by_template = client.ask("completion/complete", {"ref": {"type": "ref/resource", "uri": "a://items/{id}"},
                                                         "argument": argument})
        self.assertEqual(by_template["result"]["completion"]["values"][0], "a")

    def test_c082_a_broken_server_does_not_take_the_others(self):
        options = setup("a", "b")
        options["servers"]["x"] = {"command": "/nonexistent-command"}
        gateway = self.gateway(**options, accept=False)
        gateway.run("trust", "accept", "--yes")
        client = gateway.start().client().connect()
        self.assertEqual(len(client.ask("resources/list")["result"]["resources"]), 2)

    def test_everything_also_works_over_stdio(self):
        gateway = self.gateway(**setup("a", "b")).start()
        lines = Lines(self, [PROGRAMS["sallyport"], "stdio", "--config", gateway.config],
                      env=tools.environment(SALLYPORT_TOKEN=gateway.token()))
        lines.connect()
        self.assertEqual(lines.ask("resources/read", {"uri": "b://one"})["result"]["contents"][0]["text"], "content of b")
        self.assertIn("result", lines.ask("prompts/get", {"name": "a__third"}))
        self.assertEqual(lines.ask("resources/subscribe", {"uri": "a://one"})["result"], {})
        lines.call("a__touch", {"uri": "a://one"})
        self.assertEqual(lines.ask("ping")["result"], {})
        updated = wait_until(lambda: lines.ask("ping") and [n for n in lines.notes if n["method"].endswith("resources/updated")],
                             "the update")
        self.assertEqual(updated[0]["params"], {"uri": "a://one", "extra": 1})
        lines.close()


class Told(Case):
    def test_each_session_has_its_own_log_level(self):
        gateway = self.gateway(**setup("a")).start()
        loud, quiet, unset = (Events(gateway, "/servers/a/mcp") for _ in range(3))
        self.assertEqual(loud.ask(1, "logging/setLevel", {"level": "debug"})["result"], {})
        self.assertEqual(quiet.ask(1, "logging/setLevel", {"level": "error"})["result"], {})
        self.assertEqual(quiet.ask(2, "logging/setLevel", {"level": "loud"})["error"]["code"], -32602)
        levels = ["debug", "info", "error", "emergency"]
        for client, expected in [(loud, levels), (quiet, ["error", "emergency"]), (unset, levels)]:
            client.text(9, "log", {"levels": levels})
            got = [note["params"]["level"] for note in client.told("notifications/message", len(expected))]
            self.assertEqual(got, expected)
        self.assertEqual(loud.notes[0]["params"]["_meta"], {"com.example/k": 1})  # ours come from nobody else
        seen = json.loads(loud.text(10, "seen"))
        self.assertIn(["logging/setLevel", "debug"], seen)

    def test_logs_of_no_call_go_to_the_streams_of_that_principal(self):
        options = setup("a")
        options["clients"] = [{"id": "one", "tokenSha256": hash_of("t-one")}, {"id": "two", "tokenSha256": hash_of("t-two")}]
        gateway = self.gateway(**options).start()
        one, two = Events(gateway, "/servers/a/mcp", token="t-one"), Events(gateway, "/servers/a/mcp", token="t-two")
        one.listen(), two.listen()
        one.text(1, "log_later", {"levels": ["info"]})
        self.assertEqual(one.told("notifications/message")[0]["params"]["data"], "later")
        two.text(1, "log_later", {"levels": ["error"]})
        two.told("notifications/message")
        self.assertEqual([note["params"]["level"] for note in two.notes], ["error"])
        self.assertEqual([note["params"]["level"] for note in one.notes], ["info"])

    def test_c115_progress_has_the_clients_token_and_increases(self):
        gateway = self.gateway(**setup("a")).start()
        client = Events(gateway, "/servers/a/mcp")
        client.call(1, "progress", {"values": [1, 2, 2, 1.5, 3]}, progressToken="mine")
        got = [(note["params"]["progressToken"], note["params"]["progress"]) for note in client.told("notifications/progress", 3)]
        self.assertEqual(got, [("mine", 1), ("mine", 2), ("mine", 3)])
        # Without a token there is none on the other leg, and nothing comes.
        self.assertEqual(client.text(2, "progress", {"values": [1, 2]}), "null")
        self.assertEqual(len(client.notes), 3)

    def test_changes_of_lists_are_told_once(self):
        gateway = self.gateway(**setup("a", "b")).start()
        client, other = Events(gateway), Events(gateway, "/servers/b/mcp")
        client.listen(), other.listen()
        client.text(1, "a__change", {"list": "prompts", "times": 20})
        client.told("notifications/prompts/list_changed")
        client.text(2, "a__change", {"list": "resources", "times": 20})
        client.told("notifications/resources/list_changed")
        client.text(3, "b__change", {"list": "prompts"})
        other.told("notifications/prompts/list_changed")
        self.assertEqual([note["method"] for note in client.notes][:2],
                         ["notifications/prompts/list_changed", "notifications/resources/list_changed"])
        self.assertEqual([note["method"] for note in other.notes], ["notifications/prompts/list_changed"])

    def test_only_who_subscribed_hears_of_updates(self):
        gateway = self.gateway(**setup("a")).start()
        one, two = Events(gateway, "/servers/a/mcp"), Events(gateway, "/servers/a/mcp")
        one.listen(), two.listen()
        self.assertEqual(one.ask(1, "resources/subscribe", {"uri": "a://one"})["result"], {})
        self.assertEqual(two.ask(1, "resources/subscribe", {"uri": "a://two"})["result"], {})
        one.text(2, "touch", {"uri": "a://one"})
        self.assertEqual(one.told("notifications/resources/updated")[0]["params"], {"uri": "a://one", "extra": 1})
        one.text(8, "touch", {"uri": "a://one-more"})  # another one
        one.text(9, "touch", {"uri": "a://one/part"})
        heard = one.told("notifications/resources/updated", 2)
        self.assertEqual([note["params"]["uri"] for note in heard], ["a://one", "a://one/part"])
        one.text(3, "touch", {"uri": "a://two"})
        self.assertEqual(two.told("notifications/resources/updated")[0]["params"]["uri"], "a://two")
        self.assertEqual(one.ask(4, "resources/unsubscribe", {"uri": "a://one"})["result"], {})
        one.text(5, "touch", {"uri": "a://one"})
        two.text(6, "touch", {"uri": "a://two"})
        two.told("notifications/resources/updated", 2)
        self.assertEqual([len(each.notes) for each in (one, two)], [2, 2])
        self.assertIn(["resources/unsubscribe", "a://one"], json.loads(one.text(7, "seen")))

    def test_a_subscription_outlives_the_server_process(self):
        gateway = self.gateway(**setup("a")).start()
        client = Events(gateway, "/servers/a/mcp")
        client.listen()
        client.ask(1, "resources/subscribe", {"uri": "a://one"})
        before = json.loads(client.text(2, "who"))["pid"]
        client.ask(3, "tools/call", {"name": "die", "arguments": {}})
        # Told once it is subscribed anew, because it may have changed meanwhile.
        self.assertEqual(client.told("notifications/resources/updated")[0]["params"], {"uri": "a://one"})
        self.assertNotEqual(json.loads(client.text(4, "who"))["pid"], before)
        client.text(5, "touch", {"uri": "a://one"})
        client.told("notifications/resources/updated", 2)


if __name__ == "__main__":
    main()
