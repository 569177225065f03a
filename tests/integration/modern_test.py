"""Clients of 2026-07-28 with the whole program in between, in front of servers of the older versions: no handshake, no
session, over HTTP and stdio; each request written byte for byte."""
import base64
import hashlib
import json
import subprocess
import sys
import threading

from events import METHODS, setup
from gateway import LIMIT, OURS, PROGRAMS, SOURCE, Case, Http, Lines, Process, code_of, environment, main, wait_until, words_of

VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def envelope(params=None, capabilities=None, **more):
    """Params with what every request of this version says of itself."""
    params = dict(params or {})
    params["_meta"] = {META + "protocolVersion": VERSION, META + "clientCapabilities": capabilities or {}, **params.get("_meta", {}),
                       **{name if name in ("progressToken", "traceparent") else META + name: value for name, value in more.items()}}
    return params


def encoded(text):
    plain = text and all(" " <= c <= "~" for c in text) and text.strip() == text
    return text if plain else "=?base64?%s?=" % base64.b64encode(text.encode()).decode()


class Modern(Http):
    """A client without handshake; its headers say what the body says unless a test has it otherwise."""

    def raw(self, method, params, ident=1, **headers):
        named = {"MCP-Protocol-Version": VERSION, "Mcp-Method": method}
        if method in NAMED and NAMED[method] in params:
            named["Mcp-Name"] = encoded(params[NAMED[method]])
        named.update({name.replace("_", "-"): value for name, value in headers.items()})
        body = json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})
        self.connection.request("POST", self.mount, body.encode(),
                                {name: value for name, value in self.headers(**named).items() if value is not None})
        response = self.connection.getresponse()
        return response

    def whole(self, method, params=None, headers=None, **more):
        """(status, message, notifications)."""
        self.last += 1
        response = self.raw(method, envelope(params, **more), self.last, **(headers or {}))
        body = response.read()
        if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
            return response.status, json.loads(body), []
        events = [json.loads(line[5:]) for line in body.split(b"\n") if line.startswith(b"data:")]
        return response.status, events[-1], events[:-1]

    def result(self, method, params=None, **more):
        status, message, _ = self.whole(method, params, **more)
        if status != 200 or "result" not in message:
            raise AssertionError((status, message))
        return message["result"]

    def tool(self, name, arguments=None, **more):
        return self.result("tools/call", {"name": name, "arguments": arguments or {}}, **more)


class OverHttp(Case):
    def modern(self, gateway, mount="/servers/a/mcp"):
        return Modern(gateway, mount)

    def started(self, *names, **more):
        return self.gateway(**setup(*(names or ("a",)), **more)).start()

    def test_discover_and_lists(self):
        client = self.modern(self.started())
        found = client.result("server/discover")
        self.assertEqual(found["supportedVersions"][:2], [VERSION, "2025-11-25"])
        self.assertEqual((found["resultType"], found["cacheScope"]), ("complete", "private"))
        self.assertEqual(found["_meta"][META + "serverInfo"]["name"], "sallyport")
        self.assertIn("tools", found["capabilities"])
        for method, member in [("tools/list", "tools"), ("prompts/list", "prompts"), ("resources/list", "resources"),
                               ("resources/templates/list", "resourceTemplates")]:
            listed = client.result(method)
            self.assertEqual((listed["resultType"], listed["cacheScope"]), ("complete", "private"), method)
            self.assertIsInstance(listed["ttlMs"], int)
            self.assertTrue(listed[member], method)
            self.assertNotIn("execution", json.dumps(listed), "a member of the older versions")
        again = client.result("prompts/list", {"cursor": client.result("prompts/list")["nextCursor"]})
        self.assertEqual([prompt["name"] for prompt in again["prompts"]], ["third"])

    def test_calls_reads_prompts_and_completion(self):
        gateway = self.started()
        client = self.modern(gateway)
        read = client.result("resources/read", {"uri": "a://one"})
        self.assertEqual((read["resultType"], read["ttlMs"], read["contents"][0]["text"]), ("complete", 0, "content of a"))
        prompt = client.result("prompts/get", {"name": "greet", "arguments": {"who": "x"}}, traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01")
        self.assertEqual(prompt["messages"][0]["content"]["text"], 'greet of a: {"who": "x"}')
        done = client.result("completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"},
                                                     "argument": {"name": "who", "value": "x"}})
        self.assertEqual((done["resultType"], done["completion"]["values"][0]), ("complete", "a"))
        missing = client.whole("resources/read", {"uri": "a://missing"})
        self.assertEqual((missing[0], missing[1]["error"]["code"]), (200, -32602))
        gateway.stop()
        receipts = [each["predicate"] for each in gateway.receipts() if each["predicate"]["kind"] == "call"]
        self.assertEqual({each["request"]["protocol"] for each in receipts}, {VERSION})
        self.assertEqual(len({each["run"] for each in receipts}), 1, "one standing run")
        self.assertEqual(gateway.verify().returncode, 0)

    def test_what_may_not_run_says_so_in_this_era(self):
        setting = setup("a")
        setting["policy"]["rules"].append({"id": "no", "deny": {"server": "a", "tool": "log"}, "message": "No logs."})
        client = self.modern(self.gateway(**setting).start())
        denied = client.tool("log")
        self.assertTrue(denied["isError"])
        self.assertEqual((denied["resultType"], code_of(denied)), ("complete", "POLICY_DENIED"))
        unknown = client.whole("tools/call", {"name": "nope"})
        self.assertEqual((unknown[0], unknown[1]["error"]["code"]), (200, -32602))

    def test_headers_are_held_to_the_body_in_every_field(self):
        client = self.modern(self.started())
        call = {"name": "log", "arguments": {"levels": []}}
        for wrong in [{"Mcp_Name": "other"}, {"Mcp_Name": None}, {"Mcp_Method": "tools/list"}, {"Mcp_Method": None},
                      {"MCP_Protocol_Version": "2025-11-25"}, {"MCP_Protocol_Version": None}, {"Mcp_Name": "=?base64?bG9n!?="}]:
            status, message, _ = client.whole("tools/call", call, headers=wrong)
            self.assertEqual((status, message["error"]["code"]), (400, -32020), wrong)
        good = client.whole("tools/call", call, headers={"Mcp_Name": "=?base64?bG9n?=", "Mcp_Param_Other": "x"})
        self.assertEqual(good[0], 200, good)
        for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe"]:
            status, message, _ = client.whole(method)
            self.assertEqual((status, message["error"]["code"]), (404, -32601), method)
        response = client.raw("tools/list", {"_meta": {META + "protocolVersion": "2030-01-01", META + "clientCapabilities": {}}},
                              MCP_Protocol_Version="2030-01-01")
        error = json.loads(response.read())["error"]
        self.assertEqual((response.status, error["code"], error["data"]["requested"]), (400, -32022, "2030-01-01"))
        response = client.raw("tools/list", {})
        self.assertEqual((response.status, json.loads(response.read())["error"]["code"]), (400, -32602))

    def test_both_eras_at_one_endpoint(self):
        gateway = self.started()
        old = gateway.client("/servers/a/mcp").connect()
        new = self.modern(gateway)
        self.assertNotIn("resultType", old.ask("tools/list")["result"])
        self.assertEqual({tool["name"] for tool in old.tools()}, {tool["name"] for tool in new.result("tools/list")["tools"]})

    def test_a_tool_that_asks_gets_no_answer_and_says_so(self):
        client = self.modern(self.started())
        asked = client.tool("ask", {"method": "elicitation/create", "params": {"message": "?"}},
                            capabilities={"elicitation": {"form": {}}})
        self.assertIn("error", json.loads(words_of(asked)))

    def test_progress_and_logs_come_on_the_stream_of_their_request(self):
        client = self.modern(self.started())
        status, message, notes = client.whole("tools/call", {"name": "progress", "arguments": {"values": [1, 2, 2, 3]}},
                                              progressToken="mine")
        self.assertEqual((status, message["result"]["resultType"]), (200, "complete"))
        self.assertEqual([(note["params"]["progressToken"], note["params"]["progress"]) for note in notes],
                         [("mine", 1), ("mine", 2), ("mine", 3)])
        levels = {"name": "log", "arguments": {"levels": ["debug", "warning", "error"]}}
        self.assertEqual(client.whole("tools/call", levels)[2], [], "nobody asked for them")
        notes = client.whole("tools/call", levels, logLevel="warning")[2]
        self.assertEqual([note["params"]["level"] for note in notes], ["warning", "error"])

    def test_going_away_cancels(self):
        gateway = self.started()
        client = self.modern(gateway)
        response = client.raw("tools/call", envelope({"name": "wait", "arguments": {}}, progressToken=1), 77)
        while not response.readline().startswith(b"data:"):
            pass
        client.connection.sock.close()
        response.close()
        client.connection.close()
        other = self.modern(gateway)
        wait_until(lambda: "notifications/cancelled" in words_of(other.tool("seen")), "the cancel at the server")

    def listen(self, gateway, ident, wanted):
        """Messages of a listener as they come, the condition to wait on, and its thread."""
        response = self.modern(gateway).raw("subscriptions/listen", envelope({"notifications": wanted}), ident)
        self.assertEqual(response.status, 200)
        heard, news = [], threading.Condition()

        def read():
            while line := response.readline():
                if line.startswith(b"data:"):
                    with news:
                        heard.append(json.loads(line[5:]))
                        news.notify_all()

        reader = threading.Thread(target=read, daemon=True)
        reader.start()

        def until(count):
            with news:
                self.assertTrue(news.wait_for(lambda: len(heard) >= count, LIMIT), heard)
            return heard[count - 1]
        return until, reader

    def test_listeners_hear_what_they_asked_for_under_their_own_ids(self):
        gateway = self.started()
        prompts, prompts_reader = self.listen(gateway, "sub-1", {"promptsListChanged": True})
        resources, resources_reader = self.listen(gateway, 9, {"resourceSubscriptions": ["a://one", 7]})
        self.assertEqual(prompts(1)["params"],
                         {"_meta": {META + "subscriptionId": "sub-1"}, "notifications": {"promptsListChanged": True}})
        self.assertEqual(resources(1)["params"],
                         {"_meta": {META + "subscriptionId": 9}, "notifications": {"resourceSubscriptions": ["a://one"]}})
        client = self.modern(gateway)
        client.tool("change", {"list": "prompts"})
        client.tool("touch", {"uri": "a://two"})
        client.tool("touch", {"uri": "a://one"})
        self.assertEqual(prompts(2), {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed",
                                      "params": {"_meta": {META + "subscriptionId": "sub-1"}}})
        self.assertEqual(resources(2), {"jsonrpc": "2.0", "method": "notifications/resources/updated",
                                        "params": {"_meta": {META + "subscriptionId": 9}, "uri": "a://one", "extra": 1}})
        gateway.stop()
        for until, reader, ident in [(prompts, prompts_reader, "sub-1"), (resources, resources_reader, 9)]:
            self.assertEqual(until(3)["result"], {"resultType": "complete", "_meta": {META + "subscriptionId": ident}})
            reader.join(LIMIT)


STRICT = str(SOURCE / "tests/fixtures/servers/modern_server.py")
ABLE = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


def modern_server(*flags):
    """Config, trust and policy in front of a strict server of this version."""
    return {"servers": {"m": {"command": sys.executable, "args": ["-B", STRICT, "--stdio", *flags]}},
            "trust": {"servers": {"m": {"passes": ["elicitation", "sampling", "roots"], "tools": {"*": "read", "ask": "external"}}}},
            "policy": {"rules": [{"id": "all", "allow": {"server": "m", "method": METHODS}}]}}


class InFrontOfModernServers(Case):
    """Both legs of this version: what the server wants to know first goes through the client, sealed."""

    def setUp(self):
        super().setUp()
        self.files = modern_server()

    def started(self):
        return self.gateway(**self.files).start()

    def ask(self, client, more=None, arguments=None, **options):
        return client.result("tools/call", {"name": "ask", "arguments": arguments or {"kinds": ["elicitation"]}, **(more or {})},
                             capabilities=ABLE, **options)

    def answer(self, asked, **content):
        return {"requestState": asked["requestState"],
                "inputResponses": {key: {"action": "accept", "content": content} for key in asked["inputRequests"]}}

    def test_questions_go_to_the_client_and_answers_back(self):
        gateway = self.started()
        client = Modern(gateway, "/servers/m/mcp")
        asked = self.ask(client, arguments={"kinds": ["elicitation"], "rounds": 2})
        self.assertEqual(asked["resultType"], "input_required")
        self.assertEqual(list(asked["inputRequests"]), ["q-elicitation"])
        self.assertEqual(asked["inputRequests"]["q-elicitation"]["params"]["message"], "[m] Which colour?")
        again = self.ask(client, self.answer(asked, colour="red"), {"kinds": ["elicitation"], "rounds": 2})
        self.assertEqual(again["resultType"], "input_required")
        done = self.ask(client, self.answer(again, colour="blue"), {"kinds": ["elicitation"], "rounds": 2})
        self.assertEqual(done["resultType"], "complete")
        told = json.loads(words_of(done))
        self.assertEqual([one["q-elicitation"]["content"]["colour"] for one in told], ["red", "blue"])
        self.assertEqual(done["_meta"][OURS]["outcome"], "applied")
        gateway.stop()
        self.assertEqual(gateway.verify().returncode, 0)

    def test_a_state_serves_once_for_its_client_and_its_call(self):
        self.files["clients"] = [{"id": "agent:%s" % name, "tokenSha256": tokens(name)} for name in "ab"]
        gateway = self.started()
        a, b = (Modern(gateway, "/servers/m/mcp", token=name) for name in "ab")
        asked = self.ask(a)
        reply = self.answer(asked, colour="red")
        call = {"name": "ask", "arguments": {"kinds": ["elicitation"]}}

        def refused(client, params):
            status, message, _ = client.whole("tools/call", params, capabilities=ABLE)
            self.assertEqual((status, message.get("error", {}).get("code")), (200, -32602), message)
        refused(b, {**call, **reply})
        refused(a, {**call, "arguments": {"kinds": ["elicitation"], "rounds": 1}, **reply})
        refused(a, {**call, **reply, "requestState": reply["requestState"][:-2] + "AA"})
        self.assertEqual(self.ask(a, reply)["resultType"], "complete")
        refused(a, {**call, **reply})
        gateway.stop()
        self.assertEqual(gateway.verify().returncode, 0)

    def test_answers_are_judged_like_arguments(self):
        self.files["policy"]["rules"].append({"id": "no-green", "deny": {"server": "m", "tool": "ask", "anyArgument": {"pattern": ".*green.*"}}})
        client = Modern(self.started(), "/servers/m/mcp")
        done = self.ask(client, self.answer(self.ask(client), colour="green"))
        self.assertTrue(done["isError"])
        self.assertEqual(done["_meta"][OURS]["outcome"], "unknown", "the first leg was sent, and the last never")

    def test_resources_may_want_to_know_first_too(self):
        client = Modern(self.started(), "/servers/m/mcp")
        asked = client.result("resources/read", {"uri": "test://ask"}, capabilities=ABLE)
        self.assertEqual(asked["resultType"], "input_required")
        read = client.result("resources/read", {"uri": "test://ask", **self.answer(asked, colour="red")}, capabilities=ABLE)
        self.assertIn("red", read["contents"][0]["text"])
        self.assertGreater(read["ttlMs"], 0, "as the server has it")

    def test_lists_are_kept_as_long_as_the_server_says_and_until_they_change(self):
        self.files["clients"] = [{"id": "agent:%s" % name, "tokenSha256": tokens(name)} for name in "ab"]
        gateway = self.started()
        a, b = (Modern(gateway, "/servers/m/mcp", token=name) for name in "ab")

        def heard(client):
            return int(words_of(client.tool("heard", {"method": "prompts/list"})))
        first = a.result("prompts/list")
        before = heard(a)
        self.assertEqual(a.result("prompts/list"), first)
        self.assertEqual(heard(a), before, "it was fresh")
        b.result("prompts/list")
        self.assertGreater(heard(b), 0, "another principal's is its own")
        a.tool("change", {"what": "prompts/list_changed"})

        def asked_again():
            a.result("prompts/list")
            return heard(a) > before
        wait_until(asked_again, "that it is asked again")

    def test_the_official_client(self):
        gateway = self.started()
        call = [{"tool": "ask", "arguments": {"kinds": ["elicitation"]}}, {"tool": "noisy", "progress": True}]
        route = {"url": "http://%s/servers/m/mcp" % gateway.address, "token": gateway.token(), "mode": {"pin": VERSION},
                 "calls": call, "read": "test://a", "prompt": {"name": "p"}}
        out = sdk(self, route)
        self.assertEqual(out["version"], VERSION)
        self.assertEqual(out["asked"], ["[m] Which colour?"])
        self.assertIn("red", words_of(out["answers"][0]["result"]))
        self.assertEqual(out["answers"][1]["progress"], [1, 2, 3])
        self.assertEqual(out["read"][0]["text"], "it is null")


class AsksOfTheUser(Case):
    """A rule lets the client's own user answer: the question comes as the answer, and the call again with theirs."""

    def started(self):
        setting = setup("a")
        setting["trust"]["servers"]["a"]["tools"] = {"*": {"effect": "file", "destructive": False}}
        setting["policy"]["rules"] = [{"id": "user", "ask": {"server": "a"}, "approval": {"sessionUser": True}}]
        return self.gateway(**setting).start()

    def call(self, client, more=None):
        return client.result("tools/call", {"name": "progress", "arguments": {"values": []}, **(more or {})},
                             capabilities={"elicitation": {"form": {}}})

    def answer(self, asked, **reply):
        return {"requestState": asked["requestState"], "inputResponses": {"dev.sallyport/ask": reply}}

    def test_a_yes_lets_it_run_once(self):
        gateway = self.started()
        client = Modern(gateway, "/servers/a/mcp")
        asked = self.call(client)
        self.assertEqual((asked["resultType"], list(asked["inputRequests"])), ("input_required", ["dev.sallyport/ask"]))
        question = asked["inputRequests"]["dev.sallyport/ask"]
        self.assertEqual(question["method"], "elicitation/create")
        self.assertIn("progress", question["params"]["message"])
        yes = self.answer(asked, action="accept", content={"approve": True})
        done = self.call(client, yes)
        self.assertEqual((done["resultType"], done["_meta"][OURS]["outcome"]), ("complete", "applied"))
        used = client.whole("tools/call", {"name": "progress", "arguments": {"values": []}, **yes},
                            capabilities={"elicitation": {"form": {}}})
        self.assertEqual(used[1]["error"]["code"], -32602)
        gateway.stop()
        intents = [each["predicate"] for each in gateway.receipts() if each["predicate"]["kind"] == "intent"]
        self.assertEqual(len(intents), 1)
        self.assertIn("session-user", json.dumps(intents[0]["approval"]))
        self.assertEqual(gateway.verify().returncode, 0)

    def test_a_no_is_a_denial(self):
        client = Modern(self.started(), "/servers/a/mcp")
        done = self.call(client, self.answer(self.call(client), action="decline"))
        self.assertEqual(code_of(done), "APPROVAL_DENIED")

    def test_a_client_that_cannot_be_asked_waits_for_people(self):
        setting = setup("a")
        setting["policy"]["rules"] = [{"id": "user", "ask": {"server": "a"}, "approval": {"sessionUser": True}}]
        setting["clients"] = [{"id": "agent:a", "tokenSha256": tokens("a"), "hold": "100ms"}]
        client = Modern(self.gateway(**setting).start(), "/servers/a/mcp", token="a")
        held = client.tool("progress", {"values": []})
        self.assertEqual(code_of(held), "APPROVAL_PENDING")


def tokens(name):
    return hashlib.sha256(name.encode()).hexdigest()


def sdk(case, route):
    """One route through the official client."""
    process = Process(["node", str(SOURCE / "tests/integration/sdk/modern_client.mjs")], stdin=subprocess.PIPE)
    case.addCleanup(process.end)
    process.child.stdin.write(json.dumps(route).encode() + b"\n")
    process.child.stdin.flush()
    out = json.loads(process.child.stdout.readline() or b"{}")
    case.assertNotIn("broke", out, out)
    process.child.stdin.close()
    process.child.wait(LIMIT)
    return out


class OfficialClient(Case):
    """In front of a server of the older versions, in every way that it can find out what is spoken."""

    def test_over_http(self):
        gateway = self.gateway(**setup("a")).start()
        for mode, version in [({"pin": VERSION}, VERSION), ("auto", VERSION), ("legacy", "2025-11-25")]:
            out = sdk(self, {"url": "http://%s/servers/a/mcp" % gateway.address, "token": gateway.token(), "mode": mode,
                             "calls": [{"tool": "progress", "arguments": {"values": [1, 2]}, "progress": True}], "read": "a://one",
                             "prompt": {"name": "greet", "arguments": {"who": "x"}}})
            self.assertEqual(out["version"], version, mode)
            self.assertIn("echo", out["tools"])
            self.assertEqual(out["answers"][0]["progress"], [1, 2])
            self.assertEqual(out["read"][0]["text"], "content of a")

    def test_over_stdio(self):
        gateway = self.gateway(**setup("a")).start()
        for mode, version in [({"pin": VERSION}, VERSION), ("auto", VERSION), ("legacy", "2025-11-25")]:
            out = sdk(self, {"command": PROGRAMS["sallyport"], "args": ["stdio", "--config", str(gateway.config), "--server", "a"],
                             "env": environment(), "mode": mode, "read": "a://one"})
            self.assertEqual((out["version"], out["read"][0]["text"]), (version, "content of a"), mode)


class OverStdio(Case):
    def test_speaks_lines(self):
        gateway = self.gateway(**setup("a")).start()
        client = Lines(self, [PROGRAMS["sallyport"], "stdio", "--config", gateway.config, "--server", "a"])
        found = client.ask("server/discover", envelope())["result"]
        self.assertEqual(found["supportedVersions"][0], VERSION)
        read = client.ask("resources/read", envelope({"uri": "a://one"}))["result"]
        self.assertEqual((read["resultType"], read["contents"][0]["text"]), ("complete", "content of a"))
        self.assertEqual(client.ask("ping", envelope())["error"]["code"], -32601)
        self.assertEqual(client.connect()["protocolVersion"], "2025-11-25")
        self.assertEqual(client.close(), 0)


if __name__ == "__main__":
    main()
