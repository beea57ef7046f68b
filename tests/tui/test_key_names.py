"""What may be written for a key, and that Textual means the same by it."""

from __future__ import annotations

from string import punctuation

import pytest
from textual.binding import Binding
from textual.keys import Keys

from ckptdeck.tui.actions import REGISTRY
from ckptdeck.tui.key_names import NAMED, key_name, shown_key, types_text


@pytest.mark.parametrize("character", [*punctuation.replace(",", ""), *"aZ0öЖß"])
def test_a_character_is_named_as_textual_names_it(character: str) -> None:
    (binding,) = Binding.make_bindings([Binding(character, "nothing")])
    assert key_name(character) == binding.key
    assert key_name(binding.key) == binding.key
    assert types_text(binding.key)


def test_the_comma_goes_by_its_name() -> None:
    assert key_name(",") == key_name("comma") == "comma"
    assert shown_key("comma") == ","


def test_every_name_is_one_that_textual_reports() -> None:
    with_alt = {name for name in NAMED if name.startswith("alt+")}
    assert {key.value for key in Keys} >= NAMED - with_alt
    assert not any(types_text(name) for name in NAMED - {"space"})


def test_the_keys_the_console_comes_with_may_be_written_in_a_file() -> None:
    for action in REGISTRY:
        assert tuple(map(key_name, action.keys)) == action.keys


@pytest.mark.parametrize(
    ("written", "name", "shown"),
    [("esc", "escape", "esc"), ("PgDn", "pagedown", "pgdn"), ("Ctrl+T", "ctrl+t", "ctrl+t"),
     ("?", "question_mark", "?"), ("shift+del", "shift+delete", "shift+delete"), ("plus", "plus", "+")],
)  # fmt: skip
def test_names_as_people_write_them(written: str, name: str, shown: str) -> None:
    assert key_name(written) == name
    assert shown_key(name) == shown


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("ctrl+c", "cannot be bound"),
        ("tab", "moves the focus"),
        ("ctrl+i", "the same for tab"),
        ("shift+m", "write M"),
        ("hyper+m", "Allowed: a letter"),
        ("§", "no key that every terminal has"),
        (" ", "no key that every terminal has"),
        ("mm", "no key that every terminal has"),
        ("\x1b", r"no key that every terminal has"),
        ("", "no key that every terminal has"),
    ],
)
def test_what_no_terminal_sends_is_refused_with_what_is_allowed(written: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        key_name(written)
