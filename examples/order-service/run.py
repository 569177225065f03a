"""Writes with and without an idempotency key, reads that are retried, a server that lies about itself, a path that leaves the
project, and the trace of one order."""
import pathlib
import sys

from rehearsal import Gateway, Table, main

SERVICE = str(pathlib.Path(__file__).parent / "order_service.py")
KEYED = {"effect": "record", "destructive": False, "labels": ["test"], "scope": "orders/{/customer}", "repeat": "keyed",
         "idempotencyKey": {"argument": "/request_id"}, "retention": "24h", "attempts": 1,
         "says": "A test order of {/amount} for {/customer}", "record": {"arguments": ["/customer"], "result": ["/order_id"]}}
PLAIN = {"effect": "record", "destructive": False}
LOOKUP = {"tool": "get_order_status", "arguments": {"request_id": {"from": "key"}}, "applied": {"found": True}, "notFound": "unknown"}
EDIT = {"effect": "file", "destructive": False, "paths": ["/path"], "scope": "{/path}"}
RULES = [
    {"id": "reads", "allow": {"effect": "read"}},
    {"id": "orders", "allow": {"server": "orders", "tool": "create_test_order"}},
    {"id": "project", "allow": {"server": "orders", "effect": "file", "paths": {"pathWithin": "${project}"}}},
]
ORDER = {"customer": "7", "amount": 5}


def gateway(*flags, order=None, rules=RULES, default="deny"):
    servers = {"orders": {"command": sys.executable, "args": ["-B", SERVICE, "--state", "$STATE", *flags]}}
    tools = {"get_order_status": "read", "edit_file": EDIT, **({"create_test_order": order} if order else {})}
    return Gateway(servers, {"servers": {"orders": {"tools": tools}}}, {"default": default, "rules": rules})


def orders(g):
    return len(g.server_state().get("orders", []))


def with_a_key():
    with gateway("--crash", "create_test_order:1", order=KEYED) as g:
        client = g.client()
        lost = client.call("orders__create_test_order", ORDER | {"request_id": "r-1"})
        yield "the answer is lost: %s" % lost.code, lost.outcome == "unknown"
        again = client.call("orders__create_test_order", ORDER | {"request_id": "r-1"})
        yield "repeated with its key, it is the same operation", again.operation == lost.operation and again.outcome == "applied"
        yield "and the answer is the server's", again.value.get("order_id") == "order-1"
        yield "one order", orders(g) == 1
        other = client.call("orders__create_test_order", ORDER | {"request_id": "r-1", "amount": 6})
        yield "its key with other arguments: %s" % other.code, other.code == "IDEMPOTENCY_CONFLICT" and orders(g) == 1


def retried_with_a_key():
    with gateway("--crash", "create_test_order:1", order=KEYED | {"attempts": 2}) as g:
        made = g.client().call("orders__create_test_order", ORDER | {"request_id": "r-1"})
        story = g.person("operations", "show", made.operation)
        yield "the gateway repeats it by itself, by the key", not made.failed and story["attempts"] == 2 and orders(g) == 1


def without_a_key():
    with gateway("--crash", "create_test_order:1", order=PLAIN) as g:
        client = g.client()
        lost = client.call("orders__create_test_order", ORDER)
        yield "the answer is lost: %s" % lost.code, lost.outcome == "unknown"
        held = client.begin("orders__create_test_order", ORDER)
        ask = g.waiting()
        view = g.person("approvals", "show", ask)
        shown = [one["operation"] for one in view["approval"].get("unknowns", [])] if "approval" in view else []
        yield "once more asks a person, who is shown the first", lost.operation in str(view) or lost.operation in shown
        g.deny(ask, "it is there already")
        yield "denied, there is one order", held.end().code == "APPROVAL_DENIED" and orders(g) == 1


def reads_are_retried():
    with gateway("--crash", "get_order_status:2", order=KEYED) as g:
        client = g.client()
        client.call("orders__create_test_order", ORDER | {"request_id": "r-1"})
        read = client.call("orders__get_order_status", {"request_id": "r-1"})
        story = g.person("operations", "show", read.operation)
        yield "answered at the third attempt, without the client", read.value.get("found") is True and story["attempts"] == 3


def a_lie_gains_nothing():
    with gateway("--lie", rules=RULES[:1]) as g:
        client = g.client()
        listed = client.tools()["orders__create_test_order"]
        yield "its claim to only read is not passed on", not listed.get("annotations", {}).get("readOnlyHint")
        refused = client.call("orders__create_test_order", ORDER)
        yield "and opens nothing: %s" % refused.code, refused.code == "POLICY_DENIED" and orders(g) == 0


def paths_stay_within():
    with gateway(order=KEYED) as g:
        client = g.client()
        project = str(g.folder / "project")
        good = client.call("orders__edit_file", {"path": project + "/src/a.txt", "content": "x"})
        yield "a file of the project is written", not good.failed
        for path in ("../../secrets.env", project + "/../../secrets.env", project + "-old/a.txt", "/etc/passwd"):
            refused = client.call("orders__edit_file", {"path": path, "content": "x"})
            yield "%s is refused" % path.replace(project, "PROJECT"), refused.code == "POLICY_DENIED"
        yield "nothing else was written", list(g.server_state()["files"]) == [project + "/src/a.txt"]


def the_trace_of_one_order():
    asks = [RULES[0], {"id": "orders", "ask": {"server": "orders", "tool": "create_test_order"}}]
    with gateway("--crash", "create_test_order:1", order=KEYED | {"lookup": LOOKUP}, rules=asks) as g:
        held = g.client().begin("orders__create_test_order", ORDER | {"request_id": "r-1"})
        ask = g.waiting()
        g.approve(ask)
        made = held.end()
        yield "approved, sent, its answer lost, found by the lookup", made.outcome == "applied" and orders(g) == 1
        story = g.person("show", made.operation)
        kinds = [one["kind"] for one in story["operation"]["receipts"]]
        yield "one command shows it all: %s" % ", ".join(kinds), {"approval", "intent", "outcome", "call", "reconciliation"} <= set(kinds)
        by_kind = {one["kind"]: one for one in g.receipts()
                   if made.operation in (one.get("operation"), one.get("cause"))}
        intent, found = by_kind["intent"], by_kind["reconciliation"]
        yield "the call and the decision", intent["tool"] == "create_test_order" and intent["decision"]["verdict"] == "ask"
        yield "the approval", intent["approval"]["id"] == ask
        yield "the key", intent["idempotencyKey"] == "r-1"
        yield "what the server did", by_kind["outcome"]["outcome"] == {"value": "unknown", "basis": "lost"}
        yield "the lookup that settled it", found["evidence"] == [by_kind["call"]["id"]] and found["outcome"]["value"] == "applied"


SCENARIOS = {"with a key": with_a_key, "retried with a key": retried_with_a_key, "without a key": without_a_key,
             "reads are retried": reads_are_retried, "a lie gains nothing": a_lie_gains_nothing,
             "paths stay within": paths_stay_within, "the trace of one order": the_trace_of_one_order}


def all_of_it():
    table = Table("order-service", "scenario", "condition")
    for name, play in SCENARIOS.items():
        for condition, holds in play():
            table.row(name, condition, holds=holds)
    return table.show()


if __name__ == "__main__":
    main(all_of_it)
