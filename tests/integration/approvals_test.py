#!/usr/bin/env python3
"""Answering in a terminal, clients that give up and come back, grants from the command line: approvals_test.py sallyport=PATH"""
import json
import os
import pty
import re
import subprocess
import sys
import threading

from gateway import FIXTURE, LIMIT, PROGRAMS, Case, Http, code_of, environment, main, wait_until, words_of

ODD = {"command": sys.executable, "args": ["-B", FIXTURE]}
TRUST = {"servers": {"odd": {"tools": {"raw": {"effect": "record", "destructive": False, "says": "Raw {/n}"}}}}}
POLICY = {"default": "ask", "rules": [{"id": "raws", "ask": {"server": "odd", "tool": "raw"}, "approval": {"grants": True}}]}


class Terminal:
    """A command in a terminal of its own; what it prints is read as it comes."""

    def __init__(self, case, words):
        self.master, slave = pty.openpty()
        self.child = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=environment(), start_new_session=True)
        os.close(slave)
        self.text, self.changed = "", threading.Condition()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        case.addCleanup(self.end)

    def _read(self):
        while True:
            try:
                got = os.read(self.master, 65536)
            except OSError:
                got = b""
            with self.changed:
                self.text += got.decode(errors="replace")
                self.changed.notify_all()
            if not got:
                return

    def wait_for(self, pattern):
        """The match, and everything up to it is taken."""
        with self.changed:
            found = self.changed.wait_for(lambda: re.search(pattern, self.text), LIMIT)
            if not found:
                raise AssertionError("%r is not in:\n%s" % (pattern, self.text))
            self.text = self.text[found.end():]
            return found

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait(LIMIT)
        self.reader.join(LIMIT)
        os.close(self.master)


class Approvals(Case):
    def start(self, **config):
        return self.gateway(servers={"odd": ODD}, trust=TRUST, policy=POLICY, **config).start()

    def calling(self, client, arguments):
        """A call under way: the thread, and the list that its result will be in."""
        answers = []
        thread = threading.Thread(target=lambda: answers.append(client.call("odd__raw", arguments)))
        thread.start()
        self.addCleanup(thread.join, LIMIT)
        return thread, answers

    def waiting(self, g, many=1):
        def look():
            status, text = g.ask_control("GET", "/api/v1/approvals?state=pending", g.token("owner"))
            found = json.loads(text)["approvals"] if status == 200 else []
            return found if len(found) == many else None
        return wait_until(look, "%d asks" % many)

    def as_owner(self, g, *words):
        return g.run(*words, "--token-file", g.state / "owner.token")

    def executed(self, g):
        return [one["predicate"] for one in g.receipts() if one["predicate"]["kind"] == "intent"]

    def test_watch_answers_by_keys_and_comes_back_after_a_restart(self):
        g = self.start()
        watch = Terminal(self, [PROGRAMS["sallyport"], "approvals", "watch", "--config", str(g.config), "--token-file", str(g.state / "owner.token")])
        watch.wait_for("0 waiting")
        client = g.client().connect()
        thread, answers = self.calling(client, {"n": 1})
        watch.wait_for(r"asks for +Raw 1")
        watch.wait_for(r"\[a\]pprove")
        watch.type("a")
        watch.wait_for("exactly this")
        watch.type("y")
        watch.wait_for("is approved")
        thread.join(LIMIT)
        self.assertIsNone(code_of(answers[0]))
        thread, answers = self.calling(client, {"n": 2})
        watch.wait_for(r"asks for +Raw 2")
        watch.wait_for(r"\[d\]eny")
        watch.type("d")
        watch.wait_for("why")
        watch.type("wrong number\n")
        watch.wait_for("is denied")
        thread.join(LIMIT)
        self.assertEqual(code_of(answers[0]), "APPROVAL_DENIED")
        self.assertIn("wrong number", words_of(answers[0]))
        g.stop()
        watch.wait_for("trying again")
        g.start()
        watch.wait_for("0 waiting")
        thread, answers = self.calling(g.client().connect(), {"n": 3})
        watch.wait_for(r"asks for +Raw 3")
        watch.wait_for(r"\[q\]uit")
        watch.type("q")
        self.assertEqual(watch.child.wait(LIMIT), 0)
        ask, = self.waiting(g)
        self.assertEqual(self.as_owner(g, "approvals", "deny", ask["id"]).returncode, 0)

    def test_what_is_typed_before_an_ask_is_there_answers_nothing(self):
        g = self.start()
        watch = Terminal(self, [PROGRAMS["sallyport"], "approvals", "watch", "--config", str(g.config), "--token-file", str(g.state / "owner.token")])
        watch.wait_for("0 waiting")
        watch.type("ayayay")
        watch.wait_for("ayayay")  # the terminal has it
        thread, answers = self.calling(g.client().connect(), {"n": 1})
        watch.wait_for(r"\[d\]eny")
        watch.type("d")
        watch.wait_for("why")
        watch.type("I had not seen it\n")
        watch.wait_for("is denied")
        thread.join(LIMIT)
        self.assertEqual(code_of(answers[0]), "APPROVAL_DENIED")
        watch.type("q")

    def test_clients_that_time_out_and_retry_end_in_one_execution(self):
        g = self.start()
        arguments = {"n": 1, "text": "x"}
        asked = None
        for _ in range(3):  # each gives up on its connection, as a client with a time-out does, and calls again
            impatient = Http(g, limit=1)
            impatient.connect()
            with self.assertRaises(OSError):
                impatient.call("odd__raw", arguments)
            ask, = self.waiting(g)
            asked = asked or ask["id"]
            self.assertEqual(ask["id"], asked, "each joined the first")
        thread, answers = self.calling(g.client().connect(), arguments)
        approved = self.as_owner(g, "approvals", "approve", asked, "--yes")
        self.assertEqual(approved.returncode, 0, approved.stderr)
        thread.join(LIMIT)
        self.assertIsNone(code_of(answers[0]))
        g.stop()
        self.assertEqual(len(self.executed(g)), 1)
        self.assertEqual(g.verify().returncode, 0)

    def test_a_grant_from_the_command_line_is_listed_used_and_revoked(self):
        g = self.start()
        client = g.client().connect()
        thread, answers = self.calling(client, {"n": 1})
        ask, = self.waiting(g)
        given = self.as_owner(g, "approvals", "approve", ask["id"], "--yes", "--this-run", "--uses", "5", "--where", '{"n": {"maximum": 10}}')
        self.assertEqual(given.returncode, 0, given.stderr)
        thread.join(LIMIT)
        self.assertIsNone(code_of(client.call("odd__raw", {"n": 9})))
        listed = self.as_owner(g, "grants", "list")
        self.assertIn("`n` is at most 10", listed.stdout)
        self.assertIn("1 of 5", listed.stdout)
        ident = re.search(r"gr_\w+", listed.stdout).group()
        self.assertEqual(self.as_owner(g, "grants", "revoke", ident, "--reason", "over").returncode, 0)
        self.assertNotEqual(self.as_owner(g, "grants", "revoke", ident).returncode, 0)
        thread, answers = self.calling(client, {"n": 8})
        ask, = self.waiting(g)
        self.assertEqual(self.as_owner(g, "approvals", "deny", ask["id"], "--reason", "no more").returncode, 0)
        thread.join(LIMIT)
        self.assertEqual(code_of(answers[0]), "APPROVAL_DENIED")
        g.stop()
        forms = [one["approval"].get("form") for one in self.executed(g)]
        self.assertEqual(forms, [None, "grant"])
        self.assertEqual(g.verify().returncode, 0)

    def test_login_keeps_the_token_and_makes_a_code(self):
        g = self.start()
        home = {"HOME": str(self.folder), "PATH": os.environ["PATH"]}
        done = self.run_program("login", "--config", g.config, env=home, stdin=g.token("owner") + "\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        code = re.search(r"console code: (\S+)", done.stdout).group(1)
        self.assertIn("http://%s/#code=%s" % (g.control, code), done.stdout)
        status, text = g.ask_control("POST", "/api/v1/login", body={"code": code})
        self.assertEqual(status, 200, text)
        session = json.loads(text)["token"]
        self.assertEqual(g.ask_control("GET", "/api/v1/me", session)[0], 200)
        self.assertEqual(g.ask_control("GET", "/api/v1/me", g.token("client"))[0], 401)
        g.stop()
        g.start()
        self.assertEqual(g.ask_control("GET", "/api/v1/me", session)[0], 401, "sessions end with the process")


if __name__ == "__main__":
    main()
