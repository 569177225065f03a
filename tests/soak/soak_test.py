"""Mixed clients for ten minutes (SOAK_SECONDS): sessions that end and sessions that are dropped, calls, reads, cancels,
streams, questions, bridges. The live heap after ten times the calls is that after once, and so are the descriptors; no
child is left.
"""
import os
import pathlib
import random
import re
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from gateway import PROGRAMS, Case, Http, Lines, descendants, environment, main, wait_until  # noqa: E402
from events import Events, hash_of, setup  # noqa: E402

SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
MARGIN = 1 << 20


class Soak(Case):
    def test_mixed_clients_leave_nothing_behind(self):
        options = setup("a", "b")
        watcher = {"id": "user:w", "tokenSha256": hash_of("watch"), "roles": ["watcher", "operator"]}
        self.run_gateway = self.gateway(**options, people=[watcher]).start()
        self.calls, self.lock, self.faults = 0, threading.Lock(), []
        self.warm_up()
        warm = self.calls
        self.round(until=time.monotonic() + SECONDS / 12)
        once, before = self.calls - warm, self.measure()
        self.round(until=time.monotonic() + SECONDS * 2, most=warm + 10 * once)
        after = self.measure(at_most=before[1])
        print("\ncalls %d to warm up, %d, then %d; heap %d, then %d bytes; descriptors %d, then %d" %
              (warm, once, self.calls - warm, before[0], after[0], before[1], after[1]))
        self.assertEqual(self.faults, [])
        self.assertGreaterEqual(self.calls - warm, 10 * once)
        self.assertLess(after[0] - before[0], MARGIN)
        self.assertLessEqual(after[1], before[1])
        self.run_gateway.stop()
        self.assertEqual(descendants(), [])
        self.assertEqual(self.run_gateway.verify().returncode, 0)

    def warm_up(self):
        """Until the caches of the store are full: they are bounded (16 MiB of pages), and no leak."""
        end, heap = time.monotonic() + SECONDS / 3, 0
        while time.monotonic() < end:
            self.round(until=end, most=self.calls + 2000)
            before, (heap, _) = heap, self.measure()
            if before and heap - before < 1 << 16:
                break

    def round(self, until, most=None):
        def work(kind, seed):
            dice = random.Random(seed)
            try:
                while time.monotonic() < until and (most is None or self.calls < most) and not self.faults:
                    kind(dice)
            except Exception as error:  # told at the end
                self.faults.append("%s: %r" % (kind.__name__, error))

        kinds = [self.plain, self.dropped, self.streams, self.bridge]
        threads = [threading.Thread(target=work, args=(kind, i)) for i, kind in enumerate(kinds)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def count(self, calls):
        with self.lock:
            self.calls += calls

    def some_calls(self, client, dice):
        for _ in range(dice.randint(1, 20)):
            which = dice.choice("ab")
            client.call("%s__echo" % which, {"text": "x" * dice.randint(1, 5000)})
            client.ask("resources/read", {"uri": "%s://one" % which})
            client.ask("prompts/get", {"name": "%s__greet" % which})
            client.ask("tools/list")
            self.count(4)

    def plain(self, dice):
        client = Http(self.run_gateway).connect()
        self.some_calls(client, dice)
        client.connection.request("DELETE", client.mount, headers=client.headers())
        client.connection.getresponse().read()
        client.connection.close()

    def dropped(self, dice):
        client = Events(self.run_gateway)
        client.start(1, "tools/call", {"name": "a__wait", "arguments": {}, "_meta": {"progressToken": 1}})
        client.told("notifications/progress")
        if dice.random() < 0.5:
            client.http.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        client.http.connection.request("DELETE", "/mcp", headers=client.http.headers())
        client.http.connection.getresponse().read()
        client.http.connection.close()
        self.count(1)

    def streams(self, dice):
        client = Events(self.run_gateway, "/servers/b/mcp")
        stream = client.listen()
        client.respond = lambda message: {"result": {"roots": []}}
        client.ask(1, "resources/subscribe", {"uri": "b://one"})
        client.text(2, "touch", {"uri": "b://one"})
        client.told("notifications/resources/updated")
        client.text(3, "log", {"levels": ["info", "error"]})
        client.text(4, "progress", {"values": [1, 2, 3]})
        self.count(4)
        client.http.connection.request("DELETE", client.mount, headers=client.http.headers())
        client.http.connection.getresponse().read()
        client.http.connection.close()
        stream.connection.close()

    def bridge(self, dice):
        lines = Lines(self, [PROGRAMS["sallyport"], "stdio", "--config", self.run_gateway.config],
                      env=environment(SALLYPORT_TOKEN=self.run_gateway.token()))
        lines.connect()
        self.some_calls(lines, dice)
        lines.close()

    def measure(self, at_most=None):
        """(heap bytes, open descriptors) once nothing is under way; waits until there are no more than so many."""
        def quiet():
            text = self.metrics()
            return re.search(r"^sallyport_sessions 0$", text, re.MULTILINE) and text
        wait_until(quiet, "the end of all sessions", 90)
        heap = min(int(float(re.search(r"^sallyport_heap_bytes (\S+)", self.metrics(), re.MULTILINE).group(1))) for _ in range(5))
        if at_most is not None:
            wait_until(lambda: self.descriptors() <= at_most, "%d descriptors or less" % at_most, 90)
        return heap, self.descriptors()

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.run_gateway.pid))

    def metrics(self):
        status, text = self.run_gateway.ask_control("GET", "/metrics", "watch")
        self.assertEqual(status, 200, text)
        return text.decode()


if __name__ == "__main__":
    main()
