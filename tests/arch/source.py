"""Reading C++ without a compiler: text without comments and literals, includes, classes with their namespaces, statements."""
import re

LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|\b(?:u8|u|U|L)?R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z_])\'(?:\\.|[^\'\\\n])+\'',
    re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"][^>"\n]+[>"])', re.M)
CLASS = re.compile(r"\b(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[[^\]]*\]\]\s*)?([A-Za-z_]\w*(?:::\w+)*)"
                   r"(?:\s+final)?\s*(?::(?!:)[^;{}()]*)?$")
NAMESPACE = re.compile(r"\bnamespace(?:\s+([A-Za-z_][\w:]*))?$")
CLOSED = re.compile(r"(?:\)|\belse|\bdo|\btry|\bmutable|\bnoexcept|\bconst|\boverride|\bfinal)\s*$")
CONTROL = re.compile(r"\b(?:if|if constexpr|while|for|switch|catch)\s*$")
LAMBDA = re.compile(r"(\[[^\[\]]*\])\s*(?:\((?:[^()]|\([^()]*\))*\))?\s*(?:mutable|noexcept)?\s*(?:->[\w:<>,&*\s]+)?\s*$")


def blank(text):
    """The same length and lines, with comments and literals as spaces (quotes of literals stay)."""
    def replace(found):
        whole = found.group(0)
        hidden = re.sub(r"[^\n]", " ", whole)
        return hidden if whole.startswith("/") else '"' + hidden[1:-1] + '"'
    return LITERAL.sub(replace, text)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def includes(text):
    """(line, what with its brackets or quotes); `text` as it stands in the file."""
    for found in INCLUDE.finditer(text):
        yield line_of(text, found.start()), found.group(1)


def classes(code):
    """(line, qualified name) of each class defined at namespace scope; those in anonymous namespaces are left out."""
    scopes, start = [], 0  # scopes: namespace names; "" an anonymous namespace; None anything else
    for at, char in enumerate(code):
        if char == ";":
            start = at + 1
        elif char == "{":
            head = re.sub(r"^\s*#.*$", "", code[start:at], flags=re.M).rstrip()
            space, kind = NAMESPACE.search(head), CLASS.search(head)
            if space:
                scopes.append(space.group(1) or "")
            else:
                if kind and "template <>" not in head and not any(scope in (None, "") for scope in scopes):
                    yield line_of(code, at), "::".join(scopes + [kind.group(1)])
                scopes.append(None)
            start = at + 1
        elif char == "}":
            if scopes:
                scopes.pop()
            start = at + 1


def brace_pairs(code):
    """{position of each bracket: position of its partner}."""
    pairs, open_ones = {}, []
    for at, char in enumerate(code):
        if char in "([{":
            open_ones.append(at)
        elif char in ")]}" and open_ones:
            other = open_ones.pop()
            pairs[other], pairs[at] = at, other
    return pairs


def is_block(code, at):
    """Whether the `{` at `at` opens a block (of a function, lambda, statement) and not an initializer."""
    before = code[max(0, at - 400):at].rstrip()
    if not before or before[-1] in ";{}" or CLOSED.search(before):
        return True
    if LAMBDA.search(before):
        return True
    tail = re.split(r"[;{}]", before)[-1]
    return bool(re.search(r"\)\s*(?:mutable|const|noexcept)?\s*(?:->\s*[\w:<>,&*\s]+)?$", tail) and "->" in tail)


def statement(code, pairs, at):
    """(start, end) of the statement around position `at`."""
    start, depth = at, 0
    while start > 0:
        char = code[start - 1]
        if char in ")]" and (start - 1) in pairs:
            if CONTROL.search(code[max(0, pairs[start - 1] - 40):pairs[start - 1]]):
                break
            start = pairs[start - 1]
            continue
        if char == "}" and (start - 1) in pairs:
            opened = pairs[start - 1]
            if is_block(code, opened) and not LAMBDA.search(code[max(0, opened - 400):opened].rstrip()):
                break
            start = opened
            continue
        if char == "(" and CONTROL.search(code[max(0, start - 41):start - 1]):
            end = pairs.get(start - 1, len(code))  # in the head of a statement: one part of it
            after = code.find(";", at, end)
            return max(start, code.rfind(";", start, at) + 1), end if after < 0 else after
        if char in "([":
            depth += 1
        elif char == ";" or (char == "{" and is_block(code, start - 1)):
            break
        start -= 1
    end = at
    while end < len(code):
        char = code[end]
        if char in "([" and end in pairs:
            end = pairs[end] + 1
            continue
        if char == ";":
            break
        if char == "{" and end in pairs:
            if is_block(code, end) and not LAMBDA.search(code[max(0, end - 400):end].rstrip()):
                break
            end = pairs[end] + 1
            continue
        if char in ")]":
            depth -= 1
            if depth < 0:
                break
        elif char == "}" and is_block(code, pairs.get(end, 0)):
            break  # else it ends an initializer that began before `at`
        end += 1
    return start, end


def without_blocks(code, pairs, start, end):
    """Text of a statement without the bodies of its lambdas; their captures; the initializers in it that are not empty."""
    kept, lambdas, braces, at = [], [], [], start
    while at < end:
        if code[at] == "{" and at in pairs:
            found = LAMBDA.search(code[start:at].rstrip())
            if found:
                lambdas.append(found.group(1))
                kept.append("{}")
                at = pairs[at] + 1
                continue
            if not is_block(code, at) and code[at + 1:pairs[at]].strip():
                braces.append(at)
        kept.append(code[at])
        at += 1
    return "".join(kept), lambdas, braces
