"""A client of the legacy versions that is asked and told things while its requests run, and servers to go with it."""
import hashlib
import http.client
import json
import sys
import threading

from gateway import LIMIT, SOURCE, Http

FULL = str(SOURCE / "tests/fixtures/servers/full_server.py")
METHODS = ["tools/call", "resources/read", "prompts/get", "completion/complete"]
EVERYTHING = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {"listChanged": True}}


def server(name, **more):
    return {"command": sys.executable, "args": ["-B", FULL, "--name=" + name], **more}


def setup(*names, passes=("elicitation", "sampling", "roots"), **more):
    """Config, trust and policy for servers that may do everything."""
    return {"servers": {name: server(name, **more) for name in names},
            "trust": {"servers": {name: {"passes": list(passes), "tools": {"*": "read"}} for name in names}},
            "policy": {"rules": [{"id": "all-" + name, "allow": {"server": name, "method": METHODS}} for name in names]}}


class Events:
    """A client over HTTP that answers what it is asked, and keeps what it is told; requests run side by side."""

    def __init__(self, gateway, mount="/mcp", capabilities=None, token=None):
        self.gateway, self.mount, self.token = gateway, mount, token
        self.http = Http(gateway, mount, token=token)
        answer = self.http.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": EVERYTHING if capabilities is None else capabilities,
            "clientInfo": {"name": "events", "version": "1"}}})
        self.session = self.http.session = answer.headers["Mcp-Session-Id"]
        self.http.version = "2025-11-25"
        self.initialized = answer.message(0)["result"]
        self.http.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.notes, self.asked, self.answers = [], [], {}
        self.news = threading.Condition()
        self.respond = lambda message: {"result": {}}

    def connection(self):
        other = Http(self.gateway, self.mount, token=self.token)
        other.session, other.version = self.session, "2025-11-25"
        return other

    def take(self, message):
        with self.news:
            if "method" in message and "id" in message:
                self.asked.append(message)
            elif "method" in message:
                self.notes.append(message)
            else:
                self.answers[json.dumps(message["id"])] = message
            self.news.notify_all()
        if "method" in message and "id" in message:
            reply = self.respond(message)
            if reply is not None:
                done = self.connection().post({"jsonrpc": "2.0", "id": message["id"], **reply})
                assert done.status == 202, (done.status, done.body)

    def read(self, response):
        if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
            body = response.read()
            if body:
                self.take(json.loads(body))
            return
        data = b""
        while True:
            line = response.readline()
            if not line:
                return
            if line.startswith(b"data:") and line[5:].strip():
                data += line[5:].strip()
            elif not line.strip() and data:
                self.take(json.loads(data))
                data = b""

    def start(self, ident, method, params=None):
        """Sends a request; its answer comes to `answers`."""
        other = self.connection()
        body = {"jsonrpc": "2.0", "id": ident, "method": method, **({"params": params} if params is not None else {})}

        def run():
            try:
                other.connection.request("POST", self.mount, json.dumps(body).encode(), other.headers())
                self.read(other.connection.getresponse())
                other.connection.close()
            except (OSError, AttributeError, http.client.HTTPException):
                pass  # dropped by the test

        threading.Thread(target=run, daemon=True).start()
        return other

    def listen(self):
        """The session's own stream."""
        other = self.connection()
        other.connection.request("GET", self.mount, headers=other.headers(Accept="text/event-stream"))
        response = other.connection.getresponse()
        assert response.status == 200, response.status
        response.readline()

        def run():
            try:
                self.read(response)
            except Exception:  # closed by the end of the test
                pass

        threading.Thread(target=run, daemon=True).start()
        return other

    def answer(self, ident):
        with self.news:
            assert self.news.wait_for(lambda: json.dumps(ident) in self.answers, LIMIT), "no answer to %r" % ident
            return self.answers[json.dumps(ident)]

    def ask(self, ident, method, params=None):
        self.start(ident, method, params)
        return self.answer(ident)

    def call(self, ident, tool, arguments=None, **meta):
        params = {"name": tool, "arguments": arguments or {}, **({"_meta": meta} if meta else {})}
        return self.ask(ident, "tools/call", params)["result"]

    def text(self, ident, tool, arguments=None):
        return self.call(ident, tool, arguments)["content"][0]["text"]

    def told(self, method, count=1):
        with self.news:
            found = lambda: [note for note in self.notes if note["method"] == method]
            assert self.news.wait_for(lambda: len(found()) >= count, LIMIT), "%s: %r" % (method, self.notes)
            return found()

    def was_asked(self, count=1):
        with self.news:
            assert self.news.wait_for(lambda: len(self.asked) >= count, LIMIT), "asked only %r" % self.asked
            return self.asked


def hash_of(token):
    return hashlib.sha256(token.encode()).hexdigest()
