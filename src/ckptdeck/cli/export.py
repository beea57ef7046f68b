"""The manifest as a file for `xxhsum --check`, with paths relative to the set: a proof that needs nothing of ours.

    cd /data/ckpt && ckptdeck export . > /tmp/sums && xxhsum --check /tmp/sums

What was removed on purpose is left out. A name with a newline cannot be written in that format: it is left out, named
on stderr, and the exit code is 3.
"""

from __future__ import annotations

import argparse
import os

from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.errors import PartlyDone, Refused, VolumeSuspect
from ckptdeck.core.safe_text import json_name, visible
from ckptdeck.core.sighting import Record
from ckptdeck.core.states import Condition, Kind, MemberKind, Role, State
from ckptdeck.core.survey import Side


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument(
        "--side", choices=[role.value for role in Role], default=Role.PRIMARY.value, help="whose manifest (primary)"
    )


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    session = open_session(arguments, terminal, interruption)
    role = Role(arguments.side)
    session.pair.on(role)
    side = session.look().side(role)
    assert side is not None
    _require_manifest(side)
    lines = [line for record in _records(side) for line in _lines(record)]
    writable = [(digest, path) for digest, path in lines if "\n" not in path]
    left_out = [path for _, path in lines if "\n" in path]
    terminal.document(
        {
            "schema": "ckptdeck.export/1",
            "side": role.value,
            **json_name(side.inventory.root, "root"),
            "algorithm": "xxh3_128",
            "files": [{**json_name(path, "path"), "digest": digest} for digest, path in writable],
            "left_out": [json_name(path, "path") for path in left_out],
        }
    )
    terminal.say_exactly(b"".join(digest.encode() + b"  " + os.fsencode(path) + b"\n" for digest, path in writable))
    for path in left_out:
        terminal.warn(f"left out, its name holds a newline: {visible(path)}")
    return PartlyDone.exit_code if left_out else 0


def _require_manifest(side: Side) -> None:
    inventory = side.inventory
    where = f"The {side.role} {visible(inventory.root)}"
    if inventory.condition is Condition.UNINITIALISED:
        raise Refused(
            f"{where} has no manifest",
            guard=inventory.condition.value,
            why="It was never initialised",
            next_step="`ckptdeck init` makes it a set, `ckptdeck adopt` records what is there",
        )
    if inventory.condition is not Condition.OK:
        raise VolumeSuspect(f"{where} is {inventory.condition.words}", why=inventory.why)


def _records(side: Side) -> list[Record]:
    """What should be there and good: not what was removed on purpose, nor what the operator marked bad."""
    records = [c.sighting.record for c in side.checkpoints if c.state is not State.REMOVED]
    return [record for record in records if record is not None and record.marked_bad is None]


def _lines(record: Record) -> list[tuple[str, str]]:
    """(digest, path) of every file of a checkpoint, links left out: their files are listed under their own names."""
    files = [member for member in record.members if member.kind is MemberKind.FILE]
    if record.kind is Kind.GROUP:
        return [(member.digest, member.path) for member in files]
    return [(m.digest, os.path.join(record.name, m.path) if m.path else record.name) for m in files]
