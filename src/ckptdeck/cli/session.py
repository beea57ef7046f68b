"""What one command works with: the machine, the two sets, their policy, and where to talk."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ckptdeck.cli.arguments import Selection, is_directory_word, select
from ckptdeck.cli.hang_notice import notice_hangs
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.progress_bar import ProgressBar
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.checkpoint_set import CheckpointSet, Pair, find_pair, from_condition
from ckptdeck.core.errors import Refused
from ckptdeck.core.host import Host
from ckptdeck.core.policy import Policy
from ckptdeck.core.progress import Effort
from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.core.states import Condition
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.command_line import directory_word
from ckptdeck.monitor.host import this_host
from ckptdeck.monitor.policy_file import PolicyInForce, read_policy

if TYPE_CHECKING:
    from ckptdeck.core.survey import Survey

_HANGS = (
    "{} does not answer; waiting for it. Its mount or its disk hangs: `ckptdeck` on the other side alone still works"
)


@dataclass(frozen=True, slots=True)
class Session:
    """One command on one pair."""

    terminal: Terminal
    interruption: Interruption
    host: Host
    selection: Selection
    pair: Pair
    policy_in_force: PolicyInForce

    @property
    def policy(self) -> Policy:
        return self.policy_in_force.policy

    @property
    def names(self) -> tuple[str, ...]:
        return self.selection.names

    def look(self) -> Survey:
        """Both sides as they are now."""
        from ckptdeck.core.survey import take_survey

        return take_survey(self.host, self.pair, self.policy)

    def look_settled(self) -> Survey:
        """Both sides; where something is young enough to be moving, looked at twice, a second apart."""
        from ckptdeck.core.survey import take_settled_survey

        return take_settled_survey(self.host, self.pair, self.policy)

    def spare_the_next(self, survey: Survey) -> None:
        """Called once the answer is out, by commands that look and may write: the next look opens fewer files."""
        from ckptdeck.core.reading_index import spare_the_next

        for side in survey.sides:
            spare_the_next(self.host, self.pair.on(side.role), side.inventory)

    @contextlib.contextmanager
    def working(self, bytes_per_second: float | None = None) -> Iterator[tuple[Effort, ProgressBar]]:
        """Long work: it lets everybody else go first, progress is shown, and the first Ctrl-C asks it to stop at a safe
        point.
        """
        import logging

        from ckptdeck.cli.warnings_above import WarningsAbove
        from ckptdeck.monitor.priority import lowered_priority

        bar = ProgressBar(self.terminal, self.host.clock)
        rate = bytes_per_second if bytes_per_second is not None else self.policy.rate
        handler = WarningsAbove(bar, self.terminal)
        logger = logging.getLogger("ckptdeck")
        logger.addHandler(handler)
        try:
            with lowered_priority(), self.interruption.working() as token:
                yield Effort(report=bar, cancel=token, bytes_per_second=rate), bar
        finally:
            logger.removeHandler(handler)
            bar.clear()

    def directories(self) -> str:
        """The two sides as words of a command line."""
        return _directories(self.pair)


def open_session(
    arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption, host: Host | None = None
) -> Session:
    """Finds the sets a command is about and the policy in force. What is wrong with a side is its condition."""
    host = this_host() if host is None else host
    given = [
        word for word in (*arguments.words, arguments.primary, arguments.mirror) if word and is_directory_word(word)
    ]
    notice_hangs(given, lambda directory: terminal.warn(_HANGS.format(visible(directory))), interruption.over)
    selection = select(arguments, host.fs, os.environ)
    pair = find_pair(host.fs, selection.primary, selection.mirror)
    return Session(terminal, interruption, host, selection, pair, read_policy(host.fs, _control(pair.primary)))


def require_changeable(pair: Pair, command: str) -> None:
    """Raises unless both sides are sets that may be changed: initialised, mounted, and the ones expected."""
    for checkpoint_set in pair.sets:
        require_initialised(checkpoint_set, pair, command)
        if checkpoint_set.condition is not Condition.OK:
            raise from_condition(checkpoint_set, "Nothing was changed on either side")


def require_initialised(checkpoint_set: CheckpointSet, pair: Pair, command: str) -> None:
    """Raises when there is no control directory; what else may be wrong with the side is not asked."""
    if checkpoint_set.condition is Condition.UNINITIALISED:
        raise Refused(
            f"The {checkpoint_set.role} {visible(checkpoint_set.root)} has no control directory",
            guard="uninitialised",
            why=f"`ckptdeck {command}` keeps its records there; look-only commands and --dry-run work without",
            next_step=f"Run `ckptdeck init {_directories(pair)}` once",
        )


def _directories(pair: Pair) -> str:
    return " ".join(shell_word(directory_word(checkpoint_set.root)) for checkpoint_set in pair.sets)


def _control(primary: CheckpointSet) -> str | None:
    return primary.control if primary.condition is Condition.OK else None
