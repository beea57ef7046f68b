"""How a plan is called as a job, which line for a shell does the same, and what becomes of it when we quit."""

from __future__ import annotations

from ckptdeck.core.amounts import counted
from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.safe_text import visible
from ckptdeck.core.states import Role
from ckptdeck.monitor.command_line import action_line, command_line

START = "start"
"""The plan of the first day: make both directories sets, then record and mirror everything."""
MEND = "mend"
"""The plan after a crash: recover, and repair and copy what the whole side has."""
COPYING = frozenset({Act.COPY, Act.REPAIR})

IF_WE_QUIT = {
    "mirror": "continues at the next start",
    START: "continues at the next start",
    "adopt": "what is recorded stays; adopt again for the rest",
    "repair": "a bad copy keeps its place until its replacement is proven; repair again for the rest",
    "recover": "recover is offered again at the next start",
    MEND: "what is finished and copied stays; the rest is offered again at the next start",
    "verify": "what is verified stays; verify again for the rest",
    "restore": "what is back stays; restore again goes on with the rest",
    "prune": "stops between two copies; prune again for the rest",
    "quarantine": "what is set aside stays there; quarantine again for the rest",
    "purge": "what is purged is gone, the rest stays in quarantine",
    "rollback": "what is set aside stays so; roll back again for the rest",
    "mark-bad": "what is marked stays marked; mark again for the rest",
    "unmark-bad": "what is not marked any more stays so; unmark again for the rest",
}

_ONE_PLAN = frozenset({"recover", "prune", "rollback"})
"""They take no names: an item of theirs has no line of its own."""


def job_title(plan: Plan) -> str:
    """ "mirror step_2450.pt", "prune 92 copies", "roll back to step 2450"."""
    if plan.action == "rollback":
        return f"roll back to step {visible(plan.options.get('step', ''))}"
    if plan.action == "prune":
        return f"prune {counted(sum(item.act is Act.DELETE for item in plan.acting), 'copy', 'copies')}"
    names = list(dict.fromkeys(item.checkpoint for item in plan.acting))
    return title_for(_verb(plan), names)


def title_for(verb: str, names: list[str]) -> str:
    """`verb` with the one name, or how many there are."""
    if len(names) == 1:
        return f"{verb} {visible(names[0])}"
    return f"{verb} {counted(len(names), 'checkpoint')}" if names else verb


def _verb(plan: Plan) -> str:
    if plan.action == START:
        return "record and mirror"
    if plan.action == MEND:
        return "recover"
    putting_back = plan.action == "restore" and "from-quarantine" in plan.options
    return "put back" if putting_back else plan.action


def plan_line(plan: Plan, primary: str, mirror: str | None) -> str:
    """The plan as a line for a shell: three commands on the first day, up to four after a crash."""
    if plan.action == MEND:
        commands = dict.fromkeys(["recover", *map(_mending, plan.acting)])
        return " && ".join(action_line(command, primary, mirror) for command in commands)
    if plan.action != START:
        return command_line(plan, primary, mirror)
    lines = [action_line("init", primary, mirror), action_line("adopt", primary, mirror)]
    if mirror is not None:
        lines.append(action_line("mirror", primary, mirror, options={"all": "true"}))
    return " && ".join(lines)


def _mending(item: PlanItem) -> str:
    """The command that does one item of the plan after a crash."""
    if item.act is Act.REPAIR:
        return "repair"
    if item.act in (Act.COPY, Act.POINTER):
        return "restore" if item.side is Role.PRIMARY else "mirror"
    return "recover"


def item_line(plan: Plan, item: PlanItem, primary: str, mirror: str | None) -> str:
    """The command line that would do just this item, or the whole plan's where there is none."""
    if plan.action in _ONE_PLAN or item.act is Act.POINTER:
        return plan_line(plan, primary, mirror)
    if item.act is Act.PUT_BACK:
        return action_line("restore", primary, mirror, options={"from-quarantine": item.name})
    if item.act is Act.QUARANTINE:
        return action_line("quarantine", primary, mirror, (item.name,), {"side": str(item.side)})
    action = plan.action
    if action == MEND:
        action = _mending(item)
        return action_line(action, primary, mirror, () if action == "recover" else (item.name,))
    if action == START:
        action = "mirror" if item.act in COPYING else "adopt"
    return action_line(action, primary, mirror, (item.name,))
