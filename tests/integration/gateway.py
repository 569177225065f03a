"""A gateway of its own for every test: a temporary folder with the files that people write, the program as users start
it, and what a test needs to speak with it. Standard library only.

Nothing sleeps: tests wait for lines, sockets and ends of processes, each with a limit. Orphans become children of the
test, so that what the program left behind is found.
"""
import base64
import ctypes
import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import receipt_schema

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FIXTURE = str(SOURCE / "tests/fixtures/servers/stdio_server.py")
MODULES = SOURCE / "tests/integration/node_modules"
LIMIT = 60  # seconds that anything may take before a test calls it hung
OURS = "dev.sallyport/call"
ACCEPT = "application/json, text/event-stream"

PROGRAMS = {}  # name -> path, from the command line: sallyport=PATH export-worker=PATH
os.umask(0o077)  # files that others may write are refused
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def main():
    """Takes NAME=PATH words off the command line and runs the tests of the calling file."""
    words = [word for word in sys.argv[1:] if "=" in word and not word.startswith("-")]
    PROGRAMS.update(word.split("=", 1) for word in words)
    rest = [word for word in sys.argv[1:] if word not in words]
    unittest.main(module="__main__", argv=[sys.argv[0], *rest])


def children(of=None):
    """Processes whose parent is `of`: (pid, command line)."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = pathlib.Path("/proc", entry, "stat").read_text()
            state, parent = stat.rsplit(")", 1)[1].split()[:2]
            if int(parent) == (of or os.getpid()) and state != "Z":
                words = pathlib.Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
                found.append((int(entry), b" ".join(words).decode(errors="replace").strip()))
        except OSError:
            pass
    return found


def descendants(of=None):
    found = []
    for pid, words in children(of):
        found += [(pid, words), *descendants(pid)]
    return found


def wait_until(condition, what, limit=LIMIT):
    """For what gives no sign of its own: looks again and again, with a limit."""
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("not within %d s: %s" % (limit, what))
        threading.Event().wait(0.02)


def environment(**more):
    """What the program and direct servers get: little, and the same for both."""
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS")
            if name in os.environ}
    return {**kept, **more}


class Process:
    """A process with its standard error read line by line, and its end awaited."""

    def __init__(self, words, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("env", environment())
        self.words = words
        self.child = subprocess.Popen(words, stderr=subprocess.PIPE, **options)
        self.lines = []
        self.news = threading.Condition()
        self.ended = False
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.child.stderr:
            with self.news:
                self.lines.append(line.decode(errors="replace").rstrip("\n"))
                self.news.notify_all()
        with self.news:
            self.ended = True
            self.news.notify_all()

    def said(self, part, limit=LIMIT):
        """The first line of standard error that holds `part`; waits for it."""
        found = []

        def there():
            found[:] = [line for line in self.lines if part in line]
            return found or self.ended

        with self.news:
            self.news.wait_for(there, limit)
        if not found:
            raise AssertionError("%r never said %r, but:\n%s" % (self.words[:3], part, "\n".join(self.lines[-40:])))
        return found[0]

    def end(self, how=signal.SIGTERM, limit=LIMIT):
        """Its exit code, after it was told to end (unless it had ended)."""
        if self.child.poll() is None:
            self.child.send_signal(how)
        try:
            code = self.child.wait(limit)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            raise AssertionError("%r did not end; it said:\n%s" % (self.words[:3], "\n".join(self.lines[-40:]))) from None
        if how == signal.SIGTERM:
            self.reader.join(limit)
        streams = [self.child.stdin, self.child.stdout]
        if not self.reader.is_alive():
            streams.append(self.child.stderr)
        for stream in streams:
            if stream and not stream.closed:
                stream.close()
        return code


class Case(unittest.TestCase):
    """Ends with nothing left: no process, no file."""
    maxDiff = None
    judges_receipts = False  # every receipt of its gateways, by the published schema

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sp-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(self._none_left)

    def _none_left(self):
        try:
            wait_until(lambda: not descendants(), "the end of what was started", 15)
        except AssertionError:
            left = descendants()
            for pid, _ in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.fail("left behind: %s" % left)

    def gateway(self, **options):
        gateway = Gateway(self, self.folder, **options)
        return gateway

    def run_program(self, *words, limit=LIMIT, env=None, stdin=None):
        return subprocess.run([PROGRAMS["sallyport"], *map(str, words)], input=stdin, capture_output=True, text=True,
                              timeout=limit, env=env or environment(), check=False)


def allow_all(servers):
    return {"default": "ask", "rules": [{"id": "all-" + name, "allow": {"server": name}} for name in servers]}


class Gateway:
    """The files of one gateway and, between start and stop, its process."""

    def __init__(self, case, folder, servers=None, trust=None, policy=None, accept=True, **config):
        self.case = case
        self.folder = folder
        self.servers = servers or {}
        self.config = folder / "sallyport.jsonc"
        self.state = folder / "state"
        self.process = self.address = self.control = None
        self.write({"mcpServers": self.servers, "trust": trust or {"servers": {}},
                    "policy": policy or allow_all(self.servers), "state": "state", **config})
        if accept:
            self.accept()

    def write(self, settings):
        self.config.write_text(json.dumps(settings, indent=1))

    def run(self, *words, **options):
        return self.case.run_program(*words, "--config", self.config, **options)

    def accept(self):
        done = self.run("trust", "accept", "--yes")
        self.case.assertEqual(done.returncode, 0, done.stderr)
        return done

    def start(self, *words):
        self.process = Process([PROGRAMS["sallyport"], "serve", "--config", str(self.config), "--port", "0",
                                "--control-port", "0", *words])
        self.case.addCleanup(self.stop)
        self.address = self.process.said("sallyport: clients: ").split("//")[1].split("/")[0]
        self.control = self.process.said("sallyport: people: ").split("//")[1].split("/")[0]
        return self

    def stop(self, how=signal.SIGTERM):
        if self.process is None:
            return None
        process, self.process = self.process, None
        code = process.end(how)
        if how == signal.SIGTERM:
            self.case.assertEqual(code, 0, "\n".join(process.lines[-40:]))
            if self.case.judges_receipts:
                self.receipts()
        return code

    @property
    def pid(self):
        return self.process.child.pid

    def token(self, who="client"):
        return (self.state / (who + ".token")).read_text().strip()

    def client(self, mount="/mcp", **options):
        return Http(self, mount, **options)

    def socket(self):
        host, port = self.address.rsplit(":", 1)
        raw = socket.create_connection((host, int(port)), LIMIT)
        self.case.addCleanup(raw.close)
        return raw

    def ask_control(self, method, path, token=None, body=None):
        """(status, body) of the control listener."""
        host, port = self.control.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=LIMIT)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if token:
            headers["Authorization"] = "Bearer " + token
        connection.request(method, path, body if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, text

    def outcome_told(self, operation):
        """The last outcome that receipts tell of it."""
        return [one["predicate"]["outcome"]["value"] for one in self.receipts()
                if one["predicate"].get("operation") == operation and "outcome" in one["predicate"]][-1]

    def receipts(self):
        """The statements of the log, in order; each is what its schema says, where the case judges that."""
        done = self.case.run_program("receipts", "export", "--state", self.state)
        self.case.assertEqual(done.returncode, 0, done.stderr)
        statements = [json.loads(base64.b64decode(json.loads(line)["payload"])) for line in done.stdout.splitlines()]
        for statement in statements if self.case.judges_receipts else []:
            self.case.assertEqual(receipt_schema.faults(statement), [], statement)
        return statements

    def verify(self):
        return self.case.run_program("receipts", "verify", "--state", self.state)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def message(self, ident=None):
        """The answer with that id, from JSON or from the events of a stream."""
        return json.loads(self.raw_message(ident))

    def raw_message(self, ident=None):
        if not self.headers.get("Content-Type", "").startswith("text/event-stream"):
            return self.body
        for event in self.body.replace(b"\r\n", b"\n").split(b"\n\n"):
            data = b"\n".join(line[5:].lstrip(b" ") for line in event.split(b"\n") if line.startswith(b"data:"))
            if data:
                message = json.loads(data)
                if "method" not in message and (ident is None or message.get("id") == ident):
                    return data
        raise AssertionError("no answer in the stream: %r" % self.body)


class Http:
    """A client over streamable HTTP that shows everything as it came. One request at a time."""

    def __init__(self, gateway, mount="/mcp", token=None, tls=None, limit=LIMIT):
        host, port = gateway.address.rsplit(":", 1)
        if tls:
            self.connection = http.client.HTTPSConnection(host, int(port), timeout=limit, context=tls)
        else:
            self.connection = http.client.HTTPConnection(host, int(port), timeout=limit)
        gateway.case.addCleanup(self.connection.close)
        self.mount, self.token, self.session, self.last = mount, token or gateway.token(), None, 0
        self.version = None

    def headers(self, **more):
        headers = {"Content-Type": "application/json", "Accept": ACCEPT, "Authorization": "Bearer " + self.token}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        if self.version:
            headers["MCP-Protocol-Version"] = self.version
        headers.update({name.replace("_", "-"): value for name, value in more.items()})
        return {name: value for name, value in headers.items() if value is not None}

    def post(self, body, **headers):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.connection.request("POST", self.mount, body, self.headers(**headers))
        response = self.connection.getresponse()
        return Answer(response.status, response.headers, response.read())

    def ask(self, method, params=None):
        self.last += 1
        body = {"jsonrpc": "2.0", "id": self.last, "method": method}
        if params is not None:
            body["params"] = params
        answer = self.post(body)
        if answer.status != 200:
            raise AssertionError("%d: %r" % (answer.status, answer.body))
        return answer.message(self.last)

    def connect(self, version="2025-11-25"):
        self.last += 1
        answer = self.post({"jsonrpc": "2.0", "id": self.last, "method": "initialize",
                            "params": {"protocolVersion": version, "capabilities": {},
                                       "clientInfo": {"name": "integration", "version": "1"}}})
        if answer.status != 200:
            raise AssertionError("%d: %r" % (answer.status, answer.body))
        self.session = answer.headers["Mcp-Session-Id"]
        result = answer.message(self.last)["result"]
        self.version, self.instructions = result["protocolVersion"], result.get("instructions", "")
        noted = self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        if noted.status != 202:
            raise AssertionError("%d: %r" % (noted.status, noted.body))
        return self

    def call(self, tool, arguments=None, **meta):
        params = {"name": tool, "arguments": arguments or {}}
        if meta:
            params["_meta"] = meta
        message = self.ask("tools/call", params)
        if "result" not in message:
            raise AssertionError(message)
        return message["result"]

    def tools(self):
        found, cursor = [], None
        while True:
            result = self.ask("tools/list", {"cursor": cursor} if cursor else {})["result"]
            found += result["tools"]
            cursor = result.get("nextCursor")
            if not cursor:
                return found


class Lines:
    """A client over standard input and output of a process: `sallyport stdio`, `wrap`, or a server itself."""

    def __init__(self, case, words, **options):
        self.process = Process([str(word) for word in words], stdin=subprocess.PIPE, **options)
        case.addCleanup(self.process.end)
        self.last, self.notes = 0, []

    def send(self, message):
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.child.stdin.write(body + b"\n")
        self.process.child.stdin.flush()

    def receive_raw(self):
        line = self.process.child.stdout.readline()
        if not line:
            self.process.reader.join(LIMIT)
            raise AssertionError("the end instead of a line; it said:\n%s" % "\n".join(self.process.lines[-20:]))
        return line.rstrip(b"\n")

    def raw_answer(self, ident):
        while True:
            line = self.receive_raw()
            message = json.loads(line)
            if "method" not in message and message.get("id") == ident:
                return line
            self.notes.append(message)

    def ask(self, method, params=None):
        self.last += 1
        body = {"jsonrpc": "2.0", "id": self.last, "method": method}
        if params is not None:
            body["params"] = params
        self.send(body)
        return json.loads(self.raw_answer(self.last))

    def connect(self, version="2025-11-25"):
        result = self.ask("initialize", {"protocolVersion": version, "capabilities": {},
                                         "clientInfo": {"name": "integration", "version": "1"}})["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    call = Http.call
    tools = Http.tools

    def close(self):
        """Closes the client's end, and waits for the process: its exit code."""
        self.process.child.stdin.close()
        code = self.process.child.wait(LIMIT)
        self.process.child.stdout.close()
        return code


def code_of(result):
    return result["_meta"][OURS].get("code")


def words_of(result):
    return "\n".join(block.get("text", "") for block in result["content"])


def tls_context(certificate):
    return ssl.create_default_context(cafile=str(certificate))
