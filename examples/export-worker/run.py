"""The reference experiments on controls and feedback, through the real gateway, with scripted clients and without a model."""
import copy
import json
import pathlib

from rehearsal import Gateway, Table, export_worker, main

HERE = pathlib.Path(__file__).parent
TRUST = json.loads((HERE / "trust.json").read_text())
POLICY = json.loads((HERE / "policy.json").read_text())
GOOD = {"format": "csv", "destination": "exports/daily", "max_retries": 2}
BAD = {"format": "csv", "destination": "/tmp", "max_retries": 9}
READY = {"config": GOOD | {"compress": False}, "revision": 1,
         "exports": [{"export_id": "ex-1", "dataset": "old", "request_id": None, "revision": 1, "status": "done"}]}


def gateway(*flags, trust=None, policy=None, evidence=("checked",)):
    servers = {"export": {"command": export_worker(), "args": ["--state", "$STATE", *flags]}}
    return Gateway(servers, trust or TRUST, policy or POLICY, READY, run={"evidence": list(evidence)})


# ---- controls: each scenario, with all of them and with one removed

def normal(g):
    client = g.client()
    client.call("export__write_config", GOOD)
    client.call("export__check_config")
    return client.finish().status


def publish(g):
    code = g.client().call("export__publish", {"export_id": "ex-1"}).status
    return "published" if g.server_state().get("published") else "not published (%s)" % code


def stale_check(g):
    client = g.client()
    client.call("export__write_config", GOOD)
    client.call("export__check_config")
    client.call("export__write_config", BAD)
    return client.finish().status


def loop(g):
    client = g.client()
    for _ in range(8):
        client.call("export__read_config")
    return "%d of 8 ran" % g.executed("read_config")


SCENARIOS = {"normal": normal, "publish": publish, "stale check": stale_check, "loop": loop}
WITH_ALL = {"normal": "complete", "publish": "not published (POLICY_DENIED)", "stale check": "completion_rejected",
            "loop": "4 of 8 ran"}


def without_permissions():
    policy = copy.deepcopy(POLICY)
    policy["rules"] = [{"id": "all", "allow": {"server": "export"}}, policy["rules"][3]]
    return {"policy": policy}


def without_evidence():
    policy = copy.deepcopy(POLICY)
    del policy["rules"][3]
    return {"policy": policy, "evidence": ()}


def without_budget():
    policy = copy.deepcopy(POLICY)
    del policy["budgets"]
    return {"policy": policy}


def more_audit():
    trust = copy.deepcopy(TRUST)
    for name, entry in trust["servers"]["export"]["tools"].items():
        record = {"result": ["/revision"]} if name != "publish" else {"arguments": ["/export_id"]}
        trust["servers"]["export"]["tools"][name] = ({"effect": entry} if isinstance(entry, str) else entry) | {"record": record}
    return {"trust": trust}


CONFIGURATIONS = {
    "all controls": (dict, {}),
    "without permissions": (without_permissions, {"publish": "published"}),
    "without evidence": (without_evidence, {"stale check": "complete"}),
    "without budget": (without_budget, {"loop": "8 of 8 ran"}),
    "more audit": (more_audit, {}),
}


def controls():
    table = Table("Controls: what gets through when one is removed", "configuration", "scenario", "came", "wanted")
    for name, (make, other) in CONFIGURATIONS.items():
        for scenario, play in SCENARIOS.items():
            with gateway(**make()) as g:
                came = play(g)
            wanted = other.get(scenario, WITH_ALL[scenario])
            table.row(name, scenario, came, wanted, holds=came == wanted)
    return table.show()


# ---- feedback: what a client is told lets it go on, and no further than is right

def roomy(**more):
    policy = copy.deepcopy(POLICY)
    policy["budgets"][0]["requests"] = 20
    policy["rules"] += more.get("rules", [])
    return policy


def contract(tool, **more):
    trust = copy.deepcopy(TRUST)
    trust["servers"]["export"]["tools"][tool].update(more)
    return trust


def correct_after_feedback():
    with gateway() as g:
        client = g.client()
        refused = client.call("export__write_config", GOOD | {"max_retries": "two"})
        yield "refused, and nothing was written", refused.code == "ARGUMENTS_INVALID" and g.executed("write_config") == 0
        named = [one for one in refused.reasons if one.get("pointer") == "/max_retries"]
        yield "the fault is named: %s" % (named[0]["message"] if named else "?"), bool(named) and "integer" in named[0]["message"]
        arguments = GOOD | ({"max_retries": 2} if named else {})
        client.call("export__write_config", arguments)
        client.call("export__check_config")
        yield "mended, checked, finished: complete", client.finish().status == "complete"


def gateway_retry():
    trust = contract("write_config", attempts=2, errors={"transient": {"codes": [-32050]}})
    with gateway("--transient", "write_config:1", trust=trust) as g:
        client = g.client()
        written = client.call("export__write_config", GOOD)
        yield "one transient fault is not the client's to see", not written.failed
        story = g.person("operations", "show", written.operation)
        yield "the same operation, two attempts", story["attempts"] == 2 and story["outcome"] == "applied"
        attempts = [one["attempt"] for one in g.receipts() if one["kind"] == "intent" and one["operation"] == written.operation]
        yield "each attempt is on record", attempts == [1, 2]
        client.call("export__check_config")
        yield "complete", client.finish().status == "complete"


def stale_until_checked():
    with gateway(policy=roomy()) as g:
        client = g.client()
        client.call("export__write_config", GOOD)
        client.call("export__check_config")
        client.call("export__write_config", GOOD | {"max_retries": 3})
        refused = client.call("export__queue_export", {"dataset": "orders"})
        yield "refused: the check is older than the last write", refused.code == "EVIDENCE_REQUIRED"
        client.call("export__check_config")
        yield "checked again, it is queued", not client.call("export__queue_export", {"dataset": "orders"}).failed
        yield "and that write makes the check stale again", client.finish().status == "completion_rejected"
        client.call("export__check_config")
        yield "checked once more: complete", client.finish().status == "complete"


def unknown_is_not_failure():
    trust = contract("queue_export", deadline="2s", lookup={
        "tool": "lookup_export", "arguments": {"request_id": {"from": "/request_id"}}, "applied": {"found": True},
        "notFound": "unknown"})
    policy = roomy()
    policy["rules"] = [rule for rule in policy["rules"] if rule["id"] != "checked"]
    with gateway("--lose-answer", "queue_export:1", "--blind-lookup", trust=trust, policy=policy, evidence=()) as g:
        client = g.client()
        lost = client.call("export__queue_export", {"dataset": "orders", "request_id": "r-1"})
        yield "the answer is lost, and that is said", lost.code == "OUTCOME_UNKNOWN" and lost.outcome == "unknown"
        looked = [one for one in g.receipts() if one.get("cause") == lost.operation]
        yield "the gateway looked, and what finds nothing proves nothing", len(looked) == 1 and looked[0]["principal"] == "gateway"
        second = client.call("export__queue_export", {"dataset": "orders", "request_id": "r-2"})
        yield "a second one is refused: %s" % second.code, second.code == "BLOCKED_BY_UNKNOWN" and lost.operation in second.words
        yield "the run ends unresolved", client.finish().status == "unresolved"
        new = [one for one in g.server_state()["exports"] if one["dataset"] == "orders"]
        yield "exactly one export in the worker", len(new) == 1 and g.executed("queue_export") == 1


def approval_required():
    asks = {"id": "asks", "ask": {"server": "export", "tool": "queue_export"}, "approval": {"revision": True}}
    policy = roomy(rules=[asks])
    policy["rules"] = [rule for rule in policy["rules"] if rule["id"] != "checked"]
    with gateway(policy=policy, evidence=()) as g:
        first = g.client().begin("export__queue_export", {"dataset": "orders"})
        ask = g.waiting()
        yield "it waits for a person", g.executed("queue_export") == 0
        other = g.client().begin("export__queue_export", {"dataset": "customers"})
        other_ask = g.waiting(but=[ask])
        yield "other arguments are another ask", other_ask != ask
        yield "approved, it runs", g.approve(ask) and not first.end().failed and g.executed("queue_export") == 1
        g.approve(other_ask)
        yield "that write moved the scope: the other approval does not fit", other.end().code == "APPROVAL_INVALIDATED"
        yield "and it did not run", g.executed("queue_export") == 1
        again = g.client().begin("export__queue_export", {"dataset": "orders"})
        third = g.waiting()
        yield "a used one does not fit twice", third not in (ask, other_ask) and not g.approve(ask)
        yield "denied, it does not run", g.deny(third, "one is enough") and again.end().code == "APPROVAL_DENIED"
        yield "one execution in all", g.executed("queue_export") == 1


FEEDBACK = {"correct after feedback": correct_after_feedback, "gateway retry": gateway_retry,
            "stale check": stale_until_checked, "unknown is not failure": unknown_is_not_failure,
            "approval required": approval_required}


def feedback():
    table = Table("Feedback: what a client is told, and what it can do then", "scenario", "condition")
    for name, play in FEEDBACK.items():
        for condition, holds in play():
            table.row(name, condition, holds=holds)
    return table.show()


if __name__ == "__main__":
    main(controls, feedback)
