"""What the examples share: a gateway in a folder of its own, a scripted client over streamable HTTP, a person at the command
line, and a table of what came and what was wanted. Standard library only.
"""
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = "dev.sallyport/call"
LIMIT = 60  # seconds that anything may take
os.umask(0o077)  # files that others may write are refused


def build_folder():
    return ROOT / os.environ.get("SALLYPORT_BUILD", "build/release")


def sallyport():
    return str(build_folder() / "sallyport")


def export_worker():
    return str(build_folder() / "examples/export-worker/export-worker")


def environment(folder):
    kept = {name: os.environ[name] for name in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS") if name in os.environ}
    return {**kept, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config-home")}  # nothing of yours is read or written


class Result:
    """A tool's result as the client got it."""

    def __init__(self, message):
        self.message = message
        self.result = message.get("result", {})
        self.ours = self.result.get("_meta", {}).get(OURS, {})
        self.code = self.ours.get("code", "" if "result" in message else str(message["error"]["code"]))
        self.outcome = self.ours.get("outcome")
        self.operation = self.ours.get("operation")
        self.approval = self.ours.get("approval")
        self.value = self.result.get("structuredContent") or {}
        self.failed = "error" in message or bool(self.result.get("isError"))

    @property
    def reasons(self):
        return self.ours.get("reasons", [])

    @property
    def words(self):
        return "\n".join(block.get("text", "") for block in self.result.get("content", []))

    @property
    def status(self):
        """What became of it in one word: the finish's status, the refusal's code, or `ok`."""
        return self.value.get("status") if self.value.get("status") in ("complete", "completion_rejected", "unresolved") \
            else self.code or ("error" if self.failed else "ok")


class Client:
    """One session, which is one run."""

    def __init__(self, gateway):
        host, port = gateway.address.rsplit(":", 1)
        self.connection = http.client.HTTPConnection(host, int(port), timeout=LIMIT)
        self.token = (gateway.state / "client.token").read_text().strip()
        self.session = self.version = None
        self.last = 0
        answer = self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                         "clientInfo": {"name": "rehearsal", "version": "1"}})
        self.version = answer["result"]["protocolVersion"]
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def post(self, body):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   "Authorization": "Bearer " + self.token}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        if self.version:
            headers["MCP-Protocol-Version"] = self.version
        self.connection.request("POST", "/mcp", json.dumps(body), headers)
        response = self.connection.getresponse()
        text = response.read().decode()
        self.session = response.headers.get("Mcp-Session-Id", self.session)
        return response.headers.get("Content-Type", ""), text

    def ask(self, method, params):
        self.last += 1
        kind, text = self.post({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        if kind.startswith("text/event-stream"):
            text = next(line[5:] for line in reversed(text.splitlines()) if line.startswith("data:") and '"id"' in line)
        return json.loads(text)

    def tools(self):
        return {tool["name"]: tool for tool in self.ask("tools/list", {})["result"]["tools"]}

    def call(self, tool, arguments=None, key=None):
        params = {"name": tool, "arguments": arguments or {}}
        if key:
            params["_meta"] = {"dev.sallyport/idempotencyKey": key}
        return Result(self.ask("tools/call", params))

    def finish(self):
        return self.call("sallyport_finish")

    def begin(self, tool, arguments=None, key=None):
        """The same on a thread of its own: for calls that wait for a person. Its result comes from `.end()`."""
        return Held(lambda: self.call(tool, arguments, key))


class Held:
    def __init__(self, call):
        self.result = None

        def run():
            self.result = call()

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def end(self):
        self.thread.join(LIMIT)
        if self.result is None:
            raise RuntimeError("the held call did not come back")
        return self.result


class Gateway:
    """`with Gateway(…) as g`: the files, the accepted definitions, the process; and nothing left of it afterwards."""
    accepted = {}  # what was accepted once needs no second start of the servers: trust.lock.json by servers

    def __init__(self, servers, trust, policy, state=None, **config):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sp-"))
        self.state = self.folder / "state"
        self.config = self.folder / "sallyport.jsonc"
        self.file = self.folder / "server.json"  # the example server's state
        if state is not None:
            self.file.write_text(json.dumps(state))
        servers = json.loads(json.dumps(servers).replace("$STATE", str(self.file)))
        self.config.write_text(json.dumps({"mcpServers": servers, "trust": trust, "policy": policy, "state": "state",
                                           "vars": {"project": str(self.folder / "project")}, **config}, indent=1))
        self.process = self.address = None

    def __enter__(self):
        try:
            done = self.run("trust", "accept", "--yes")
            if done.returncode != 0:
                raise RuntimeError("trust accept: " + done.stderr)
            return self.start()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        words = [sallyport(), "serve", "--config", str(self.config), "--port", "0", "--control-port", "0"]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        env=environment(self.folder), text=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            if "sallyport: clients: " in line:
                self.address = line.split("//")[1].split("/")[0]
            if "sallyport: people: " in line:
                break
        else:
            raise RuntimeError("the gateway ended:\n" + "".join(said))
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        return self

    def stop(self, how=signal.SIGTERM):
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(how)
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def run(self, *words):
        return subprocess.run([sallyport(), *[str(word) for word in words], "--config", str(self.config)], capture_output=True,
                              text=True, timeout=LIMIT, stdin=subprocess.DEVNULL, env=environment(self.folder))

    def person(self, *words):
        """A command of the person `owner`; its JSON."""
        done = self.run(*words, "--json", "--token-file", self.state / "owner.token")
        if done.returncode not in (0, 1) or not done.stdout.strip():
            raise RuntimeError("%s: %s%s" % (" ".join(map(str, words)), done.stdout, done.stderr))
        return json.loads(done.stdout)

    def waiting(self, but=()):
        """The id of the ask that waits; waits for it."""
        for _ in range(600):
            for one in self.person("approvals", "list")["approvals"]:
                if one["id"] not in but:
                    return one["id"]
            threading.Event().wait(0.05)
        raise RuntimeError("no ask came")

    def approve(self, approval):
        return self.run("approvals", "approve", approval, "--yes", "--token-file", self.state / "owner.token").returncode == 0

    def deny(self, approval, reason):
        return self.run("approvals", "deny", approval, "--reason", reason, "--token-file", self.state / "owner.token").returncode == 0

    def client(self):
        return Client(self)

    def server_state(self):
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def executed(self, tool):
        return self.server_state().get("executions", {}).get(tool, 0)

    def receipts(self):
        """The statements of the log, in order."""
        import base64
        done = self.run("receipts", "export")
        return [json.loads(base64.b64decode(json.loads(line)["payload"]))["predicate"] for line in done.stdout.splitlines()]


class Table:
    """Rows of what came and what was wanted."""

    def __init__(self, title, *columns):
        self.columns, self.rows, self.failed = columns, [], 0
        print("\n" + title)

    def row(self, *cells, holds):
        self.rows.append((*[str(cell) for cell in cells], "ok" if holds else "FAILED"))
        self.failed += 0 if holds else 1

    def show(self):
        rows = [(*self.columns, ""), *self.rows]
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        for row in rows:
            print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        return self.failed


def main(*tables):
    """Runs them; exit code 0 only if all rows hold."""
    if not os.access(sallyport(), os.X_OK):
        sys.exit("there is no %s; run examples/*/run.sh, or set SALLYPORT_BUILD" % sallyport())
    failed = sum(table() for table in tables)
    print("\nall rows hold" if failed == 0 else "\n%d rows do not hold" % failed)
    sys.exit(0 if failed == 0 else 1)
