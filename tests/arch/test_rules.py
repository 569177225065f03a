"""Every rule finds what it forbids and leaves the rest alone."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import check
import rules
import source


class Rules(unittest.TestCase):
    def faults(self, rule, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return [(path, line) for path, line, _ in rules.ALL[rule](check.Tree(folder))]

    def test_arrows(self):
        wrong = {"schemas/core/a.hpp": '#include "trust/crypto/hash.hpp"\n', "policy/rules/a.cpp": '\n#include "trust/x/y.hpp"\n',
                 "trust/x/a.cpp": '#include "gateway/base/log.hpp"\n', "gateway/net/a.cpp": '#include "gateway/mcp/b.hpp"\n',
                 "gateway/calls/a.cpp": '#include "gateway/storage/b.hpp"\n', "gateway/base/a.cpp": '#include "b.hpp"\n'}
        self.assertEqual(len(self.faults("arrows", wrong)), len(wrong))
        right = {"trust/x/a.cpp": '#include "schemas/core/a.hpp"\n#include "trust/y/b.hpp"\n', "gateway/app/a.cpp":
                 '#include "gateway/cli/b.hpp"\n', "gateway/calls/a.cpp": '#include "gateway/ports/b.hpp"\n#include "policy/x/y.hpp"\n'}
        self.assertEqual(self.faults("arrows", right), [])

    def test_sizes(self):
        self.assertEqual(self.faults("sizes", {"a/b.cpp": "\n" * 601, "a/c.cpp": "\n" * 600}), [("a/b.cpp", 601)])

    def test_heavy_headers(self):
        found = self.faults("heavy_headers", {
            "gateway/calls/a.cpp": "#include <sqlite3.h>\n", "gateway/storage/a.cpp": "#include <sqlite3.h>\n",
            "gateway/storage/b.hpp": "#include <sqlite3.h>\n", "schemas/core/c.hpp": "#include <boost/json.hpp>\n",
            "schemas/core/c.cpp": "#include <boost/json.hpp>\n", "tests/a.cpp": "#include <sqlite3.h>\n"})
        self.assertEqual(found, [("gateway/calls/a.cpp", 1), ("gateway/storage/b.hpp", 1), ("schemas/core/c.hpp", 1)])

    def coroutine(self, body, path="gateway/x/a.cpp"):
        return self.faults("coroutines", {path: "asio::awaitable<void> f(int a) {\n" + body + "\n}\n"})

    def test_coroutines_that_are_wrong(self):
        for body in ("g(co_await a(), co_await b());", "co_await f(Args{1, 2});", "co_await f([x] { return x; });",
                     "co_await f([x = std::move(y)](int) mutable -> int { return x; });", "auto x = Pair{co_await a(), 1};",
                     "if (co_await f({1, 2})) { return; }", "co_await f(std::vector<int>{1}, 2);"):
            self.assertEqual(len(self.coroutine(body)), 1, body)
        self.assertEqual(len(self.coroutine("co_await a();", "policy/x/a.cpp")), 1)

    def test_coroutines_that_are_right(self):
        for body in ("auto x = co_await a();\nco_await b(std::move(x));", "if (co_await a()) { co_await b(); } else { co_await c(); }",
                     "for (x = co_await a(); x; x = co_await a()) { co_await a(); }\nwhile (co_await b()) co_await c();", "co_await f([] { return 1; }, [&] { g(); }, {});",
                     "auto l = [x]() -> asio::awaitable<void> { co_await a(); };\nco_await l();", "co_return co_await a();",
                     "switch (x) { case 1: co_await a(); break; default: co_await b(); }", "A a{1, 2};\nco_await f(a); // co_await {1}",
                     "try { co_await a(); } catch (...) {}\nco_await b();", "spawn([self, x = A{1}]() -> asio::awaitable<void> { co_await a(); });"):
            self.assertEqual(self.coroutine(body), [], body)

    def test_detached(self):
        found = self.faults("detached", {"gateway/x/a.cpp": "co_spawn(x, f(), asio::detached);\n", "gateway/x/b.cpp": "// detached\n"})
        self.assertEqual(found, [("gateway/x/a.cpp", 1)])

    def test_sleeps(self):
        found = self.faults("sleeps", {"tests/a.cpp": "x();\nstd::this_thread::sleep_for(1s);\n", "tests/b.cpp": "usleep(1);\n::sleep(2);\n",
                                       "tests/c.cpp": "co_await sleep_until(x);\nclock.sleep(1);\n"})
        self.assertEqual(found, [("tests/a.cpp", 2), ("tests/b.cpp", 1), ("tests/b.cpp", 2)])

    def test_purity(self):
        found = self.faults("purity", {"trust/a.cpp": "#include <fstream>\nauto n = std::chrono::system_clock::now();\n",
                                       "gateway/base/a.cpp": "#include <fstream>\n", "schemas/a.cpp": '// getenv("x")\n'})
        self.assertEqual(found, [("trust/a.cpp", 1), ("trust/a.cpp", 2)])

    def test_one_definition(self):
        found = self.faults("one_definition", {
            "gateway/a/x.cpp": "namespace s::g {\nclass Pending final : public B {\n};\n}\n", "gateway/b/y.hpp": "namespace s::g {\nstruct Pending {};\n}\n",
            "gateway/c/z.cpp": "namespace s::g {\nnamespace {\nstruct Pending {};\n}\nstruct Pending::Inner {};\nclass Pending;\n}\n",
            "gateway/d/z.cpp": "namespace s::g::d { enum class Pending : int { a }; }\n"})
        self.assertEqual(found, [("gateway/b/y.hpp", 2)])

    def test_machine(self):
        self.assertEqual(len(self.faults("machine", {"a.md": "see /work/" + "main/x\nand registry" + ".npmjs.org\n", "b.md": "/workspace"})), 2)

    def test_formatted(self):
        self.assertEqual(self.faults("formatted", {"a.cpp": "int  x;\n", "b.cpp": "int x;\n"}), [("a.cpp", 1)])

    def test_headers_once(self):
        self.assertEqual(self.faults("headers_once", {"a.hpp": "int x;\n", "b.hpp": "#pragma once\n"}), [("a.hpp", 1)])

    def test_literals_and_comments_are_no_code(self):
        code = source.blank('auto s = R"x(class A {)x"; char c = \'{\'; int n = 1\'000; // class B {\n/* { */ "\\"{"')
        self.assertNotIn("{", code)
        self.assertIn("1'000", code)


if __name__ == "__main__":
    unittest.main()
