"""What jobs are called, and the line for a shell of one item of theirs."""

from __future__ import annotations

import pytest

from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.states import Role
from ckptdeck.monitor.core_calls import PLANNERS
from ckptdeck.monitor.job_words import IF_WE_QUIT, item_line, job_title, plan_line

ID = "20260302T143207Z-1f2e3d4c"


def item(act: Act, name: str = "a.pt", side: Role = Role.MIRROR, **details: str) -> PlanItem:
    return PlanItem(name, side, act, "", details=details)


CASES = [
    (Plan("mirror", (item(Act.COPY),)), "mirror a.pt", "mirror /p /m a.pt"),
    (Plan("start", (item(Act.COPY),)), "record and mirror a.pt", "mirror /p /m a.pt"),
    (Plan("start", (item(Act.RECORD),)), "record and mirror a.pt", "adopt /p /m a.pt"),
    (Plan("restore", (item(Act.COPY), item(Act.POINTER, "latest"))), "restore 2 checkpoints", "restore /p /m a.pt"),
    (Plan("quarantine", (item(Act.QUARANTINE),)), "quarantine a.pt", "quarantine /p /m --side mirror a.pt"),
    (Plan("purge", (item(Act.PURGE, ID, checkpoint="a.pt"),)), "purge a.pt", f"purge /p /m {ID}"),
    (
        Plan("restore", (item(Act.PUT_BACK, ID, checkpoint="a.pt"),), options={"from-quarantine": ID}),
        "put back a.pt",
        f"restore /p /m --from-quarantine {ID}",
    ),
    (
        Plan("prune", (item(Act.VERIFY, "b.pt"), item(Act.DELETE)), options={"keep-last": "3"}),
        "prune 1 copy",
        "prune /p /m --keep-last 3",
    ),
    (Plan("rollback", (item(Act.RETIRE),), options={"step": "800"}), "roll back to step 800", "rollback /p /m 800"),
    (Plan("mark-bad", (item(Act.MARK_BAD), item(Act.MARK_BAD))), "mark-bad a.pt", "mark-bad /p /m a.pt"),
    (Plan("recover", (item(Act.FINISH),)), "recover a.pt", "recover /p /m"),
    (Plan("mend", (item(Act.FINISH), item(Act.COPY, "b.pt"))), "recover 2 checkpoints", "recover /p /m"),
    (Plan("mend", (item(Act.REPAIR),)), "recover a.pt", "repair /p /m a.pt"),
    (Plan("mend", (item(Act.COPY, side=Role.PRIMARY),)), "recover a.pt", "restore /p /m a.pt"),
]


@pytest.mark.parametrize(("plan", "title", "line"), CASES)
def test_titles_and_lines(plan: Plan, title: str, line: str) -> None:
    assert job_title(plan) == title
    assert item_line(plan, plan.items[0], "/p", "/m") == f"ckptdeck {line}"


def test_a_pointer_is_copied_only_with_its_plan() -> None:
    plan = Plan("mirror", (item(Act.COPY), item(Act.POINTER, "latest")), options={"all": "true"})
    assert item_line(plan, plan.items[1], "/p", "/m") == "ckptdeck mirror /p /m --all"


def test_what_is_done_after_a_crash_is_a_line_of_the_commands_it_needs() -> None:
    plan = Plan("mend", (item(Act.COPY), item(Act.REPAIR), item(Act.COPY, side=Role.PRIMARY), item(Act.KEEP)))
    words = ("recover", "mirror", "repair", "restore")
    assert plan_line(plan, "/p", "/m") == " && ".join(f"ckptdeck {word} /p /m" for word in words)


def test_every_action_says_what_a_quit_leaves() -> None:
    assert set(IF_WE_QUIT) == {*PLANNERS, "verify"}
