"""The four pairings of eras with the official SDKs on both ends and Sallyport between: every client of one era in front of
every server of the other. Each lists, calls, gets a structured result, an error, progress, a question and a resource; each
prints which pairs did all of it.
"""
import json
import pathlib

from gateway import Case, Process, environment, main
from suite_test import METHODS, NODE

HERE = pathlib.Path(__file__).resolve().parent / "pairs"
PYTHON = HERE.parents[2] / "build/python-modern/bin/python"
VERSIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
# The first line of the TypeScript SDK knows the legacy versions only; the second, and the Python SDK 2.x, know both.
CLIENTS = {"legacy": {"typescript-v1": [NODE, HERE / "client_v1.mjs"], "typescript-v2": [NODE, HERE / "client_v2.mjs"],
                      "python": [PYTHON, "-B", HERE / "client.py"]},
           "modern": {"typescript-v2": [NODE, HERE / "client_v2.mjs"], "python": [PYTHON, "-B", HERE / "client.py"]}}
LIMIT = 100


class Pairs(Case):
    def server(self, name, era):
        """An entry of the config: TypeScript over HTTP, Python over stdio."""
        if name == "python":
            return {"command": str(PYTHON), "args": ["-B", str(HERE / "server.py")], "sallyport": {"era": era}}
        process = Process([str(NODE), str(HERE / ("server_v1.mjs" if era == "legacy" else "server_v2.mjs"))], stdin=-1)
        self.addCleanup(process.end)
        return {"type": "http", "url": process.child.stdout.readline().decode().strip()}

    def visits(self, client, era, gateway, servers):
        """What the client found at each server."""
        urls = ["http://%s/servers/%s/mcp" % (gateway.address, name) for name in servers]
        process = Process([str(word) for word in client] + [era, gateway.token(), *urls], env=environment())
        self.addCleanup(process.end)
        found = [json.loads(line) for line in process.child.stdout]
        self.assertEqual(process.child.wait(LIMIT), 0, "\n".join(process.lines[-40:]))
        return dict(zip(servers, found, strict=True))

    def faults(self, out, client, client_era, server_era):
        """What was not as it should be."""
        # -32002 is what a legacy client is told of a modern server's -32602; both SDKs' legacy servers say -32602 themselves,
        # and the second line of the TypeScript SDK shows -32602 whatever it is told.
        translated = (client_era, server_era) == ("legacy", "modern") and client != "typescript-v2"
        asks = (client_era, server_era) != ("modern", "legacy")
        want = {"version": VERSIONS[client_era], "tools": ["add", "count", "fail", "paint"], "sum": {"sum": 5}, "ours": True,
                "refused": True, "unknown": -32602, "progress": [1, 2, 3], "read": "hello",
                "missing": -32002 if translated else -32602,
                "asked": ["[%s] Which colour for door?" % out["server"]] if asks else []}
        found = {**out, "tools": sorted(name for name in out.get("tools", []) if not name.startswith("sallyport_"))}
        wrong = ["%s: %r instead of %r" % (key, found.get(key), value) for key, value in want.items() if found.get(key) != value]
        failed, said = out.get("failed", [None, ""])
        if not failed or "broken on purpose" not in said:
            wrong.append("failed: %r" % said)
        # A server of a legacy version is told that a modern client can be asked nothing: its own error is the answer.
        if out.get("painted", [None])[0] is not (not asks) or (asks and out["painted"][1] != "door is red"):
            wrong.append("painted: %r" % out.get("painted"))
        return wrong + ([out["broke"]] if "broke" in out else [])

    def pairing(self, client_era, server_era):
        servers = {name: self.server(name, server_era) for name in ("typescript", "python")}
        gateway = self.gateway(servers=servers,
                               trust={"servers": {name: {"passes": ["elicitation"], "tools": {"*": "read"}} for name in servers}},
                               policy={"rules": [{"id": name, "allow": {"server": name, "method": METHODS}} for name in servers]})
        gateway.start()
        good, wrong = [], {}
        for client, words in CLIENTS[client_era].items():
            for server, out in self.visits(words, client_era, gateway, servers).items():
                name = "%s to %s" % (client, server if server == "python" else "typescript-v" + ("1" if server_era == "legacy" else "2"))
                bad = self.faults({**out, "server": server}, client, client_era, server_era)
                if bad:
                    wrong[name] = bad
                else:
                    good.append(name)
        print("\npairing %s to %s: %d of %d pairs of SDKs passed: %s"
              % (client_era, server_era, len(good), len(good) + len(wrong), ", ".join(good)))
        self.assertEqual(wrong, {})
        gateway.stop()
        self.assertEqual(gateway.verify().returncode, 0, gateway.verify().stdout)

    def test_legacy_to_legacy(self):
        self.pairing("legacy", "legacy")

    def test_legacy_to_modern(self):
        self.pairing("legacy", "modern")

    def test_modern_to_legacy(self):
        self.pairing("modern", "legacy")

    def test_modern_to_modern(self):
        self.pairing("modern", "modern")


if __name__ == "__main__":
    main()
