"""Extensions of 2026-07-28 with the whole program in between: tasks, which are the gateway's own, and MCP Apps, which pass.
And a question of the gateway's that leads to its page."""
import hashlib
import json

from events import Events, setup
from gateway import OURS, Case, code_of, main, wait_until, words_of
from modern_test import Modern, modern_server

TASKS, APPS = "io.modelcontextprotocol/tasks", "io.modelcontextprotocol/ui"
TAKES = {"extensions": {TASKS: {}}}
PAGE = "ui://clock/page.html"
DANA = {"id": "user:dana", "tokenSha256": hashlib.sha256(b"dana").hexdigest(), "roles": ["approver"], "groups": ["owners"]}


class Tasks(Case):
    judges_receipts = True

    def polled(self, client, ident, until=("completed", "failed", "cancelled")):
        headers = {"Mcp_Name": ident}
        return wait_until(lambda: (task := client.result("tasks/get", {"taskId": ident}, headers=headers, capabilities=TAKES))
                          ["status"] in until and task, "the end of the task")

    def asking(self):
        files = modern_server()
        files["trust"]["servers"]["m"]["tools"]["write"] = {"effect": "record", "destructive": False}
        files["policy"] = {"rules": [{"id": "some", "ask": {"server": "m"}, "approval": {"by": ["owners"]}}]}
        return self.gateway(**files, people=[DANA], clients=[
            {"id": "agent:" + name, "tokenSha256": hashlib.sha256(name.encode()).hexdigest()} for name in "ab"]).start()

    def approve(self, gateway):
        found = json.loads(gateway.ask_control("GET", "/api/v1/approvals?state=pending", "dana")[1])["approvals"]
        self.assertEqual(len(found), 1)
        path = "/api/v1/approvals/" + found[0]["id"]
        view = json.loads(gateway.ask_control("GET", path, "dana")[1])
        status, body = gateway.ask_control("POST", path + "/approve", "dana", {"shown": view["shown"], "reason": ""})
        self.assertEqual(status, 200, body)

    def test_they_are_negotiated(self):
        gateway = self.gateway(**setup("a")).start()
        client = Modern(gateway, "/servers/a/mcp")
        self.assertEqual(client.result("server/discover")["capabilities"]["extensions"], {TASKS: {}})
        old = Events(gateway, "/servers/a/mcp")
        self.assertNotIn("extensions", old.initialized["capabilities"])
        status, message, _ = client.whole("tasks/get", {"taskId": "op_x"}, headers={"Mcp_Name": "op_x"})
        self.assertEqual((status, message["error"]["code"]), (400, -32021))
        self.assertEqual(message["error"]["data"], {"requiredCapabilities": {"extensions": {TASKS: {}}}})
        status, message, _ = client.whole("tasks/get", {"taskId": "op_x"}, headers={"Mcp_Name": "other"}, capabilities=TAKES)
        self.assertEqual((status, message["error"]["code"]), (400, -32020))
        for method in ("tasks/list", "tasks/result"):
            status, message, _ = client.whole(method, {"taskId": "op_x"}, capabilities=TAKES)
            self.assertEqual((status, message["error"]["code"]), (404, -32601), method)

    def test_what_waits_for_a_person_is_one(self):
        gateway = self.asking()
        client, other = Modern(gateway, "/servers/m/mcp", token="a"), Modern(gateway, "/servers/m/mcp", token="b")
        made = client.tool("write", capabilities=TAKES)
        self.assertEqual((made["resultType"], made["status"]), ("task", "working"))
        self.assertEqual(code_of(made), "APPROVAL_PENDING")
        ident = made["taskId"]
        status, message, _ = other.whole("tasks/get", {"taskId": ident}, headers={"Mcp_Name": ident}, capabilities=TAKES)
        self.assertEqual((status, message["error"]["code"]), (200, -32602))
        self.approve(gateway)
        task = self.polled(client, ident)
        self.assertEqual((task["status"], words_of(task["result"])), ("completed", "written"))
        self.assertEqual(task["result"]["_meta"][OURS]["operation"], ident)
        again = self.polled(client, ident)
        self.assertEqual(words_of(again["result"]), "written")
        gateway.stop()
        kinds = [one["predicate"]["kind"] for one in gateway.receipts() if one["predicate"].get("operation") == ident]
        self.assertEqual(kinds, ["approval", "intent", "outcome"])
        self.assertEqual(gateway.verify().returncode, 0)

    def test_the_tasks_of_a_server_are_followed(self):
        gateway = self.gateway(**modern_server()).start()
        client = Modern(gateway, "/servers/m/mcp")
        quick = client.tool("later", {"polls": 1}, capabilities=TAKES)
        self.assertEqual((quick["resultType"], words_of(quick)), ("complete", "later"))
        self.assertEqual(words_of(client.tool("later")), "at once")
        made = client.tool("later", {"ending": "never"}, capabilities=TAKES)
        self.assertEqual(made["resultType"], "task")
        self.assertTrue(made["taskId"].startswith("op_"), "never the server's own")
        client.result("tasks/cancel", {"taskId": made["taskId"]}, headers={"Mcp_Name": made["taskId"]}, capabilities=TAKES)
        self.assertEqual(self.polled(client, made["taskId"])["status"], "cancelled")

    def test_a_task_outlives_the_process(self):
        gateway = self.asking()
        ident = Modern(gateway, "/servers/m/mcp", token="a").tool("write", capabilities=TAKES)["taskId"]
        gateway.stop()
        gateway.start()
        self.approve(gateway)
        task = self.polled(Modern(gateway, "/servers/m/mcp", token="a"), ident)
        self.assertEqual(words_of(task["result"]), "written")


class Apps(Case):
    def test_a_page_and_its_tools_keep_their_names_where_one_server_stands_alone(self):
        gateway = self.gateway(**modern_server()).start()
        client = Modern(gateway, "/servers/m/mcp")
        extensions = client.result("server/discover")["capabilities"]["extensions"]
        self.assertEqual(extensions[APPS], {"mimeTypes": ["text/html;profile=mcp-app"]})
        tools = {tool["name"]: tool for tool in client.result("tools/list")["tools"]}
        self.assertEqual(tools["show"]["_meta"]["ui"], {"resourceUri": PAGE, "visibility": ["model", "app"]})
        self.assertIn(PAGE, [one["uri"] for one in client.result("resources/list")["resources"]])
        page = client.result("resources/read", {"uri": tools["show"]["_meta"]["ui"]["resourceUri"]})["contents"][0]
        self.assertEqual((page["uri"], page["mimeType"], page["text"]), (PAGE, "text/html;profile=mcp-app", "<p>clock</p>"))
        self.assertEqual(page["_meta"], {"ui": {"csp": {"connectDomains": []}}})
        able = {"extensions": {APPS: {"mimeTypes": ["text/html;profile=mcp-app"]}, "com.example/x": {}}}
        shown = client.tool("show", capabilities=able)
        self.assertEqual((shown["_meta"]["ui"], shown["_meta"]["com.example/n"]), ({"resourceUri": PAGE}, 1))
        seen = json.loads(words_of(client.tool("meta", capabilities=able)))["io.modelcontextprotocol/clientCapabilities"]
        self.assertEqual(seen, {"extensions": {APPS: able["extensions"][APPS]}})

    def test_gathered_servers_declare_no_apps_but_their_pages_can_be_read(self):
        client = Modern(self.gateway(**modern_server()).start(), "/mcp")
        self.assertEqual(client.result("server/discover")["capabilities"]["extensions"], {TASKS: {}})
        tools = {tool["name"]: tool for tool in client.result("tools/list")["tools"]}
        self.assertEqual(tools["m__show"]["_meta"]["ui"]["resourceUri"], PAGE)
        self.assertEqual(client.result("resources/read", {"uri": PAGE})["contents"][0]["uri"], PAGE)

    def test_legacy_clients_get_them_unharmed(self):
        client = Events(self.gateway(**modern_server()).start(), "/servers/m/mcp")
        tools = {tool["name"]: tool for tool in client.ask(1, "tools/list")["result"]["tools"]}
        self.assertEqual(tools["show"]["_meta"]["ui"]["resourceUri"], PAGE)
        self.assertEqual(client.ask(2, "resources/read", {"uri": PAGE})["result"]["contents"][0]["text"], "<p>clock</p>")


class Pages(Case):
    """A client that can show a page, and no form, is led to the console; a person answers there."""

    def test_the_call_sent_again_runs_once_it_was_approved(self):
        files = setup("a")
        files["trust"]["servers"]["a"]["tools"] = {"*": {"effect": "file", "destructive": False}}
        files["policy"] = {"rules": [{"id": "user", "ask": {"server": "a"}, "approval": {"sessionUser": True}}]}
        gateway = self.gateway(**files, people=[{**DANA, "groups": []}]).start()
        client = Modern(gateway, "/servers/a/mcp")
        call = {"name": "progress", "arguments": {"values": []}}
        asked = client.result("tools/call", call, capabilities={"elicitation": {"url": {}}})
        self.assertEqual(asked["resultType"], "input_required")
        params = asked["inputRequests"]["dev.sallyport/ask"]["params"]
        self.assertEqual((params["mode"], params["url"].split("/#/")[0]), ("url", "http://" + gateway.control))
        self.assertNotIn("elicitationId", params)
        path = "/api/v1/approvals/" + params["url"].rsplit("/", 1)[1]
        view = json.loads(gateway.ask_control("GET", path, "dana")[1])
        status, body = gateway.ask_control("POST", path + "/approve", "dana", {"shown": view["shown"], "reason": ""})
        self.assertEqual(status, 200, body)
        done = client.result("tools/call", {**call, "requestState": asked["requestState"],
                                            "inputResponses": {"dev.sallyport/ask": {"action": "accept"}}},
                             capabilities={"elicitation": {"url": {}}})
        self.assertEqual((done["resultType"], done["_meta"][OURS]["outcome"]), ("complete", "applied"))


if __name__ == "__main__":
    main()
