#!/usr/bin/env python3
"""The files in README.md are good, and so is each command line it names: readme_test.py PROGRAM README"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

PROGRAM = README = None


class Readme(unittest.TestCase):
    def setUp(self):
        with open(README, encoding="utf-8") as file:
            self.text = file.read()

    def test_its_config_passes_check(self):
        blocks = dict(re.findall(r"```jsonc\n// (sallyport|trust|policy)\.jsonc[^\n]*\n(.*?)```", self.text, re.S))
        self.assertEqual(sorted(blocks), ["policy", "sallyport", "trust"])
        with tempfile.TemporaryDirectory() as folder:
            for name, text in blocks.items():
                path = os.path.join(folder, name + ".jsonc")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, 0o600)
            token = os.path.join(folder, "orders.token")
            with open(token, "w", encoding="utf-8") as file:
                file.write("secret\n")
            os.chmod(token, 0o600)
            done = subprocess.run([PROGRAM, "check", "--offline", "--config", os.path.join(folder, "sallyport.jsonc")],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_its_commands_exist(self):
        lines = re.findall(r"^    (sallyport [a-z][^#\n]*)", self.text, re.M) + re.findall(r"`(sallyport [a-z][^`]*)`", self.text)
        self.assertGreater(len(lines), 8)
        for line in lines:
            words = [word for word in shlex.split(line.replace("…", ""))[1:] if not word.startswith("{")]
            # Options after --help are not looked at, so a verb that does not exist is what this finds.
            verb = [word for word in words[:2] if re.fullmatch(r"[a-z]+", word)]
            groups = {"approvals", "operations", "receipts", "trust", "policy", "token"}
            shown = subprocess.run([PROGRAM, *(verb if verb[0] in groups else verb[:1]), "--help"], capture_output=True, text=True, check=False)
            self.assertEqual(shown.returncode, 0, line + "\n" + shown.stderr)
            for option in (word for word in words if word.startswith("--") and word != "--"):
                self.assertIn(option, shown.stdout + subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=False).stdout, line)


if __name__ == "__main__":
    PROGRAM, README = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
