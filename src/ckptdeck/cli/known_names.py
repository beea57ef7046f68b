"""The names a command was given have to be there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckptdeck.core.errors import UsageError, VolumeSuspect
from ckptdeck.core.safe_text import visible

if TYPE_CHECKING:
    from ckptdeck.core.survey import Survey


def require_known(survey: Survey, names: tuple[str, ...]) -> None:
    """Raises UsageError for a name neither side has."""
    known = {checkpoint.name for side in survey.sides for checkpoint in side.checkpoints}
    known |= {flight.name for side in survey.sides for flight in side.inventory.in_flight}
    unknown = [name for name in names if name not in known]
    if not unknown:
        return
    readable = all(side.inventory.condition.readable for side in survey.sides)
    if not readable:
        raise VolumeSuspect(
            f"{visible(unknown[0])} was not found, and not every side can be read",
            next_step="Mount the missing side, then run the command again",
        )
    roots = " or ".join(visible(side.inventory.root) for side in survey.sides)
    raise UsageError(
        f"There is no checkpoint called {visible(unknown[0])} in {roots}",
        next_step="`ckptdeck status` lists the names",
    )
