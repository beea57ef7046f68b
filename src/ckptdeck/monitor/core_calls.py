"""What the engine asks of the core, in one place, so that tests can put a made-up core in its stead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ckptdeck.core.checkpoint_set import (
    CheckpointSet,
    Pair,
    check_pair,
    find_pair,
    find_set,
    refuse_overlap,
)
from ckptdeck.core.composing import Composer
from ckptdeck.core.errors import UsageError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.host import Host
from ckptdeck.core.named_look import NamedInventory, look_again
from ckptdeck.core.plans.adopt import plan_adopt
from ckptdeck.core.plans.mark import plan_mark_bad, plan_unmark_bad
from ckptdeck.core.plans.mend import plan_mend
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.plans.plan import ItemResult, Plan, PlanResult
from ckptdeck.core.plans.prune import plan_prune, wish_of
from ckptdeck.core.plans.recover import plan_recover
from ckptdeck.core.plans.repair import plan_repair
from ckptdeck.core.plans.restore import plan_restore
from ckptdeck.core.plans.rollback import plan_rollback
from ckptdeck.core.plans.set_aside import plan_purge, plan_put_back, plan_quarantine
from ckptdeck.core.plans.start import plan_start
from ckptdeck.core.policy import Policy, parse_age
from ckptdeck.core.progress import Effort
from ckptdeck.core.register import Changes, Register
from ckptdeck.core.safe_text import visible
from ckptdeck.core.scan import scan
from ckptdeck.core.sighting import Inventory
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Survey
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.policy_file import read_policy

if TYPE_CHECKING:
    from ckptdeck.core.verify import Verification

Planner = Callable[[Survey, Sequence[str], Mapping[str, str]], Plan]


@dataclass(frozen=True, slots=True)
class CoreCalls:
    """The functions of the core behind the engine's verbs; signatures as in their modules."""

    find_set: Callable[[FileSystem, str, Role], CheckpointSet]
    refuse_overlap: Callable[[FileSystem, str, str], None]
    check_pair: Callable[[CheckpointSet, CheckpointSet], Pair]
    """Both sets with their conditions as a pair; pure."""
    read_policy: Callable[[FileSystem, str | None], Policy]
    scan: Callable[[Host, CheckpointSet, Policy, Inventory | None], Inventory]
    look_again: Callable[[Host, CheckpointSet, Policy, Register, Collection[str]], NamedInventory | None]
    """At what lies at a few paths only; None where that does not do."""
    compose: Callable[[Inventory, Inventory | None, Policy, float, Mapping[Role, Changes] | None], Survey]
    """The last is what is seen otherwise than at the call before; None: anything may be."""
    planners: Mapping[str, Planner]
    find_pair: Callable[[FileSystem, str, str | None], Pair]
    apply: Callable[[Host, Pair, Policy, Plan, Effort, Callable[[ItemResult], None], int | None], PlanResult]
    """The last is the number that was confirmed, for a plan that needs one."""
    verify_one: Callable[[Host, CheckpointSet, str, Effort], Verification]


def core_calls() -> CoreCalls:
    """The real ones, for one engine: the composing remembers what it did last."""
    return CoreCalls(
        find_set=find_set,
        refuse_overlap=refuse_overlap,
        check_pair=check_pair,
        read_policy=lambda fs, control: read_policy(fs, control).policy,
        scan=scan,
        look_again=look_again,
        compose=Composer().compose,
        planners=PLANNERS,
        find_pair=find_pair,
        apply=_apply,
        verify_one=_verify_one,
    )


def _apply(
    host: Host,
    pair: Pair,
    policy: Policy,
    plan: Plan,
    effort: Effort,
    tell: Callable[[ItemResult], None],
    confirmed_count: int | None,
) -> PlanResult:
    # What reads and changes files is half of the core. A console paints before it loads that, and may never need it.
    from ckptdeck.core.apply import apply

    return apply(host, pair, policy, plan, effort, tell, confirmed_count)


def _verify_one(host: Host, checkpoint_set: CheckpointSet, name: str, effort: Effort) -> Verification:
    from ckptdeck.core.verify import verify_one

    return verify_one(host, checkpoint_set, name, effort)


def _adopt(survey: Survey, names: Sequence[str], options: Mapping[str, str]) -> Plan:
    _allow("adopt", options, "replace", "side")
    return plan_adopt(survey, tuple(names), replace=_flag(options, "replace"), side=_side(options))


def _mirror(survey: Survey, names: Sequence[str], options: Mapping[str, str]) -> Plan:
    _allow("mirror", options, "all", "replace")
    return plan_mirror(survey, tuple(names), all_steps=_flag(options, "all"), replace=_flag(options, "replace"))


def _repair(survey: Survey, names: Sequence[str], options: Mapping[str, str]) -> Plan:
    _allow("repair", options)
    return plan_repair(survey, tuple(names))


def _recover(survey: Survey, names: Sequence[str], options: Mapping[str, str]) -> Plan:
    _allow("recover", options)
    _no_names("recover", names)
    return plan_recover(survey)


def _mend(survey: Survey, names: Sequence[str], options: Mapping[str, str]) -> Plan:
    _allow("mend", options)
    _no_names("mend", names)
    return plan_mend(survey)


def _start(survey: Survey, names: Sequence[str], options: Mapping[str, str]) -> Plan:
    _allow("start", options)
    _no_names("start", names)
    return plan_start(survey)


def _prune(survey: Survey, names: Sequence[str], options: Mapping[str, str]) -> Plan:
    _allow("prune", options, "keep-last", "keep-every", "keep-best")
    _no_names("prune", names)
    return plan_prune(survey, wish_of(options))


def _quarantine(survey: Survey, names: Sequence[str], options: Mapping[str, str]) -> Plan:
    _allow("quarantine", options, "side")
    return plan_quarantine(survey, tuple(names), side=_side(options))


def _purge(survey: Survey, names: Sequence[str], options: Mapping[str, str]) -> Plan:
    _allow("purge", options, "older-than")
    age = options.get("older-than")
    return plan_purge(survey, tuple(names), older_than=None if age is None else parse_age(age))


def _restore(survey: Survey, names: Sequence[str], options: Mapping[str, str]) -> Plan:
    _allow("restore", options, "newest", "from-quarantine")
    entry = options.get("from-quarantine")
    if entry is not None:
        _no_names("restore --from-quarantine", names)
        return plan_put_back(survey, entry.split())
    newest = options.get("newest")
    return plan_restore(survey, tuple(names), newest=None if newest is None else _whole_number("--newest", newest))


def _rollback(survey: Survey, names: Sequence[str], options: Mapping[str, str]) -> Plan:
    _allow("rollback", options, "step")
    _no_names("rollback", names)
    return plan_rollback(survey, _whole_number("STEP", options.get("step", "")))


def _mark_bad(survey: Survey, names: Sequence[str], options: Mapping[str, str]) -> Plan:
    _allow("mark-bad", options)
    return plan_mark_bad(survey, names)


def _unmark_bad(survey: Survey, names: Sequence[str], options: Mapping[str, str]) -> Plan:
    _allow("unmark-bad", options)
    return plan_unmark_bad(survey, names)


def _whole_number(what: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise UsageError(f"{what} {visible(text)} is not a whole number", next_step="Write it in digits")
    return int(text)


PLANNERS: Mapping[str, Planner] = {
    "adopt": _adopt,
    "mirror": _mirror,
    "repair": _repair,
    "recover": _recover,
    "mend": _mend,
    "prune": _prune,
    "quarantine": _quarantine,
    "purge": _purge,
    "restore": _restore,
    "rollback": _rollback,
    "mark-bad": _mark_bad,
    "unmark-bad": _unmark_bad,
    "start": _start,
}


def _flag(options: Mapping[str, str], key: str) -> bool:
    return options.get(key) == "true"


def _side(options: Mapping[str, str]) -> Role | None:
    given = options.get("side")
    if given is None:
        return None
    if given not in tuple(Role):
        raise UsageError(f"There is no side {visible(given)}", next_step="It is primary or mirror")
    return Role(given)


def _allow(action: str, options: Mapping[str, str], *known: str) -> None:
    for key in options:
        if key not in known:
            raise UsageError(f"{action} has no option {key}", next_step=f"It takes: {', '.join(known) or 'none'}")


def _no_names(action: str, names: Sequence[str]) -> None:
    if names:
        raise UsageError(f"{action} takes no names", why="It is one plan for the whole pair")
