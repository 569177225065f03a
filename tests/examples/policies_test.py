#!/usr/bin/env python3
"""The ready policies pass check, and their tests touch every rule: policies_test.py PROGRAM FOLDER LISTING_SERVER

Each is copied into a folder of its own, its server is replaced by one that lists the tools of tools.json, and those are accepted as a
user would accept them."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = FOLDER = LISTING = None
os.umask(0o077)


class Policies(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sp-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def copy(self, name):
        for file in ("sallyport.jsonc", "trust.jsonc", "policy.jsonc", "tools.json"):
            shutil.copyfile(FOLDER / name / file, self.folder / file)
            (self.folder / file).chmod(0o600)
        config = json.loads((self.folder / "sallyport.jsonc").read_text())  # these hold no comments
        tools = json.loads((self.folder / "tools.json").read_text())
        self.assertEqual(sorted(tools), sorted(config["mcpServers"]), name)
        for server, listed in tools.items():
            (self.folder / (server + ".json")).write_text(json.dumps({"lists": [listed], "results": {}}))
            config["mcpServers"][server] = {"command": sys.executable, "args": ["-B", str(LISTING), str(self.folder / (server + ".json"))]}
        (self.folder / "sallyport.jsonc").write_text(json.dumps({**config, "state": "state"}))

    def run_program(self, *words):
        return subprocess.run([PROGRAM, *words, "--config", self.folder / "sallyport.jsonc"], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120, check=False)

    def says_yes(self, *words):
        done = self.run_program(*words)
        self.assertEqual(done.returncode, 0, "%s\n%s%s" % (" ".join(words), done.stdout, done.stderr))
        return done.stdout

    def try_policy(self, name):
        self.copy(name)
        self.says_yes("trust", "accept", "--yes")
        self.says_yes("check", "--offline")
        text = self.says_yes("policy", "test", "--coverage")
        self.assertIn(" 0 failed, 0 skipped", text)


def named(name):
    return lambda self: self.try_policy(name)


if __name__ == "__main__":
    PROGRAM, FOLDER, LISTING = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))
    found = sorted(path.parent.name for path in FOLDER.glob("*/policy.jsonc"))
    for one in found:
        setattr(Policies, "test_" + one, named(one))
    assert len(found) >= 6, found
    unittest.main()
