#!/usr/bin/env python3
"""Tampers with copies of a log in every way that `sallyport receipts verify` has a name for, and shows that it says so.

    examples/quickstart/tamper.py SALLYPORT STATE      after run.sh: … build/release/sallyport examples/quickstart/.work/state

Reads the state folder and changes nothing in it; the copies lie in a temporary folder. Exit 1 if one went unnoticed.
"""
import base64
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def payload_of(line):
    return base64.b64decode(json.loads(line)["payload"])


def with_payload(line, payload):
    return json.dumps({**json.loads(line), "payload": base64.b64encode(payload).decode()}, separators=(",", ":"))


def with_signature(line, **members):
    envelope = json.loads(line)
    envelope["signatures"][0].update(members)
    return json.dumps(envelope, separators=(",", ":"))


def put(lines, number, *instead):
    return lines[:number] + list(instead) + lines[number + 1:]


def tampered(lines):
    """(what was done, the finding that it must have, the lines) for each way."""
    log = json.loads(payload_of(lines[0]))["predicate"]["log"].encode()
    kinds = [json.loads(payload_of(line))["predicate"]["kind"] for line in lines]
    outcome = kinds.index("outcome")
    intent = json.loads(payload_of(lines[kinds.index("intent")]))["predicate"]["operation"]
    signature = json.loads(lines[3])["signatures"][0]["sig"]
    yield "a line is no JSON any more", "bad-form", put(lines, 3, "x" + lines[3][1:])
    yield "spaces are added to a payload", "bad-form", put(lines, 3, with_payload(lines[3], payload_of(lines[3]) + b" "))
    changed = re.sub(rb'"value":"(applied|none|unknown)"', b'"value":"none"', payload_of(lines[outcome]))
    changed = changed if changed != payload_of(lines[outcome]) else changed.replace(b'"value":"none"', b'"value":"applied"')
    yield "an outcome is rewritten", "bad-signature", put(lines, outcome, with_payload(lines[outcome], changed))
    yield "a signature is taken from another line", "bad-signature", put(lines, 4, with_signature(lines[4], sig=signature))
    yield "another key is named", "unknown-key", put(lines, 4, with_signature(lines[4], keyid="0" * 64))
    yield "an entry is of another log", "wrong-log", put(lines, 4, with_payload(lines[4], payload_of(lines[4]).replace(log, b"0123456789abcdef")))
    yield "a line is left out", "gap", put(lines, 4)
    yield "the beginning is left out", "gap", lines[2:]
    yield "two lines change places", "gap", lines[:4] + [lines[5], lines[4]] + lines[6:]
    yield "the last line is moved to the front", "wrong-prev", lines[:1] + lines[-1:] + lines[1:-1]
    yield "a line stands twice", "duplicate", put(lines, 4, lines[4], lines[4])
    other = with_payload(lines[4], payload_of(lines[4]).replace(b'"seq":4,', b'"seq":3,'))
    yield "another entry has the same number", "fork", put(lines, 3, lines[3], other)
    bent = re.sub(rb'"prev":"sha256:.{8}', b'"prev":"sha256:00000000', payload_of(lines[4]))
    yield "a link is bent", "wrong-prev", put(lines, 4, with_payload(lines[4], bent))
    yield "the end is cut off", "shorter-than-checkpoint", lines[:-1]
    without = [line for line, kind in zip(lines, kinds)
               if kind == "intent" or json.loads(payload_of(line))["predicate"].get("operation") != intent]
    yield "all but the intent of an operation is left out", "intent-without-outcome", without
    spent = [line for line, kind in zip(lines, kinds) if kind == "intent" and b'"approval":{' in payload_of(line)]
    if spent:  # only where a person was asked
        name = json.loads(payload_of(spent[0]))["predicate"]["operation"].encode()
        again = payload_of(spent[0]).replace(name, name[:-1] + (b"0" if name[-1:] != b"0" else b"1"))
        again = re.sub(rb'"seq":\d+', b'"seq":%d' % len(lines), again)
        last = hashlib.sha256(payload_of(lines[-1])).hexdigest().encode()
        again = re.sub(rb'"prev":"[^"]*"', b'"prev":"sha256:%s"' % last, again)
        yield "an approval is spent by another operation", "approval-spent-twice", lines + [with_payload(spent[0], again)]


def main():
    sallyport, state = sys.argv[1], pathlib.Path(sys.argv[2])
    run = lambda *words: subprocess.run([sallyport, "receipts", *map(str, words)], capture_output=True, text=True, check=False)
    lines = run("export", "--state", state).stdout.splitlines()
    keys = ("--key", state / "receipts.pub", "--checkpoint", state / "checkpoint", "--checkpoint-key", state / "checkpoint.pub")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log.jsonl")

        def verify(text, words=keys):
            log.write_text("\n".join(text) + "\n")
            return json.loads(run("verify", log, *words, "--json").stdout)

        def show(what, kind, report):
            found = [one for one in report["findings"] if one["kind"] == kind]
            print("%-50s %s" % (what, "%s: %s" % (kind, found[0]["message"]) if found else "NOT NOTICED"))
            return not found

        honest = verify(lines)
        faults = [one["kind"] for one in honest["findings"] if one["fault"]]
        print("%-50s %d entries, %s" % ("the honest log", honest["entries"], ", ".join(faults) or "no fault"))
        missed += bool(faults)
        for what, kind, text in tampered(lines):
            missed += show(what, kind, verify(text))
        # A history that was written anew with the key at hand is only noticed by a checkpoint that was kept elsewhere.
        note = (state / "checkpoint").read_text().splitlines()
        note[2] = base64.b64encode(hashlib.sha256(b"another history").digest()).decode()
        other = pathlib.Path(folder, "checkpoint")
        other.write_text("\n".join(note) + "\n")
        missed += show("a checkpoint saw another history", "checkpoint-mismatch", verify(lines, keys[:2] + ("--checkpoint", other)))
        missed += show("nothing was kept elsewhere", "tail-not-anchored", verify(lines, keys[:2]))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
