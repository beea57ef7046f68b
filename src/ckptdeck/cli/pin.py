"""Protects a checkpoint: nothing deletes, quarantines or replaces it.

Written to both sides; either one protects both.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.known_names import require_known
from ckptdeck.cli.session import Session, open_session, require_changeable
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import UsageError, from_os_error
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.safe_text import json_name, visible
from ckptdeck.monitor import log

Change = Callable[[Manifest, str], bool]
"""Changes one side's pin; False when there was nothing to change."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, names="the NAMEs to protect")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why; shown wherever the pin stops something")


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    def pin(manifest: Manifest, name: str) -> bool:
        manifest.write_pin(name, arguments.reason)
        return True

    session = open_session(arguments, terminal, interruption)
    require_known(session.look(), session.names)
    change_pins(session, pin, action="pin", done="pinned")
    return 0


def change_pins(session: Session, change: Change, *, action: str, done: str) -> None:
    """Changes the pins of the named checkpoints on both sides and says so."""
    if not session.names:
        raise UsageError("No checkpoint was named", next_step=f"Write `ckptdeck {action} {session.directories()} NAME`")
    require_changeable(session.pair, action)
    results = []
    for name in session.names:
        changed = [one.role for one in session.pair.sets if _change(session, one, name, change)]
        results.append({**json_name(name), "sides": [role.value for role in changed]})
        if not changed:
            raise UsageError(f"{visible(name)} is not pinned", next_step="`ckptdeck status --json` shows what is")
        session.terminal.say(f"{visible(name)} {done} on {' and '.join(changed)}")
        for one in session.pair.sets:
            log.append(session.host, one.control, text=f"{action} {visible(name)}", outcome="done")
    session.terminal.document({"schema": f"ckptdeck.{action}/1", "checkpoints": results})


def _change(session: Session, checkpoint_set: CheckpointSet, name: str, change: Change) -> bool:
    manifest = Manifest(session.host.fs, checkpoint_set, pid=session.host.pid)
    try:
        return change(manifest, name)
    except OSError as error:
        raise from_os_error(error, f"Writing the pin of {visible(name)} on the {checkpoint_set.role}") from error
