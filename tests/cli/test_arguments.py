"""Which words are directories, which are names, and which set is meant when none is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.deck import Deck


def test_words_with_a_slash_are_directories_and_the_others_names(deck: Deck) -> None:
    deck.mirrored("step_1.pt", "step_2.pt")
    document = deck.run("verify", "step_2.pt", deck.primary, deck.mirror, "step_1.pt", "--json").document
    assert [(one["name"], one["side"]) for one in document["results"]] == [
        ("step_2.pt", "primary"),
        ("step_2.pt", "mirror"),
        ("step_1.pt", "primary"),
        ("step_1.pt", "mirror"),
    ]


def test_options_may_stand_between_names(deck: Deck) -> None:
    deck.recorded("step_1.pt", "step_2.pt")
    ran = deck.run("verify", "step_1.pt", "--rate", "1GB/s", deck.primary, "--json", "step_2.pt")
    assert {one["name"] for one in ran.document["results"]} == {"step_1.pt", "step_2.pt"}


def test_a_name_that_begins_with_a_dash_follows_two_dashes(deck: Deck) -> None:
    deck.recorded("-step_7.pt")
    ran = deck.run("verify", deck.primary, "--json", "--", "-step_7.pt")
    assert [one["state"] for one in ran.document["results"]] == ["verified"]


def test_the_sides_may_be_said_explicitly(deck: Deck) -> None:
    document = deck.run("status", "--mirror", deck.mirror, "--primary", deck.primary, "--json").document
    assert document["sides"]["primary"]["path"] == str(deck.primary)
    assert document["sides"]["mirror"]["path"] == str(deck.mirror)


def test_an_explicit_primary_leaves_the_first_place_to_the_mirror(deck: Deck) -> None:
    document = deck.run("status", "--primary", deck.primary, deck.mirror, "--json").document
    assert document["sides"]["mirror"]["path"] == str(deck.mirror)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("status", "/a/", "/b/", "/c/"), "3 directories"),
        (("status", "/a/", "/b/", "--primary", "/c/"), "primary is given twice"),
        (("status", "/a/", "/b/", "--mirror", "/c/"), "mirror is given twice"),
        (("status", "/a/", "step_1.pt"), "takes no names"),
        (("status",), "No checkpoint set was named"),
        (("init",), "needs the directory"),
        (("init", "ckpt"), "needs the directory"),
        (("pin", "/a/"), "No checkpoint was named"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(deck: Deck, words: tuple[str, ...], says: str) -> None:
    ran = deck.run(*words)
    assert ran.code == 2
    assert says in ran.err
    assert ran.out == ""


def test_a_checkpoint_given_as_directory_is_refused_with_the_right_spelling(deck: Deck) -> None:
    deck.init()
    path = deck.put("step_0810.pt", b"x" * 100)
    ran = deck.run("verify", path)
    assert ran.code == 2
    assert f"`ckptdeck verify {deck.primary} step_0810.pt`" in ran.err
    assert f"`ckptdeck status {deck.primary}`" in deck.run("status", path).err


def test_so_is_a_directory_that_is_a_checkpoint_of_a_set(deck: Deck) -> None:
    deck.init()
    (deck.primary / "checkpoint-500").mkdir()
    ran = deck.run("verify", deck.primary / "checkpoint-500")
    assert ran.code == 2
    assert f"`ckptdeck verify {deck.primary} checkpoint-500`" in ran.err


def test_a_directory_named_like_a_checkpoint_in_no_set_is_a_set(deck: Deck) -> None:
    lonely = deck.base / "checkpoint-500"
    lonely.mkdir()
    assert deck.run("status", lonely).code == 0


def test_a_bare_name_of_a_directory_is_explained(deck: Deck, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(deck.base)
    ran = deck.run("ckpt")
    assert ran.code == 2
    assert "`ckptdeck ./ckpt`" in ran.err


def test_without_a_primary_the_current_directory_is_meant_if_it_is_a_set(
    deck: Deck, monkeypatch: pytest.MonkeyPatch
) -> None:
    deck.init()
    monkeypatch.chdir(deck.primary)
    assert deck.run("status", "--json").document["sides"]["primary"]["path"] == str(deck.primary)


def test_the_user_s_file_names_the_primary_and_the_pairing_its_mirror(
    deck: Deck, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deck.init()
    file = tmp_path / "mine.toml"
    file.write_text('primary = "data/ckpt"\n')
    monkeypatch.setenv("CKPTDECK_CONFIG", str(file))
    document = deck.run("status", "--json").document
    assert document["sides"]["primary"]["path"] == str(deck.primary)
    assert document["sides"]["mirror"]["path"] == str(deck.mirror)


def test_a_primary_on_the_command_line_never_takes_another_s_mirror(
    deck: Deck, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deck.init()
    file = tmp_path / "mine.toml"
    file.write_text(f'primary = "{deck.primary}"\n')
    monkeypatch.setenv("CKPTDECK_CONFIG", str(file))
    other = deck.base / "other"
    other.mkdir()
    assert deck.run("status", other, "--json").document["sides"]["mirror"] is None


def test_a_config_file_that_is_not_there_is_an_error(deck: Deck) -> None:
    ran = deck.run("status", "--config", "/nowhere/x.toml")
    assert ran.code == 2
    assert "/nowhere/x.toml" in ran.err


def test_names_nobody_has_are_a_usage_error(deck: Deck) -> None:
    deck.recorded("step_1.pt")
    for command in ("verify", "mirror", "adopt", "repair", "pin"):
        ran = deck.run(command, deck.primary, "step_2.pt")
        assert ran.code == 2, command
        assert "step_2.pt" in ran.err
