"""Makes directories sets: a control directory for each, the pairing of both, and a commented policy file.

Nothing among the checkpoints is touched. Prints what was found, how names are grouped and what to do next.
"""

from __future__ import annotations

import argparse
import os

from ckptdeck.cli.arguments import add_selection, is_directory_word, select
from ckptdeck.cli.grouping import confirmation, families, found_lines, group_shapes
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.json_output import optional_name
from ckptdeck.cli.session import Session, open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.amounts import size_text
from ckptdeck.core.checkpoint_set import POLICY, CheckpointSet
from ckptdeck.core.errors import UsageError
from ckptdeck.core.initialise import Initialised, initialise
from ckptdeck.core.safe_text import json_name, visible
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import CANDIDATES, NOT_THERE, State
from ckptdeck.core.survey import Side, Survey
from ckptdeck.monitor import log
from ckptdeck.monitor.command_line import action_line
from ckptdeck.monitor.host import this_host


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument("--run-id", metavar="ID", help="name of the run; by default the primary's directory name")
    parser.add_argument(
        "--inside",
        action="store_true",
        help="control directory inside the primary (a mount point, or a container that mounts only the set)",
    )
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--new-mirror", action="store_true", help="MIRROR takes the place of the paired one")
    change.add_argument("--forget-mirror", action="store_true", help="the primary has no mirror any more")
    change.add_argument(
        "--replace-primary", action="store_true", help="PRIMARY takes the place of the mirror's dead one"
    )


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    if arguments.primary is None and not any(map(is_directory_word, arguments.words)):
        raise UsageError(
            "`ckptdeck init` needs the directory of the primary",
            why="A directory contains a slash (or is . or ..)",
            next_step="Write `ckptdeck init ./checkpoints /mnt/disk2/checkpoints`, primary first",
        )
    host = this_host()
    selection = select(arguments, host.fs, os.environ)
    done = initialise(
        host,
        selection.primary,
        selection.mirror,
        run_id=arguments.run_id,
        inside=arguments.inside,
        new_mirror=arguments.new_mirror,
        forget_mirror=arguments.forget_mirror,
        replace_primary=arguments.replace_primary,
    )
    session = open_session(arguments, terminal, interruption, host)
    survey = session.look()
    next_steps = _next_steps(survey, session)
    terminal.document(_document(done, survey, next_steps))
    _say(session, done, survey, next_steps)
    for one in done.pair.sets:
        if one.control in done.created:
            log.append(host, one.control, text="init", outcome="done")
    return 0


def _say(session: Session, done: Initialised, survey: Survey, next_steps: list[tuple[str, str]]) -> None:
    terminal = session.terminal
    for side in survey.sides:
        terminal.say(_side_line(side, done))
        for line in found_lines(side):
            terminal.say(f"  {line}")
    if session.pair.primary.control is not None:
        policy = session.pair.primary.control_path(POLICY)
        terminal.say(f"policy  {visible(policy)}")
        confirm = confirmation(survey.sides, policy)
        if confirm is not None:
            terminal.say(f"groups  {confirm}")
    terminal.say()
    for command, what in next_steps:
        terminal.say(f"next: {what}")
        terminal.say(f"  {command}")


def _side_line(side: Side, done: Initialised) -> str:
    inventory = side.inventory
    made = "made" if inventory.control in done.created else "was there already"
    control = "" if inventory.control is None else f"  control directory {visible(inventory.control)} ({made})"
    return f"{side.role.value:7} {visible(inventory.root)}{control}"


def _next_steps(survey: Survey, session: Session) -> list[tuple[str, str]]:
    """(command, what it does), most urgent first."""
    primary = session.pair.primary.root
    mirror = None if session.pair.mirror is None else session.pair.mirror.root
    unrecorded = [
        checkpoint
        for side in survey.sides
        for checkpoint in side.checkpoints
        if checkpoint.state in CANDIDATES and checkpoint.sighting.record is None
    ]
    steps = []
    if unrecorded:
        size = size_text(sum(checkpoint.size for checkpoint in unrecorded))
        steps.append((action_line("adopt", primary, mirror), f"record what is there ({size} to hash)"))
    if mirror is not None and _lost_all(survey):
        steps += _bringing_back(survey, primary)
    elif mirror is not None:
        steps.append((action_line("mirror", primary, mirror), "copy to the mirror what the retention keeps, proven"))
    steps.append((action_line("resume", primary, None), "in the launch script: the path to resume from"))
    return steps


def _lost_all(survey: Survey) -> bool:
    """The primary is empty, and the mirror holds recorded checkpoints: what a dead disk leaves."""
    return bool(_copies_on_mirror(survey)) and all(copy.state in NOT_THERE for copy in survey.primary.checkpoints)


def _bringing_back(survey: Survey, primary: str) -> list[tuple[str, str]]:
    """Only what is proven comes back; receipts of another mount prove nothing."""
    restore = action_line("restore", primary, None, options={"newest": "true"})
    steps = [(restore, "bring the newest whole checkpoint back from the mirror")]
    if any(copy.state is State.VERIFIED for copy in _copies_on_mirror(survey)):
        return steps
    return [(action_line("verify", primary, None), "prove what the mirror holds"), *steps]


def _copies_on_mirror(survey: Survey) -> tuple[Checkpoint, ...]:
    copies = () if survey.mirror is None else survey.mirror.checkpoints
    return tuple(copy for copy in copies if copy.state in (State.VERIFIED, State.SIZE_ONLY))


def _document(done: Initialised, survey: Survey, next_steps: list[tuple[str, str]]) -> dict[str, object]:
    sets = {"primary": done.pair.primary, "mirror": done.pair.mirror}
    return {
        "schema": "ckptdeck.init/1",
        "run_id": survey.run_id,
        "sides": {role: None if one is None else _set_object(one, done) for role, one in sets.items()},
        "families": {side.role.value: dict(families(side)) for side in survey.sides},
        "groups": {side.role.value: _group_objects(side) for side in survey.sides},
        "next": [{"command": command, "text": text} for command, text in next_steps],
    }


def _group_objects(side: Side) -> list[dict[str, object]]:
    """What the checkpoints of several files are made of, # standing for numbers."""
    return [
        {"checkpoints": count, "files": [{**json_name(kind), "count": number} for kind, number in shape]}
        for shape, count in group_shapes(side).most_common()
    ]


def _set_object(one: CheckpointSet, done: Initialised) -> dict[str, object]:
    return {
        **json_name(one.root, "path"),
        **optional_name(one.control, "control_path"),
        "set_id": None if one.document is None else one.document.set_id,
        "created": one.control in done.created,
    }
