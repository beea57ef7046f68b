"""Follows both sides without a screen, for days: one line per event on stdout, and `notify` of the policy on trouble.

By itself it changes nothing. --auto-mirror copies what the retention keeps as soon as it holds still, --auto-prune
deletes what it does not keep once the newest step is whole on both sides. A prune of more than half of a side is never
run; its command line is printed. A lost mount, a full disk or a held lock is said, waited for, and no end.

TERM, INT and HUP end it at a safe point: exit code 0, or 130 when a copy or a prune was cut short; the next start goes
on with it. --json prints one object per line.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import Session, open_session, require_initialised
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.errors import UsageError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.policy import Policy
from ckptdeck.core.record_format import iso
from ckptdeck.core.safe_text import json_name
from ckptdeck.core.states import Condition
from ckptdeck.monitor.watch_event import Event


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument("--auto-mirror", action="store_true", help="copy what the retention keeps to the mirror")
    parser.add_argument("--auto-prune", action="store_true", help="delete what the retention does not keep, guarded")


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    session = open_session(arguments, terminal, interruption)
    if arguments.auto_mirror:
        _require_mirror(session)
    if arguments.auto_mirror or arguments.auto_prune:
        for checkpoint_set in session.pair.sets:
            require_initialised(checkpoint_set, session.pair, arguments.command)

    from ckptdeck.monitor.core_calls import core_calls
    from ckptdeck.monitor.engine import LiveEngine
    from ckptdeck.monitor.notify import Notifier
    from ckptdeck.monitor.watch import Watch
    from ckptdeck.monitor.watch_work import Duties

    host, pair = session.host, session.pair
    core = replace(core_calls(), read_policy=_policy_reader(terminal))
    engine = LiveEngine(host, pair.primary.root, None if pair.mirror is None else pair.mirror.root, core=core)
    with session.working() as (_, bar):

        def tell(event: Event) -> None:
            bar.clear()
            terminal.keep_saying(json_line(event) if terminal.as_json else event_line(event))

        duties = Duties(mirror=arguments.auto_mirror, prune=arguments.auto_prune)
        watch = Watch(engine, host.clock, duties, Notifier(host.clock, pair.primary.root, os.environ), tell)
        return watch.run(interruption.token, bar)


def event_line(event: Event) -> str:
    """`2026-11-30T04:05:06Z mirror  step_0810.pt: copied and proven  $ ckptdeck mirror ...`, always one line."""
    side = "-" if event.side is None else event.side.value
    text = " ".join(event.text.split())
    if event.what.value in _LOUD:
        text = f"{event.what.value.upper()} {text}"
    command = f"  $ {event.command}" if event.command else ""
    return f"{_seconds(event.at)} {side:7} {text}{command}"


def json_line(event: Event) -> str:
    import json

    return json.dumps(event_object(event))


def event_object(event: Event) -> dict[str, Any]:
    return {
        "schema": "ckptdeck.event/1",
        "at": iso(event.at),
        "event": event.what.value,
        "side": None if event.side is None else event.side.value,
        **({"name": None} if event.name is None else json_name(event.name)),
        "text": event.text,
        "command": event.command or None,
    }


_LOUD = frozenset({"trouble", "failed", "held", "skipped", "cancelled"})


def _seconds(at: float) -> str:
    return iso(at).partition(".")[0] + "Z"


def _require_mirror(session: Session) -> None:
    if session.pair.mirror is not None or session.pair.primary.condition not in (Condition.OK, Condition.UNINITIALISED):
        return  # a primary that is not there now may name its mirror later
    raise UsageError(
        "There is no mirror to copy to",
        why="Only one directory was given, and the primary is paired with none",
        next_step=f"Give a second directory, or pair one: `ckptdeck init {session.directories()} MIRROR`",
    )


def _policy_reader(terminal: Terminal) -> Callable[[FileSystem, str | None], Policy]:
    """Reads the policy at each look; a complaint about its owner is said once."""
    from ckptdeck.monitor.policy_file import read_policy_to_obey

    said: set[str] = set()

    def complain(text: str) -> None:
        if text not in said:
            said.add(text)
            terminal.warn(text)

    return lambda fs, control: read_policy_to_obey(fs, control, complain)
