"""The official conformance suite (version in package.json): against Sallyport in front of a server on the official SDK, and
with Sallyport between a client on the official SDK and the suite's servers. Allow-all policy, everything passes. Each
prints what passed of what the requirement set asks for.
"""
import pathlib
import re
import subprocess
import sys

from gateway import PROGRAMS, Case, Process, environment, main

HERE = pathlib.Path(__file__).resolve().parent
NODE = HERE / "node_modules/.bin/node"
SUITE = HERE / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
REQUIREMENTS = "2025-11-25"
MODERN = "2026-07-28"
METHODS = ["tools/call", "resources/read", "prompts/get", "completion/complete"]
LIMIT = 600


def files(url):
    """Config, trust and policy in front of one server that may do everything."""
    return {"servers": {"suite": {"type": "http", "url": url}},
            "trust": {"servers": {"suite": {"passes": ["elicitation", "sampling", "roots"], "tools": {"*": "read"}}}},
            "policy": {"rules": [{"id": "all", "allow": {"server": "suite", "method": METHODS}}]},
            "anonymous": True}


def required(side, requirements=REQUIREMENTS):
    """The names of the scenarios that the requirement set asks of a server or a client; auth/ is not ours to pass: there
    an intermediary is its own resource server."""
    listed = subprocess.run([NODE, SUITE, "list", "--requirements", requirements], capture_output=True, text=True, check=True)
    part = re.search(r"^%s scenarios.*?\n((?:  - .*\n)+)" % side, listed.stdout, re.MULTILINE).group(1)
    names = [line[4:].split(" ")[0] for line in part.splitlines()]
    return [name for name in names if not name.startswith("auth/")]


class Suite(Case):
    def suite(self, *words):
        """What it said, and scenario -> whether all of its checks passed."""
        done = subprocess.run([NODE, SUITE, *words, "-o", self.folder / "out"], capture_output=True, text=True, timeout=LIMIT,
                              env=environment(), check=False, cwd=self.folder)
        said = done.stdout + done.stderr
        counts = re.findall(r"^. (\S+): (\d+) passed, (\d+) failed", said, re.MULTILINE)
        return said, {name: int(good) > 0 and bad == "0" for name, good, bad in counts}

    def report(self, side, names, passed, said, requirements=REQUIREMENTS):
        failed = [name for name in names if not passed.get(name)]
        print("\n%s %s: %d of %d required scenarios passed" % (requirements, side, len(names) - len(failed), len(names)))
        self.assertFalse(failed, said[-20000:])

    def test_server_scenarios(self):
        self.server_scenarios("server.mjs", REQUIREMENTS)

    def test_modern_server_scenarios(self):
        """The gateway as a server of 2026-07-28, in front of one."""
        self.server_scenarios("modern_server.mjs", MODERN)

    def server_scenarios(self, script, requirements):
        server = Process([str(NODE), str(HERE / script)])
        self.addCleanup(server.end)
        url = server.child.stdout.readline().decode().strip()
        gateway = self.gateway(**files(url)).start()
        said, passed = self.suite("server", "--url", "http://%s/servers/suite/mcp" % gateway.address,
                                  "--requirements", requirements)
        self.report("server", required("Server", requirements), passed, said, requirements)

    def test_client_scenarios(self):
        self.client_scenarios(REQUIREMENTS)

    def test_modern_client_scenarios(self):
        """The gateway as a client of 2026-07-28; the client in front of it speaks a legacy version."""
        self.client_scenarios(MODERN)

    def client_scenarios(self, requirements):
        names, passed, all_said = required("Client", requirements), {}, ""
        for name in names:
            command = "%s -B %s sallyport=%s %s" % (sys.executable, HERE / "through.py", PROGRAMS["sallyport"], name)
            said, _ = self.suite("client", "--command", command, "--scenario", name, "--spec-version", requirements,
                                 "--timeout", "110000")
            counts = re.search(r"Passed: (\d+)/(\d+), (\d+) failed", said)
            passed[name] = bool(counts) and int(counts.group(1)) > 0 and counts.group(3) == "0"
            all_said += said
        self.report("client", names, passed, all_said, requirements)


if __name__ == "__main__":
    main()
