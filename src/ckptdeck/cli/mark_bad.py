"""Declares the recorded content of checkpoints bad, on both sides: a copy of it made again is bad too."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

from ckptdeck.cli.action import require_known
from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import Session, open_session, require_changeable
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import UsageError, from_os_error
from ckptdeck.core.lock import set_lock
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.safe_text import json_name, visible
from ckptdeck.core.sighting import Record
from ckptdeck.monitor import log


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, names="the NAMEs whose content is bad")


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    session = open_session(arguments, terminal, interruption)
    require_known(session.look(), session.names)
    change_marks(
        session, lambda record: replace(record, marked_bad=record.digest), action="mark-bad", done="marked bad"
    )
    return 0


def change_marks(session: Session, change: Callable[[Record], Record], *, action: str, done: str) -> None:
    """Changes the mark in the records of the named checkpoints on both sides and says so."""
    if not session.names:
        raise UsageError("No checkpoint was named", next_step=f"Write `ckptdeck {action} {session.directories()} NAME`")
    require_changeable(session.pair, action)
    results = []
    with set_lock(session.host, *session.pair.sets):
        for name in session.names:
            changed = [one.role for one in session.pair.sets if _change(session, one, name, change)]
            if not changed:
                raise UsageError(
                    f"{visible(name)} has no record on either side",
                    why="The mark belongs to a recorded content",
                    next_step=f"`ckptdeck adopt {session.directories()} {visible(name)}` records it first",
                )
            results.append({**json_name(name), "sides": [role.value for role in changed]})
            session.terminal.say(f"{visible(name)} {done} on {' and '.join(changed)}")
            for one in session.pair.sets:
                log.append(session.host, one.control, text=f"{action} {visible(name)}", outcome="done")
    session.terminal.document({"schema": f"ckptdeck.{action}/1", "checkpoints": results})


def _change(session: Session, checkpoint_set: CheckpointSet, name: str, change: Callable[[Record], Record]) -> bool:
    manifest = Manifest(session.host.fs, checkpoint_set, pid=session.host.pid)
    try:
        record = manifest.record(name)
        if record is None:
            return False
        manifest.write_record(change(record))
    except ValueError:
        return False  # a damaged record names no content; the scan reports it
    except OSError as error:
        raise from_os_error(error, f"Marking {visible(name)} on the {checkpoint_set.role}") from error
    return True
