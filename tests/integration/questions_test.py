"""What servers ask of clients, cancellation, and reports of the field (C…), with the whole program in between."""
import json
import sys

import gateway as tools
from events import EVERYTHING, Events, hash_of, setup
from gateway import PROGRAMS, Case, Lines, code_of, main, wait_until


class Asked(Case):
    FORM = {"message": "Your name?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string", "default": "x"}}}}

    def start(self, **more):
        return self.gateway(**setup("a", **more)).start()

    def test_c118_questions_reach_the_caller_and_answers_go_back(self):
        client = Events(self.start(), "/servers/a/mcp")
        client.respond = lambda message: {"result": {"action": "accept", "content": {"name": message["params"]["message"]}}}
        answer = json.loads(client.text(1, "ask", {"method": "elicitation/create", "params": self.FORM}))
        self.assertEqual(answer, {"result": {"action": "accept", "content": {"name": "[a] Your name?"}}})
        asked = client.asked[0]["params"]
        self.assertEqual(asked["_meta"], {"dev.sallyport/server": "a"})
        self.assertEqual(asked["requestedSchema"], self.FORM["requestedSchema"])
        client.respond = lambda message: {"result": {"roots": [{"uri": "file:///x"}]}}
        answer = json.loads(client.text(2, "ask", {"method": "roots/list"}))
        self.assertEqual(answer, {"result": {"roots": [{"uri": "file:///x"}]}})
        client.respond = lambda message: {"error": {"code": -1, "message": "User rejected", "data": [1]}}
        answer = json.loads(client.text(3, "ask", {"method": "sampling/createMessage", "params": {
            "messages": [], "maxTokens": 1, "tools": [{"name": "t", "inputSchema": {}}], "_meta": {"progressToken": 5, "x/y": 1}}}))
        self.assertEqual(answer, {"error": {"code": -1, "message": "User rejected", "data": [1]}})
        self.assertEqual(client.asked[2]["params"]["_meta"], {"dev.sallyport/server": "a", "x/y": 1})
        self.assertEqual(json.loads(client.text(4, "who"))["client"],
                         {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {"listChanged": True}})

    def test_only_what_the_trust_file_passes_is_asked(self):
        client = Events(self.gateway(**setup("a", passes=["roots"])).start(), "/servers/a/mcp")
        answer = json.loads(client.text(1, "ask", {"method": "elicitation/create", "params": self.FORM}))
        self.assertEqual(answer["error"]["code"], -32601)
        self.assertIn("result", json.loads(client.text(2, "ask", {"method": "roots/list"})))
        self.assertEqual(len(client.asked), 1)
        self.assertEqual(json.loads(client.text(3, "who"))["client"], {"roots": {"listChanged": True}})

    def test_a_server_that_nobody_accepted_asks_nothing(self):
        options = setup("a")
        options["policy"]["default"] = "allow"
        gateway = self.gateway(accept=False, servers=options["servers"], trust=options["trust"],
                               policy={"rules": [{"id": "x", "deny": {"server": "a", "tool": "none"}}]},
                               clients=[{"id": "agent", "tokenSha256": hash_of("agent-token")}],
                               people=[{"id": "user:dana", "tokenSha256": hash_of("dana"), "roles": ["approver", "operator"]}]).start()
        client = Events(gateway, "/servers/a/mcp", token="agent-token")
        client.start(1, "tools/call", {"name": "ask", "arguments": {"method": "roots/list"}})
        found = wait_until(lambda: json.loads(gateway.ask_control("GET", "/api/v1/approvals?state=pending", "dana")[1])["approvals"], "the ask")
        view = json.loads(gateway.ask_control("GET", "/api/v1/approvals/" + found[0]["id"], "dana")[1])
        gateway.ask_control("POST", "/api/v1/approvals/%s/approve" % found[0]["id"], "dana", {"shown": view["shown"], "reason": ""})
        answer = json.loads(client.answer(1)["result"]["content"][0]["text"])
        self.assertEqual(answer["error"]["code"], -32601)
        self.assertEqual(client.asked, [])

    def test_a_client_is_asked_only_what_it_can_answer(self):
        client = Events(self.start(), "/servers/a/mcp", capabilities={"elicitation": {}, "sampling": {}})
        for method, params in [("roots/list", {}), ("elicitation/create", {"mode": "url", "url": "https://x", "message": "m", "elicitationId": "e"}),
                               ("sampling/createMessage", {"messages": [], "maxTokens": 1, "tools": []})]:
            answer = json.loads(client.text(len(client.answers), "ask", {"method": method, "params": params}))
            self.assertEqual(answer["error"]["code"], -32601, method)
        self.assertEqual(client.asked, [])

    def test_nothing_crosses_sessions(self):
        """Two sessions of one principal share a child: with both calling, nobody is asked; with one, it is that one."""
        gateway = self.start()
        one, two = Events(gateway, "/servers/a/mcp"), Events(gateway, "/servers/a/mcp")
        one.start(1, "tools/call", {"name": "wait", "arguments": {}, "_meta": {"progressToken": 1}})
        one.told("notifications/progress")
        answer = json.loads(two.text(1, "ask", {"method": "roots/list"}))
        self.assertEqual(answer["error"]["code"], -32600)
        self.assertEqual((one.asked, two.asked), ([], []))
        one.http.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        wait_until(lambda: "error" not in json.loads(two.text(len(two.answers) + 10, "ask", {"method": "roots/list"})), "a question to the only caller")
        self.assertEqual(one.asked, [])

    def test_an_answer_counts_only_from_the_session_that_was_asked(self):
        gateway = self.start()
        one, two = Events(gateway, "/servers/a/mcp"), Events(gateway, "/servers/a/mcp")
        one.respond = lambda message: None
        one.start(1, "tools/call", {"name": "ask", "arguments": {"method": "roots/list"}})
        asked = one.was_asked()[0]
        for wrong in [asked["id"], "q-99", 1]:
            done = two.http.post({"jsonrpc": "2.0", "id": wrong, "result": {"roots": ["stolen"]}})
            self.assertEqual(done.status, 202)
        done = one.http.post({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}})
        self.assertEqual(json.loads(one.answer(1)["result"]["content"][0]["text"]), {"result": {"roots": []}})

    def test_a_question_ends_with_its_call_or_by_the_server(self):
        client = Events(self.start(), "/servers/a/mcp")
        client.respond = lambda message: None
        client.listen()
        for count, tool in enumerate(("ask_and_leave", "ask_and_withdraw"), 1):
            client.start(tool, "tools/call", {"name": tool, "arguments": {"method": "roots/list"}})
            client.was_asked(count)  # first: a question that ends before it was sent is not sent
            client.text(count, "go")
            client.answer(tool)
        cancelled = client.told("notifications/cancelled", 2)
        self.assertEqual({each["params"]["requestId"] for each in cancelled}, {each["id"] for each in client.asked})

    def test_a_page_that_was_visited_is_told_to_who_was_sent_there(self):
        gateway = self.start()
        one, two = Events(gateway, "/servers/a/mcp"), Events(gateway, "/servers/a/mcp")
        one.listen(), two.listen()
        one.respond = lambda message: {"result": {"action": "accept"}}
        one.text(1, "ask", {"method": "elicitation/create", "params": {"mode": "url", "url": "https://x", "message": "m", "elicitationId": "e-1"}})
        two.text(1, "complete_elicitation", {"id": "e-1"})
        self.assertEqual(one.told("notifications/elicitation/complete")[0]["params"], {"elicitationId": "e-1"})
        self.assertEqual(two.notes, [])

    def test_changed_roots_are_told_to_servers_that_may_ask_for_them(self):
        client = Events(self.start(), "/servers/a/mcp")
        client.text(1, "who")
        client.http.post({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
        wait_until(lambda: "notifications/roots/list_changed" in client.text(len(client.answers) + 5, "seen"), "the change")

    def test_a_client_over_stdio_is_asked_too(self):
        gateway = self.start()
        lines = Lines(self, [PROGRAMS["sallyport"], "stdio", "--server", "a", "--config", gateway.config],
                      env=tools.environment(SALLYPORT_TOKEN=gateway.token()))
        lines.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": EVERYTHING, "clientInfo": {"name": "x", "version": "1"}}})
        lines.raw_answer(0)
        lines.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        lines.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {"method": "roots/list"}}})
        question = json.loads(lines.receive_raw())
        self.assertEqual(question["method"], "roots/list")
        lines.send({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [], "n": 1.0}})
        self.assertEqual(json.loads(json.loads(lines.raw_answer(1))["result"]["content"][0]["text"]), {"result": {"roots": [], "n": 1.0}})
        lines.close()


class SessionUser(Case):
    """Asks that a rule lets the client's own user answer, by elicitation on the stream of the call that waits."""

    def client(self, capabilities=None):
        options = setup("a")
        options["trust"]["servers"]["a"]["tools"]["echo"] = {"effect": "record", "destructive": False, "says": "Echo {/text}"}
        options["policy"]["rules"].append({"id": "echoes", "ask": {"server": "a", "tool": "echo"}, "approval": {"sessionUser": True}})
        return Events(self.gateway(**options).start(), "/servers/a/mcp", capabilities=capabilities)

    def test_a_yes_runs_the_call_and_a_no_refuses_it(self):
        client = self.client()
        said = {"action": "accept", "content": {"approve": True}}
        client.respond = lambda message: {"result": said}
        result = client.call(1, "echo", {"text": "one"})
        self.assertEqual(result["_meta"]["dev.sallyport/call"]["outcome"], "applied", result)
        params = client.asked[0]["params"]
        self.assertTrue(params["message"].startswith('Echo "one"'), params)
        self.assertEqual(params["requestedSchema"]["required"], ["approve"])
        said = {"action": "decline"}
        result = client.call(2, "echo", {"text": "two"})
        self.assertEqual(result["_meta"]["dev.sallyport/call"]["code"], "APPROVAL_DENIED")
        self.assertIn("own user refused", result["content"][0]["text"])

    def test_a_client_that_cannot_ask_waits_for_a_person(self):
        client = self.client(capabilities={})
        client.start(1, "tools/call", {"name": "echo", "arguments": {"text": "one"}, "_meta": {"progressToken": 1}})
        client.told("notifications/progress")
        self.assertEqual(client.asked, [])
        client.http.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})


class Cancelled(Case):
    def test_c035_a_cancel_reaches_the_server_and_the_answer_nobody(self):
        gateway = self.gateway(**setup("a")).start()
        client = Events(gateway, "/servers/a/mcp")
        client.start(5, "tools/call", {"name": "wait", "arguments": {}, "_meta": {"progressToken": 1}})
        client.told("notifications/progress")
        client.http.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5, "reason": "enough"}})
        wait_until(lambda: "notifications/cancelled" in client.text(len(client.answers) + 10, "seen"), "the cancel")
        self.assertNotIn("5", client.answers)

    def test_c052_a_client_that_goes_away_cancels_nothing(self):
        gateway = self.gateway(**setup("a")).start()
        client = Events(gateway, "/servers/a/mcp")
        other = client.start(5, "tools/call", {"name": "wait", "arguments": {}, "_meta": {"progressToken": 1}})
        client.told("notifications/progress")
        other.connection.sock.shutdown(2)
        for ident in range(20, 25):
            self.assertNotIn("notifications/cancelled", client.text(ident, "seen"))
        client.http.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})
        wait_until(lambda: "notifications/cancelled" in client.text(len(client.answers) + 40, "seen"), "the cancel")


class Reports(Case):
    """Reports of the field that no other test holds (C…)."""

    def two_principals(self, **options):
        options["clients"] = [{"id": "one", "tokenSha256": hash_of("t-one")}, {"id": "two", "tokenSha256": hash_of("t-two")}]
        return self.gateway(**options)

    def test_c022_a_late_answer_and_a_second_stream_harm_nobody(self):
        gateway = self.gateway(**setup("a")).start()
        client = Events(gateway, "/servers/a/mcp")
        first, second = client.listen(), client.listen()
        gone = client.start(1, "tools/call", {"name": "ask_and_leave", "arguments": {"method": "nothing/known"}})
        gone.connection.sock and gone.connection.sock.shutdown(2)
        client.text(2, "change", {"list": "prompts"})
        client.told("notifications/prompts/list_changed")
        client.text(5, "go")
        pid = json.loads(client.text(3, "who"))["pid"]
        second.connection.close()
        self.assertEqual(json.loads(client.text(4, "who"))["pid"], pid)
        self.assertEqual(len(client.notes), 1)
        first.connection.close()

    def test_c059_every_event_is_sent_at_once(self):
        gateway = self.gateway(**setup("a")).start()
        client = Events(gateway, "/servers/a/mcp")
        client.start(1, "tools/call", {"name": "wait", "arguments": {}, "_meta": {"progressToken": 1}})
        client.told("notifications/progress")  # while the call is open: nothing waits for more
        self.assertEqual(client.answers, {})
        client.http.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})

    def test_c062_errors_of_servers_are_no_errors_of_http(self):
        gateway = self.gateway(servers={"s": {"command": sys.executable, "args": ["-B", tools.FIXTURE]}, "gone": {"command": "/nonexistent"}},
                               trust={"servers": {"s": {"tools": {"*": "read"}}}}, accept=False)
        gateway.run("trust", "accept", "s", "--yes")
        client = gateway.start().client().connect()
        for name in ("s__error", "s__die", "gone__x", "s__nothing"):
            answer = client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}})
            self.assertEqual(answer.status, 200, name)

    def test_c074_principals_never_share_a_server_unless_it_says_so(self):
        gateway = self.two_principals(**setup("a", "b"))
        config = json.loads(gateway.config.read_text())
        config["mcpServers"]["b"]["sallyport"] = {"shared": True}
        gateway.write(config)
        gateway.start()
        pids = {}
        for token in ("t-one", "t-two"):
            client = gateway.client(token=token).connect()
            for name in "ab":
                pids[token, name] = json.loads(client.call(name + "__who")["content"][0]["text"])["pid"]
        self.assertNotEqual(pids["t-one", "a"], pids["t-two", "a"])
        self.assertEqual(pids["t-one", "b"], pids["t-two", "b"])

    def test_a_shared_server_asks_and_tells_only_the_one_who_calls(self):
        gateway = self.two_principals(**setup("a"))
        config = json.loads(gateway.config.read_text())
        config["mcpServers"]["a"]["sallyport"] = {"shared": True}
        gateway.write(config)
        gateway.start()
        one, two = Events(gateway, "/servers/a/mcp", token="t-one"), Events(gateway, "/servers/a/mcp", token="t-two")
        one.listen(), two.listen()
        one.respond = lambda message: {"result": {"roots": []}}
        self.assertEqual(json.loads(one.text(1, "ask", {"method": "roots/list"})), {"result": {"roots": []}})
        one.text(2, "log", {"levels": ["info"]})
        one.told("notifications/message")
        one.text(3, "log_later", {"levels": ["alert"]})  # of nobody's call: on a shared pipe nobody's
        gateway.process.said("logged later")  # before somebody has a call open again
        one.ask(4, "resources/subscribe", {"uri": "a://one"})
        two.text(1, "touch", {"uri": "a://one"})
        one.told("notifications/resources/updated")
        self.assertEqual((two.asked, two.notes), ([], []))
        self.assertEqual([note["method"] for note in one.notes], ["notifications/message", "notifications/resources/updated"])

    def test_c076_each_leg_has_its_own_version(self):
        for version in ("2025-03-26", "2024-11-05"):
            gateway = self.gateway(servers={"s": {"command": sys.executable, "args": ["-B", tools.FIXTURE, "--version=" + version]}})
            gateway.start()
            answer = Events(gateway, "/servers/s/mcp")
            self.assertEqual(answer.initialized["protocolVersion"], "2025-11-25")
            old = gateway.client("/servers/s/mcp").connect("2024-11-05")
            self.assertEqual(old.version, "2024-11-05")
            self.assertEqual(code_of(old.call("seen")), None)
            gateway.stop()

    def test_c116_meta_of_the_client_reaches_the_server(self):
        gateway = self.gateway(servers={"s": {"command": sys.executable, "args": ["-B", tools.FIXTURE]}})
        client = gateway.start().client("/servers/s/mcp").connect()
        result = client.call("raw", {"a": 1}, **{"com.example/x": {"n": 1.5}, "progressToken": "t", "dev.sallyport/idempotencyKey": "k-1"})
        sent = json.loads(tools.words_of(result))
        self.assertEqual(sent["params"]["_meta"]["com.example/x"], {"n": 1.5})
        self.assertNotEqual(sent["params"]["_meta"].get("progressToken"), "t")
        self.assertNotIn("dev.sallyport/idempotencyKey", sent["params"]["_meta"])

    def test_c140_a_hundred_calls_at_once_start_one_server(self):
        gateway = self.gateway(**setup("a")).start()
        client = Events(gateway, "/servers/a/mcp")
        for ident in range(100):
            client.start(ident, "tools/call", {"name": "who", "arguments": {}})
        pids = {json.loads(client.answer(ident)["result"]["content"][0]["text"])["pid"] for ident in range(100)}
        self.assertEqual(len(pids), 1)


if __name__ == "__main__":
    main()
