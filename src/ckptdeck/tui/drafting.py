"""From a wish to a plan that can be reviewed: thought over beside the loop, dropped when nobody wants it any more."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from ckptdeck.core.plans.plan import Plan
from ckptdeck.core.survey import Survey
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.desk import FIRST
from ckptdeck.monitor.snapshot import Engine


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for, in the moment the key was pressed. `plan` is the planner's name."""

    plan: str
    label: str
    names: tuple[str, ...]
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan with all that its review shows."""

    plan: Plan
    digest: str
    command: str
    survey: Survey | None


class Drafting:
    """At most one wish at a time; a new one takes the place of the one before."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.wish: Wish | None = None
        """What is being planned at this moment."""

    async def draft(self, wish: Wish) -> Draft | None:
        """The draft; None when it was given up meanwhile. Raises CkptdeckError when there is no such plan."""
        self.wish = wish
        try:
            draft = await asyncio.wrap_future(self._engine.ask(FIRST, lambda: self._write(wish)))
            return draft if self.wish is wish else None
        except asyncio.CancelledError:
            if self.wish is wish:
                raise  # the console ends
            return None  # another wish took its place
        finally:
            if self.wish is wish:
                self.wish = None

    def give_up(self) -> bool:
        """Whatever comes of the wish is dropped; False when there was none."""
        given_up, self.wish = self.wish is not None, None
        return given_up

    def _write(self, wish: Wish) -> Draft:
        survey = self._engine.snapshot().survey
        plan = self._engine.plan(wish.plan, wish.names, **wish.options)
        return Draft(plan, plan.digest, self._engine.command_line(plan), survey)
