"""The scenes show what they say: every word is judged by the real code to be that word."""

from __future__ import annotations

import pytest

from ckptdeck.core.states import NOT_THERE, Role, State
from tests.core.plans.scenes import name_of, pair, seen

WORDS = [state for state in State if state not in NOT_THERE - {State.MISSING} and state is not State.INCOMPLETE]


@pytest.mark.parametrize("state", WORDS)
def test_a_word_is_judged_to_be_itself(state: State) -> None:
    survey = pair([seen(810, state)])
    found = survey.primary.find(name_of(810))
    assert found is not None
    assert found.state is state


@pytest.mark.parametrize("state", [State.VERIFIED, State.TRUNCATED, State.CORRUPT, State.SUSPECT, State.MISSING])
def test_words_mean_the_same_on_the_mirror(state: State) -> None:
    survey = pair([], [seen(810, state)])
    assert survey.mirror is not None
    found = survey.mirror.find(name_of(810))
    assert found is not None
    assert (found.state, survey.mirror.role) == (state, Role.MIRROR)
