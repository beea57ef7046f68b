"""How what a library saved stands, once it is old enough to be judged."""

from __future__ import annotations

from ckptdeck.core.checkpoint_set import find_pair
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.states import State
from ckptdeck.core.survey import take_survey
from tests.cli.deck import Deck
from tests.crash.sandbox import machine


def states(deck: Deck) -> dict[str, State]:
    """Of the primary's checkpoints, an hour from now; what is gone has been gone for two looks."""
    pair = find_pair(FileSystem(), str(deck.primary), str(deck.mirror))
    survey = take_survey(machine(FileSystem()), pair, DEFAULT_POLICY)
    survey = take_survey(machine(FileSystem()), pair, DEFAULT_POLICY, survey)
    return {one.name: one.state for one in survey.primary.checkpoints}
