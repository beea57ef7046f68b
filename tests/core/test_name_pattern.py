"""A pattern asks only names that could match, and misses none."""

from __future__ import annotations

import re

import pytest

from ckptdeck.core import naming
from ckptdeck.core.name_pattern import FLAGS, NamePattern

_ALL = [
    *(value for value in vars(naming).values() if isinstance(value, NamePattern)),
    *naming._UNFINISHED_SELF.values(),
    *naming._UNFINISHED_OF,
    *naming._FILE_FAMILIES.values(),
    *naming._DIRECTORY_FAMILIES.values(),
]
_OPTIONAL = re.compile(r"\((?:[^()]|\([^()]*\))*\)[?*]|\[[^]]*\][?*]|\(\?:[^()]*\|[^()]*\)")


@pytest.mark.parametrize("pattern", _ALL, ids=lambda pattern: pattern.text)
def test_what_a_pattern_needs_is_in_every_name_it_matches(pattern: NamePattern) -> None:
    certain = _OPTIONAL.sub("\0", pattern.text)  # what may be left out, or be one of several, breaks what it is in
    assert pattern.needs in re.sub(r"\\(.)|[()]", r"\1", certain)


def test_matches_whole_names_only() -> None:
    pattern = NamePattern(r"step_([0-9]+)", needs="step_")
    found = pattern.fullmatch("step_12")
    assert found is not None
    assert found[1] == "12"
    assert pattern.fullmatch("a step_12") is None
    assert pattern.fullmatch("step-12") is None
    assert re.fullmatch(pattern.text, "step_12\n", FLAGS) is None
