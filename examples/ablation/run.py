"""Which control carries which task: twelve tasks against all five components, and against each configuration that lacks one.

A pair of configurations may differ in exactly one component; a pair that differs in two says nothing of either, and is refused.
"""
from concurrent.futures import ThreadPoolExecutor

from rehearsal import Gateway, Table, export_worker, main

COMPONENTS = ("permissions", "evidence", "approval", "budget", "retry")
GOOD = {"format": "csv", "destination": "exports/daily", "max_retries": 2}
BAD = {"format": "csv", "destination": "/tmp", "max_retries": 9}
READY = {"config": GOOD | {"compress": False}, "revision": 1,
         "exports": [{"export_id": "ex-1", "dataset": "old", "request_id": None, "revision": 1, "status": "done"}]}


def gateway(parts, *flags):
    """The export worker behind a gateway that has these components."""
    repeats = {"attempts": 2, "errors": {"transient": {"codes": [-32050]}}} if "retry" in parts else {"attempts": 1}
    keyed = {"repeat": "keyed", "idempotencyKey": {"argument": "/request_id"}} if "retry" in parts else {}
    tools = {"read_config": {"effect": "read", "attempts": 2 if "retry" in parts else 1}, "lookup_export": "read",
             "check_config": {"effect": "read", "scope": "export"},
             "write_config": {"effect": "record", "destructive": False, "scope": "export", **repeats},
             "queue_export": {"effect": "record", "destructive": False, "scope": "export", **keyed, **repeats},
             "publish": {"effect": "external", "destructive": True, "scope": "export"}}
    rules = [{"id": "reads", "allow": {"effect": "read"}},
             {"id": "writes", "allow": {"server": "export", "tool": ["write_config", "queue_export"]}}]
    if "permissions" not in parts:
        rules.append({"id": "all", "allow": {"server": "export"}})
    if "evidence" in parts:
        rules.append({"id": "checked", "require": {"server": "export", "tool": "queue_export"},
                      "evidence": {"tool": "check_config", "result": {"passed": True}}})
    if "approval" in parts:
        rules.append({"id": "asks", "ask": {"server": "export", "tool": "queue_export"}})
    policy = {"default": "deny", "rules": rules}
    if "budget" in parts:
        policy["budgets"] = [{"id": "run", "per": "run", "requests": 4}]
    servers = {"export": {"command": export_worker(), "args": ["--state", "$STATE", *flags]}}
    evidence = ["checked"] if "evidence" in parts else []
    return Gateway(servers, {"servers": {"export": {"tools": tools}}}, policy, READY, run={"evidence": evidence})


def new_exports(g):
    return len(g.server_state()["exports"]) - 1


def queue(g, parts, arguments, answer="approve"):
    """Queues; where a person is asked, the person answers. Its result, and whether anybody was asked."""
    client = g.client()
    client.call("export__check_config")
    if "approval" not in parts:
        return client.call("export__queue_export", arguments), False
    held = client.begin("export__queue_export", arguments)
    ask = g.waiting()
    if answer == "approve":
        g.approve(ask)
    else:
        g.deny(ask, "not today")
    return held.end(), True


# ---- the tasks: each yields the conditions that it needs and whether they are met

def good_work_completes(parts):
    with gateway(parts) as g:
        client = g.client()
        client.call("export__write_config", GOOD)
        client.call("export__check_config")
        yield "the run completes", client.finish().status == "complete"


def nothing_is_published(parts):
    with gateway(parts) as g:
        g.client().call("export__publish", {"export_id": "ex-1"})
        yield "nothing was published", not g.server_state().get("published")


def publishing_is_said_to_be_denied(parts):
    with gateway(parts) as g:
        yield "the client is told POLICY_DENIED", g.client().call("export__publish", {"export_id": "ex-1"}).code == "POLICY_DENIED"


def a_stale_check_does_not_complete(parts):
    with gateway(parts) as g:
        client = g.client()
        for tool, arguments in (("write_config", GOOD), ("check_config", {}), ("write_config", BAD)):
            client.call("export__" + tool, arguments)
        yield "the run is not complete with a bad configuration", client.finish().status == "completion_rejected"


def unchecked_work_does_not_complete(parts):
    with gateway(parts) as g:
        client = g.client()
        client.call("export__write_config", GOOD)
        yield "the run is not complete without a check", client.finish().status == "completion_rejected"


def a_loop_stops(parts):
    with gateway(parts) as g:
        client = g.client()
        for _ in range(8):
            client.call("export__read_config")
        yield "four of eight reads ran", g.executed("read_config") == 4


def a_loop_is_told_to_stop(parts):
    with gateway(parts) as g:
        client = g.client()
        codes = [client.call("export__read_config").code for _ in range(5)]
        yield "the fifth is told BUDGET_EXHAUSTED", codes[4] == "BUDGET_EXHAUSTED"


def an_export_waits_for_a_person(parts):
    with gateway(parts) as g:
        result, asked = queue(g, parts, {"dataset": "orders", "request_id": "r-1"})
        yield "a person was asked", asked
        yield "it was queued once", not result.failed and new_exports(g) == 1


def a_denied_export_is_not_queued(parts):
    with gateway(parts) as g:
        queue(g, parts, {"dataset": "orders", "request_id": "r-1"}, "deny")
        yield "nothing was queued", new_exports(g) == 0


def a_busy_server_is_tried_again(parts):
    with gateway(parts, "--transient", "write_config:1") as g:
        yield "the client did not see the fault", not g.client().call("export__write_config", GOOD).failed


def a_read_outlives_a_crash(parts):
    with gateway(parts, "--crash", "read_config:1") as g:
        yield "the read was answered", not g.client().call("export__read_config").failed


def a_lost_answer_is_settled_by_its_key(parts):
    with gateway(parts, "--crash", "queue_export:1") as g:
        result, _ = queue(g, parts, {"dataset": "orders", "request_id": "r-1"})
        yield "it is known that it was queued", result.outcome == "applied"
        yield "once", new_exports(g) == 1


TASKS = (good_work_completes, nothing_is_published, publishing_is_said_to_be_denied, a_stale_check_does_not_complete,
         unchecked_work_does_not_complete, a_loop_stops, a_loop_is_told_to_stop, an_export_waits_for_a_person,
         a_denied_export_is_not_queued, a_busy_server_is_tried_again, a_read_outlives_a_crash, a_lost_answer_is_settled_by_its_key)
# What each component is there for: these tasks fail without it, and no others.
CARRIES = {
    "permissions": {"nothing_is_published", "publishing_is_said_to_be_denied"},
    "evidence": {"a_stale_check_does_not_complete", "unchecked_work_does_not_complete"},
    "approval": {"an_export_waits_for_a_person", "a_denied_export_is_not_queued"},
    "budget": {"a_loop_stops", "a_loop_is_told_to_stop"},
    "retry": {"a_busy_server_is_tried_again", "a_read_outlives_a_crash", "a_lost_answer_is_settled_by_its_key"},
}


def play(parts):
    """Task -> the conditions that were not met."""
    def unmet(task):
        return [condition for condition, met in task(parts) if not met]
    with ThreadPoolExecutor(2) as pool:
        return dict(zip((task.__name__ for task in TASKS), pool.map(unmet, TASKS)))


class NotComparable(Exception):
    pass


def difference(control, treatment):
    """The one component that the two differ in."""
    differ = control ^ treatment
    if len(differ) != 1:
        raise NotComparable("they differ in %d components (%s): what made the difference could not be told" %
                            (len(differ), ", ".join(sorted(differ)) or "none"))
    return next(iter(differ))


def refused(control, treatment):
    try:
        difference(frozenset(control), frozenset(treatment))
    except NotComparable as why:
        return str(why)
    return ""


def all_of_it():
    full = frozenset(COMPONENTS)
    control = play(full)
    table = Table("Twelve tasks, five components", "component", "control", "treatment", "difference", "wanted")
    failures = []
    for component in COMPONENTS:
        without = full - {component}
        treatment = play(without)
        passed = [sum(1 for unmet in one.values() if not unmet) for one in (control, treatment)]
        lost = {task for task, unmet in treatment.items() if unmet}
        table.row(difference(full, without), "%d of 12" % passed[0], "%d of 12" % passed[1], passed[1] - passed[0],
                  -len(CARRIES[component]), holds=passed[0] == 12 and lost == CARRIES[component])
        failures += [(component, task, unmet) for task, unmet in treatment.items() if unmet]
    for task, unmet in control.items():
        failures += [("(control)", task, unmet)] if unmet else []
    two = refused(full, full - {"permissions", "budget"})
    table.row("two at once", "", "", "", "refused", holds=bool(two))
    table.row("none", "", "", "", "refused", holds=bool(refused(full, full)))
    failed = table.show()
    print("\n  two at once: " + two)
    print("\n  what was not met")
    for component, task, unmet in failures:
        print("  without %-12s %s: %s" % (component, task.replace("_", " "), "; ".join("not: " + one for one in unmet)))
    return failed


if __name__ == "__main__":
    main(all_of_it)
