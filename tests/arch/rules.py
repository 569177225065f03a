"""The rules. Each is a function over a Tree and yields (file, line, message)."""
import re
import subprocess

import source

MAX_LINES = 600
# Of gateway/: what each layer may include beside itself. The middle row are siblings: none includes another.
MIDDLE = ("catalogue", "calls", "relay", "servers", "clients", "storage", "config", "control", "cli")
BELOW = ("ports", "mcp", "net", "base")
# Heavy headers, the folders that may include them, and why.
HOMES = (
    (r"<boost/beast", ("gateway/net/", "cmake/"), "Beast's instantiations are most of the build time"),
    (r"<sqlite3\.h>", ("gateway/storage/",), "the Store interface keeps free of SQLite"),
    (r"<spdlog/", ("gateway/base/",), "log through gateway/base/log.hpp"),
    (r"<valijson/", ("schemas/files/",), "it costs seconds a file"),
    (r"<CLI/", ("gateway/cli/",), "it costs seconds a file"),
    (r"<pcre2\.h>", ("schemas/validate/",), "patterns have one engine and one place for its limits"),
    (r"<prometheus/", ("gateway/base/",), "count through gateway/base/metrics.hpp"),
    (r"<openssl/", ("trust/crypto/", "gateway/net/", "schemas/core/"), "keys and hashes go through trust/crypto"),
)
# In headers, where every includer pays for them.
HEADER_ONLY = (
    (r"<boost/json\.hpp>", "use <boost/json/fwd.hpp>"),
    (r"<boost/asio\.hpp>|<boost/beast\.hpp>|<boost/asio/ssl\.hpp>", "umbrella headers stay in .cpp files"),
    (r"<(?:boost/beast|sqlite3|spdlog|valijson|CLI|pcre2|prometheus)", "stays in .cpp files"),
)
HEADER_EXCEPTIONS = {"schemas/files/document_adapter.hpp"}  # valijson's adapters are templates; only judge.cpp includes it
PURE = ("schemas/", "policy/", "trust/")
IMPURE_HEADERS = re.compile(
    r"<(thread|mutex|shared_mutex|condition_variable|future|fstream|iostream|filesystem|random|ctime|unistd\.h|fcntl\.h|"
    r"sys/.*|netinet/.*|arpa/.*|boost/asio.*|boost/beast.*|sqlite3\.h|spdlog/.*|openssl/rand\.h)>")
IMPURE_CALLS = re.compile(r"\b(system_clock::now|steady_clock::now|high_resolution_clock|random_device|std::rand|getenv|"
                          r"RAND_bytes|RAND_priv_bytes|fopen|std::time|gettimeofday|clock_gettime)\b")
SLEEPS = re.compile(r"\b(?:std::)?this_thread::sleep_(?:for|until)\b|(?<![\w.>])(?:::)?(?:u?sleep|nanosleep)\s*\(")
# Tests make permitted calls by defining the one class that may.
TEST_DOUBLES = {"sallyport::gateway::Permit"}
MACHINE = re.compile("|".join((
    r"/work/(?:main|shared)\b", r"/root/(?!\.\.)\w", r"/tmp/bash_" + "jobs", "registry" + r"\.npmjs", r"\bpypi" + r"\.org\b",
    "python" + "hosted", r"\bcrates" + r"\.io\b", r"deb\." + r"debian\.org", r"proxy\." + r"golang\.org",
    "repo" + r"\.maven", "repo1" + r"\.maven")))


def top(path):
    return path.split("/", 1)[0]


def arrows(tree):
    """schemas < policy | trust < gateway; inside gateway the layers of the design."""
    allowed = {"schemas": {"schemas"}, "policy": {"schemas", "policy"}, "trust": {"schemas", "trust"},
               "gateway": {"schemas", "policy", "trust", "gateway"}}
    for path, text in tree.cpp():
        if top(path) not in allowed:
            continue
        for line, what in source.includes(text):
            if what[0] != '"':
                continue
            target = what[1:-1]
            if "/" not in target or target.startswith("."):
                yield path, line, f"include {target} by its path from the root"
            elif top(target) not in allowed[top(path)]:
                yield path, line, f"{top(path)} must not include {target}"
            elif top(path) == top(target) == "gateway" and not gateway_arrow(path.split("/")[1], target.split("/")[1]):
                yield path, line, f"gateway/{path.split('/')[1]} must not include {target}"


def gateway_arrow(source_part, target_part):
    if source_part == target_part or source_part == "app":
        return True
    if source_part in MIDDLE:
        return target_part in BELOW
    if source_part in BELOW and target_part in BELOW:
        return BELOW.index(source_part) < BELOW.index(target_part)
    return False


def sizes(tree):
    for path, text in tree.texts():
        if path.endswith((".cpp", ".hpp", ".py", ".sh", ".cmake", ".js", ".css", ".ts")) or path.endswith("CMakeLists.txt"):
            lines = text.count("\n")
            if lines > MAX_LINES:
                yield path, lines, f"{lines} lines; at most {MAX_LINES}"


def heavy_headers(tree):
    for path, text in tree.cpp():
        product = top(path) in ("schemas", "policy", "trust", "gateway")
        for line, what in source.includes(text):
            for pattern, homes, why in HOMES if product else ():
                if re.match(pattern, what) and not path.startswith(homes):
                    yield path, line, f"{what} belongs to {' and '.join(homes)}: {why}"
            for pattern, why in HEADER_ONLY if product and path.endswith(".hpp") else ():
                if re.match(pattern, what) and path not in HEADER_EXCEPTIONS:
                    yield path, line, f"{what} in a header: {why}"


def coroutines(tree):
    """One co_await a statement; in the product no aggregate and no copied capture is made in it (older compilers free them
    twice, and readers lose the order too)."""
    for path, text in tree.cpp():
        code = source.blank(text)
        if "co_await" not in code:
            continue
        if path.startswith(PURE):
            yield path, source.line_of(code, code.index("co_await")), "coroutines live in gateway only"
            continue
        pairs, seen = source.brace_pairs(code), set()
        for found in re.finditer(r"\bco_await\b", code):
            start, end = source.statement(code, pairs, found.start())
            if start in seen:
                continue
            seen.add(start)
            line = source.line_of(code, found.start())
            kept, lambdas, braces = source.without_blocks(code, pairs, start, end)
            if len(re.findall(r"\bco_await\b", kept)) > 1:
                yield path, line, "more than one co_await in a statement"
            if not path.startswith("gateway/"):
                continue
            if any(re.search(r"[\w=]", re.sub(r"&\s*\w*|\bthis\b", "", one)) for one in lambdas):
                yield path, line, "a lambda that captures by value inside a statement with co_await: name it first"
            if braces:
                yield path, line, "a braced temporary inside a statement with co_await: name it first"


def detached(tree):
    """A task belongs to a group: what is detached is nobody's to cancel or to wait for."""
    for path, text in tree.cpp():
        if path.startswith(PURE + ("gateway/",)):
            code = source.blank(text)
            for found in re.finditer(r"\bdetached\b(?!\.hpp)", code):
                yield path, source.line_of(code, found.start()), "asio::detached: spawn it in a TaskGroup"


def sleeps(tree):
    for path, text in tree.cpp():
        code = source.blank(text)
        for found in SLEEPS.finditer(code):
            yield path, source.line_of(code, found.start()), f"{found.group(0).strip()}: wait for the thing itself, with a deadline"


def purity(tree):
    for path, text in tree.cpp():
        if not path.startswith(PURE):
            continue
        for line, what in source.includes(text):
            if IMPURE_HEADERS.match(what):
                yield path, line, f"{what}: {top(path)} has no I/O, clock, thread or randomness; pass it in"
        code = source.blank(text)
        for found in IMPURE_CALLS.finditer(code):
            yield path, source.line_of(code, found.start()), f"{found.group(0)}: {top(path)} has no I/O, clock or randomness; pass it in"


def one_definition(tree):
    """A class name means one class in a program; the linker would silently take either."""
    homes = {}
    for path, text in tree.cpp():
        if top(path) in ("schemas", "policy", "trust", "gateway"):
            group = "product"
        elif path.startswith("tests/"):
            group = "/".join(path.split("/")[:3])
        else:
            group = "/".join(path.split("/")[:2])
        for line, name in source.classes(source.blank(text)):
            for other_group, other in homes.get(name, ()):
                double = name in TEST_DOUBLES and group != other_group
                if other != path and not double and (group == other_group or "product" in (group, other_group)):
                    yield path, line, f"{name} is defined in {other} too"
            homes.setdefault(name, []).append((group, path))


def machine(tree):
    """Nothing of one machine or of one package mirror stands in the tree."""
    for path, text in tree.texts():
        for found in MACHINE.finditer(text):
            yield path, source.line_of(text, found.start()), f"{found.group(0)}: a path or host of one machine"


def headers_once(tree):
    for path, text in tree.cpp():
        if path.endswith(".hpp") and "#pragma once" not in text:
            yield path, 1, "#pragma once is missing"


def formatted(tree):
    """clang-format has nothing to change."""
    files = [path for path, _ in tree.cpp()]
    if not files:
        return
    done = subprocess.run(["clang-format-19", "--dry-run", "--ferror-limit=1", "-Werror", *files], cwd=tree.root,
                          capture_output=True, text=True, check=False)
    seen = set()
    for found in re.finditer(r"^(?:\./)?([^:\n]+):(\d+):\d+: error: ", done.stderr, re.M):
        if found.group(1) not in seen:
            seen.add(found.group(1))
            yield found.group(1), int(found.group(2)), "clang-format-19 -i would change it"
    if done.returncode != 0 and not seen:
        yield ".", 0, done.stderr.strip() or "clang-format-19 failed"


ALL = {rule.__name__: rule for rule in (arrows, sizes, heavy_headers, coroutines, detached, sleeps, purity, one_definition,
                                        machine, headers_once, formatted)}
