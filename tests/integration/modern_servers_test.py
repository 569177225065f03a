"""Clients of the legacy versions in front of servers of 2026-07-28: strict ones of our own, and the official SDK's."""
import json
import sys

from events import METHODS, Events
from gateway import SOURCE, Case, Process, main

STRICT = str(SOURCE / "tests/fixtures/servers/modern_server.py")
SDK = str(SOURCE / "tests/integration/sdk/modern_server.mjs")


def rules(passes=("elicitation", "sampling", "roots")):
    return {"trust": {"servers": {"m": {"passes": list(passes), "tools": {"*": "read", "ask": "external", "paint": "record"}}}},
            "policy": {"rules": [{"id": "all", "allow": {"server": "m", "method": METHODS}}]}}


class Modern(Case):
    def strict(self, *flags, stdio=True, **more):
        """A gateway in front of our own server."""
        if stdio:
            server = {"command": sys.executable, "args": ["-B", STRICT, "--stdio", *flags]}
        else:
            process = Process([sys.executable, "-B", STRICT, *flags], stdin=-1)
            self.addCleanup(process.end)
            server = {"type": "http", "url": "http://127.0.0.1:%d/mcp" % int(process.child.stdout.readline())}
        return self.gateway(servers={"m": server}, **{**rules(), **more}).start()

    def both(self, *flags, **more):
        for stdio in (True, False):
            with self.subTest(stdio=stdio):
                gateway = self.strict(*flags, stdio=stdio, **more)
                yield Events(gateway, "/servers/m/mcp")
                gateway.stop()

    def test_a_legacy_client_calls_a_modern_server(self):
        for client in self.both():
            result = client.call(1, "echo", {"a": 1})
            self.assertEqual(result["content"][0]["text"], '{"a": 1}')
            self.assertNotIn("resultType", result)
            self.assertNotIn("structuredContent", client.call(2, "plain"))
            tools = {tool["name"]: tool for tool in client.ask(8, "tools/list")["result"]["tools"]}
            self.assertNotIn("outputSchema", tools["plain"])
            meta = json.loads(client.text(3, "meta"))
            self.assertEqual(meta["io.modelcontextprotocol/clientCapabilities"],
                             {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}})
            missing = client.ask(4, "resources/read", {"uri": "test://none"})
            self.assertEqual(missing["error"]["code"], -32002)
            read = client.ask(5, "resources/read", {"uri": "test://a"})["result"]
            self.assertEqual(read["contents"][0]["text"], "it is null")
            self.assertNotIn("ttlMs", read)
            self.assertIn("prompt p", json.dumps(client.ask(6, "prompts/get", {"name": "p"})))
            listed = client.ask(7, "prompts/list")["result"]
            self.assertNotIn("cacheScope", listed)

    def test_questions_become_requests_on_the_calls_stream(self):
        for client in self.both():
            def respond(message):
                if message["method"] == "elicitation/create":
                    return {"result": {"action": "accept", "content": {"colour": "red"}}}
                if message["method"] == "roots/list":
                    return {"result": {"roots": [{"uri": "file:///r"}]}}
                return {"result": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "word"}}}
            client.respond = respond
            told = json.loads(client.text(1, "ask", {"kinds": ["elicitation", "sampling", "roots"], "rounds": 2}))
            self.assertEqual(len(told), 2)
            self.assertEqual(told[1]["q-elicitation"]["content"], {"colour": "red"})
            self.assertEqual(told[1]["q-roots"]["roots"], [{"uri": "file:///r"}])
            self.assertEqual([message["method"] for message in client.asked],
                             ["elicitation/create", "sampling/createMessage", "roots/list"] * 2)
            self.assertEqual(client.asked[0]["params"]["message"], "[m] Which colour?")

    def test_a_question_that_leads_to_a_page_has_an_id_for_legacy_clients(self):
        client = Events(self.strict(), "/servers/m/mcp")
        client.respond = lambda message: {"result": {"action": "decline"}}
        client.text(1, "ask", {"kinds": ["url"]})
        self.assertTrue(client.asked[0]["params"]["elicitationId"])

    def test_a_question_that_is_not_passed_ends_the_call_and_its_outcome_is_unknown(self):
        gateway = self.strict(**rules(passes=("roots",)))
        client = Events(gateway, "/servers/m/mcp")
        result = client.call(1, "ask", {"shameless": True})
        self.assertTrue(result["isError"])
        self.assertEqual(result["_meta"]["dev.sallyport/call"]["outcome"], "unknown")
        self.assertEqual(client.asked, [])

    def test_changes_and_updates_reach_legacy_clients(self):
        for client in self.both():
            client.listen()
            client.ask(1, "resources/subscribe", {"uri": "test://a"})
            client.call(2, "change", {"what": "resources/updated", "uri": "test://a"})
            told = client.told("notifications/resources/updated")[0]["params"]
            self.assertEqual(told["uri"], "test://a")
            self.assertNotIn("io.modelcontextprotocol/subscriptionId", told.get("_meta", {}))
            client.call(3, "change", {"what": "prompts/list_changed"})
            client.told("notifications/prompts/list_changed")

    def test_what_a_server_speaks_is_written_into_the_lock(self):
        gateway = self.strict()
        gateway.stop()
        lock = json.loads((self.folder / "trust.lock.json").read_text())
        self.assertEqual(lock["servers"]["m"]["era"], "2026-07-28")

    def sdk(self, *words):
        if words:
            process = Process(["node", SDK, *words], stdin=-1)
            self.addCleanup(process.end)
            server = {"type": "http", "url": "http://127.0.0.1:%d/mcp" % int(process.child.stdout.readline())}
        else:
            server = {"command": "node", "args": [SDK]}
        return self.gateway(servers={"m": server}, **rules()).start()

    def test_the_official_server_over_both_transports(self):
        for words in ([], ["http"]):
            with self.subTest(words):
                gateway = self.sdk(*words)
                client = Events(gateway, "/servers/m/mcp")
                self.assertEqual(client.text(1, "add", {"a": 1, "b": 2}), "3")
                client.respond = lambda message: {"result": {"action": "accept", "content": {"colour": "red"}}}
                self.assertEqual(client.text(2, "paint", {"what": "door"}), "door is red (asked)")
                self.assertEqual(client.ask(3, "resources/read", {"uri": "note://one"})["result"]["contents"][0]["text"], "hello")
                self.assertEqual(client.ask(4, "resources/read", {"uri": "note://two"})["error"]["code"], -32002)
                self.assertIn("Hello you", json.dumps(client.ask(5, "prompts/get", {"name": "greet", "arguments": {"name": "you"}})))
                tools = {tool["name"]: tool for tool in client.ask(6, "tools/list")["result"]["tools"]}
                self.assertIn("plain", tools)
                gateway.stop()


if __name__ == "__main__":
    main()
