#!/usr/bin/env python3
"""Real servers behind the gateway, real clients in front of it: sdk_test.py sallyport=PATH [CASE…]

Every tool is listed and called, once directly and once by every way through the gateway: over HTTP and over `sallyport
stdio`, gathered at /mcp and alone at /servers/<id>/mcp. Results are equal, but for the gateway's own `_meta` key.
"""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess

from gateway import MODULES, OURS, PROGRAMS, SOURCE, Case, Process, code_of, environment, main, wait_until

DRIVERS = {"typescript": ["node", str(SOURCE / "tests/integration/sdk/client.mjs")],
           "python": [str(SOURCE / "build/python/bin/python"), "-B", str(SOURCE / "tests/integration/sdk/client.py")]}
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=")
TIMES = re.compile(r"^(created|accessed|modified): .*$", re.M)
CLOCK = re.compile(r"created at [0-9:]+ [AP]M")
SESSION = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# What is not equal by itself, and why. The text of these results is compared with what varies taken out.
VARIES = {"get_file_info": (TIMES, "the times of a file that is made anew for every way"),
          "get-resource-reference": (CLOCK, "tells the time"),
          "toggle-simulated-logging": (SESSION, "names the session, and the gateway's is another than the direct client's"),
          "toggle-subscriber-updates": (SESSION, "names the session, and the gateway's is another than the direct client's")}
# Runs as a task only, which the gateway does not offer: it sets such a tool aside, unlisted, and says so when it is called.
TASKS_ONLY = {"simulate-research-query"}
# Sampling, elicitation and roots: the server offers these tools only to clients that can answer, and a gateway without
# `passes` cannot. They must not be in the list.
NEED_A_CLIENT_THAT_ANSWERS = {"trigger-sampling-request", "trigger-elicitation-request", "get-roots-list",
                              "trigger-sampling-request-async", "trigger-elicitation-request-async", "trigger-url-elicitation"}


def one(tool, progress=False, plain=False, **arguments):
    return {"tool": tool, "arguments": arguments, "progress": progress, "plain": plain}


def script(name):
    return str(MODULES / "@modelcontextprotocol" / ("server-" + name) / "dist/index.js")


class Everything:
    id = "everything"
    entry = {"command": "node", "args": [script("everything"), "stdio"]}
    calls = [
        one("echo", message="grüße \U0001F40E \u2028 \\ \" \u0000"), one("echo", message=""),
        one("get-sum", a=0.1, b=0.2), one("get-sum", a=-9007199254740991, b=1), one("get-sum", a=1e300, b=1),
        one("get-annotated-message", messageType="error", includeImage=True), one("get-annotated-message", messageType="debug"),
        one("get-env"), one("get-tiny-image"), one("get-resource-links", count=2),
        one("get-resource-reference", resourceType="Text", resourceId=1),
        one("get-structured-content", location="Chicago"),
        one("gzip-file-as-resource", name="a.gz", data="data:text/plain,hello", outputType="resource"),
        one("toggle-simulated-logging"), one("toggle-simulated-logging"),
        one("toggle-subscriber-updates"), one("toggle-subscriber-updates"),
        one("trigger-long-running-operation", progress=True, duration=0.2, steps=4),
        one("simulate-research-query", plain=True, topic="x"),
    ]

    def __init__(self, folder):
        self.folder = folder

    def reset(self):
        pass


class Filesystem:
    id = "files"

    def __init__(self, folder):
        self.root = folder / "root"
        root = str(self.root)
        self.entry = {"command": "node", "args": [script("filesystem"), root]}
        self.calls = [
            one("list_allowed_directories"), one("read_file", path=root + "/a.txt", head=1),
            one("read_text_file", path=root + "/a.txt"), one("read_text_file", path=root + "/no such file"),
            one("read_text_file", path="/etc/passwd"), one("read_media_file", path=root + "/pixel.png"),
            one("read_multiple_files", paths=[root + "/a.txt", root + "/missing"]),
            one("write_file", path=root + "/sub/new.txt", content="ünï\r\n\tcode\u2029"),
            one("edit_file", path=root + "/a.txt", edits=[{"oldText": "two", "newText": "zwei"}], dryRun=True),
            one("edit_file", path=root + "/a.txt", edits=[{"oldText": "two", "newText": "2"}]),
            one("create_directory", path=root + "/sub/deeper/still"), one("list_directory", path=root + "/sub/deeper"),
            one("list_directory_with_sizes", path=root + "/one"), one("directory_tree", path=root + "/sub/deeper"),
            one("search_files", path=root, pattern="**/only.txt"), one("get_file_info", path=root + "/pixel.png"),
            one("move_file", source=root + "/one/only.txt", destination=root + "/sub/moved.txt"),
            one("move_file", source=root + "/one/only.txt", destination=root + "/sub/moved.txt"),
        ]
        self.reset()

    def reset(self):
        shutil.rmtree(self.root, ignore_errors=True)
        for name in ("sub", "one"):
            (self.root / name).mkdir(parents=True)
        (self.root / "a.txt").write_text("one\ntwo\nthree\n")
        (self.root / "one/only.txt").write_text("x" * 3000)
        (self.root / "pixel.png").write_bytes(PIXEL)


class Memory:
    id = "memory"

    def __init__(self, folder):
        self.file = folder / "memory.jsonl"
        self.entry = {"command": "node", "args": [script("memory")], "env": {"MEMORY_FILE_PATH": str(self.file)}}
        ada = {"name": "Ada", "entityType": "person", "observations": ["wrote notes", "ä \U0001F40E"]}
        note = {"name": "Note G", "entityType": "text", "observations": []}
        wrote = {"from": "Ada", "to": "Note G", "relationType": "wrote"}
        self.calls = [
            one("create_entities", entities=[ada, note]), one("create_entities", entities=[ada]),
            one("create_relations", relations=[wrote]),
            one("add_observations", observations=[{"entityName": "Ada", "contents": ["counted"]}]),
            one("add_observations", observations=[{"entityName": "nobody", "contents": ["x"]}]),
            one("read_graph"), one("search_nodes", query="note"), one("open_nodes", names=["Ada"]),
            one("delete_observations", deletions=[{"entityName": "Ada", "observations": ["counted"]}]),
            one("delete_relations", relations=[wrote]), one("delete_entities", entityNames=["Note G"]), one("read_graph"),
        ]

    def reset(self):
        self.file.unlink(missing_ok=True)


def without_ours(result, tool):
    """The result as text, members in the order they came, without the gateway's key."""
    result = dict(result)
    meta = {key: value for key, value in result.pop("_meta", {}).items() if key != OURS}
    if meta:
        result["_meta"] = meta
    return json.dumps(blotted(result, VARIES[tool][0]) if tool in VARIES else result, ensure_ascii=False)


def blotted(value, pattern):
    """The value with what the pattern finds in its texts taken out."""
    if isinstance(value, str):
        return pattern.sub("…", value)
    if isinstance(value, list):
        return [blotted(one, pattern) for one in value]
    if isinstance(value, dict):
        return {name: blotted(one, pattern) for name, one in value.items()}
    return value


def listening_port(pid):
    """The port that a process listens on, which servers do not tell."""
    inodes = set()
    for fd in pathlib.Path("/proc", str(pid), "fd").iterdir():
        try:
            target = os.readlink(fd)
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    for table in ("tcp", "tcp6"):
        for row in pathlib.Path("/proc/net", table).read_text().splitlines()[1:]:
            fields = row.split()
            if fields[3] == "0A" and fields[9] in inodes:
                return int(fields[1].rsplit(":", 1)[1], 16)
    return None


class Driver:
    def __init__(self, case, language):
        self.process = Process(DRIVERS[language], stdin=subprocess.PIPE, env=environment(NODE_NO_WARNINGS="1"))
        case.addCleanup(self.process.end)

    def run(self, route, calls):
        self.process.child.stdin.write(json.dumps({**route, "calls": calls}).encode() + b"\n")
        self.process.child.stdin.flush()
        line = self.process.child.stdout.readline()
        if not line:
            raise AssertionError("the client ended:\n" + "\n".join(self.process.lines[-40:]))
        answer = json.loads(line)
        if "broke" in answer:
            raise AssertionError("%s\n%s" % (answer["broke"], "\n".join(self.process.lines[-40:])))
        return answer


class Sdk(Case):
    def through(self, language, world, direct):
        """Direct first, then every way through the gateway; each finds the same world."""
        gateway = self.gateway(servers={world.id: world.entry},
                               trust={"servers": {world.id: {"tools": {"*": {"errors": "none"}}}}}).start()
        driver = Driver(self, language)
        web = {"url": "http://%s/mcp" % gateway.address, "token": gateway.token(), "prefix": world.id + "__"}
        own = {**web, "url": "http://%s/servers/%s/mcp" % (gateway.address, world.id), "prefix": ""}
        bridge = {"command": PROGRAMS["sallyport"], "args": ["stdio", "--config", str(gateway.config)], "env": environment(),
                  "prefix": world.id + "__"}
        alone = {**bridge, "args": [*bridge["args"], "--server", world.id], "prefix": ""}
        world.reset()
        expected = driver.run({**direct, "prefix": ""}, world.calls)
        self.every_tool_is_called(expected, world)
        for name, route in (("http", web), ("http, one server", own), ("stdio", bridge), ("stdio, one server", alone)):
            with self.subTest(way=name):
                world.reset()
                found = driver.run(route, world.calls)
                self.same_tools(expected["tools"], found["tools"], route["prefix"])
                for call, want, got in zip(world.calls, expected["answers"], found["answers"], strict=True):
                    self.same_answer(call, want, got)
        gateway.stop()
        self.assertEqual(gateway.verify().returncode, 0, gateway.verify().stdout)

    def every_tool_is_called(self, expected, world):
        listed = {tool["name"] for tool in expected["tools"]}
        self.assertEqual(listed, {call["tool"] for call in world.calls})
        self.assertFalse(listed & NEED_A_CLIENT_THAT_ANSWERS)
        for call, answer in zip(world.calls, expected["answers"], strict=True):
            self.assertTrue("result" in answer or call["tool"] in TASKS_ONLY, (call, answer))

    def same_tools(self, expected, found, prefix):
        # The gateway's own tool, to wait for an approval, stands beside them.
        found = {tool["name"]: tool for tool in found if not tool["name"].startswith("sallyport_")}
        expected = [tool for tool in expected if tool["name"] not in TASKS_ONLY]
        self.assertEqual(set(found), {prefix + tool["name"] for tool in expected})
        for tool in expected:
            mine = found[prefix + tool["name"]]
            for member in ("title", "description", "inputSchema", "outputSchema", "_meta"):
                self.assertEqual(json.dumps(mine.get(member)), json.dumps(tool.get(member)), (tool["name"], member))

    def same_answer(self, call, want, got):
        if call["tool"] in TASKS_ONLY:
            self.assertEqual(code_of(got["result"]), "TOOL_QUARANTINED", got)
            return
        self.assertIn("result", got, call)
        self.assertIn(OURS, got["result"]["_meta"])
        self.assertEqual(without_ours(got["result"], call["tool"]), without_ours(want["result"], call["tool"]), call)
        if call["progress"]:
            # Whether the last one still counts when the result comes right behind it is the client's affair.
            steps = [[step, 4] for step in (1, 2, 3, 4)]
            self.assertIn(got["progress"], (steps, steps[:3]), call)
            self.assertIn(want["progress"], (steps, steps[:3]), call)

    def stdio(self, language, world):
        self.through(language, world, {"command": world.entry["command"], "args": world.entry["args"],
                                       "env": {**environment(), **world.entry.get("env", {})}})

    def web(self, language):
        server = Process(["node", script("everything"), "streamableHttp"], stdout=subprocess.DEVNULL, env=environment(PORT="0"))
        self.addCleanup(server.end)
        port = wait_until(lambda: listening_port(server.child.pid), "the server listens")
        world = Everything(self.folder)
        world.entry = {"type": "http", "url": "http://127.0.0.1:%d/mcp" % port}
        self.through(language, world, {"url": world.entry["url"]})

    def test_typescript_everything(self):
        self.stdio("typescript", Everything(self.folder))

    def test_typescript_everything_over_http(self):
        self.web("typescript")

    def test_typescript_filesystem(self):
        self.stdio("typescript", Filesystem(self.folder))

    def test_typescript_memory(self):
        self.stdio("typescript", Memory(self.folder))

    def test_python_everything(self):
        self.stdio("python", Everything(self.folder))

    def test_python_everything_over_http(self):
        self.web("python")

    def test_python_filesystem(self):
        self.stdio("python", Filesystem(self.folder))

    def test_python_memory(self):
        self.stdio("python", Memory(self.folder))


if __name__ == "__main__":
    main()
