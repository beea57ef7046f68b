"""`ckptdeck audit PATH...`: what is printed, the document, the exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

import ckptdeck
from ckptdeck.core.errors import Cancelled
from ckptdeck.core.progress import CancelToken
from tests.cli.deck import Deck

LAUNCHER = """\
import os, shutil

FLOOR = 50 * 1024 * 1024

def mirror(src, mirror_dir):
    shutil.copy2(src, mirror_dir)

def find_resume(paths):
    for p in paths:  # step_0810.pt and so on
        if os.path.getsize(p) > FLOOR:
            return p
"""


@pytest.fixture
def tree(deck: Deck) -> Path:
    root = deck.base / "src"
    root.mkdir()
    (root / "launch.py").write_text(LAUNCHER)
    (root / "clean.py").write_text("x = 1\n")
    return root


def test_findings_exit_1_and_are_told_with_place_consequence_and_cure(deck: Deck, tree: Path) -> None:
    ran = deck.run("audit", tree)
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        f"{tree}/launch.py:6: copy-to-final (high): `shutil.copy2` copies straight to `mirror_dir`",
        f"{tree}/launch.py:10: size-floor (high): `os.path.getsize(p) > FLOOR` decides whether a file is good",
    ]
    assert sum(line.startswith("    can happen: ") for line in lines) == 2
    assert sum(line.startswith("    instead: ") for line in lines) == 2
    assert ran.err == "2 findings in 2 sources\n"


def test_no_findings_exit_0(deck: Deck, tree: Path) -> None:
    ran = deck.run("audit", tree / "clean.py")
    assert (ran.code, ran.out, ran.err) == (0, "", "0 findings in 1 source\n")
    assert deck.run("audit", tree / "clean.py", "--quiet").err == ""


def test_the_document(deck: Deck, tree: Path) -> None:
    (tree / "done.py").write_text("import torch\ntorch.save(ckpt, p)  # ckptdeck: ok (a scratch run)\n")
    (tree / "broken.py").write_bytes(b"def f(:\n")
    (tree / "test_x.py").write_text(LAUNCHER)
    ran = deck.run("audit", tree, "--json", "--quiet")
    document = ran.document
    assert (document["schema"], document["exit_code"], ran.code) == ("ckptdeck.audit/1", 1, 1)
    assert (document["files"], document["tests_left_out"]) == (4, 1)
    first = document["findings"][0]
    assert (first["path"], first["line"], first["column"]) == (f"{tree}/launch.py", 6, 5)
    assert (first["rule"], first["severity"]) == ("copy-to-final", "high")
    assert first["what"]
    assert first["can_happen"]
    assert "ckptdeck.publish_file(src, directory, name)" in first["instead"]
    assert document["silenced"] == [
        {"path": f"{tree}/done.py", "line": 2, "rule": "save-to-final", "reason": "a scratch run"}
    ]
    (note,) = document["notes"]
    assert note["path"] == f"{tree}/broken.py"
    assert "not Python that this interpreter reads" in note["text"]


def test_what_cannot_be_read_is_a_warning_and_no_finding(deck: Deck, tree: Path) -> None:
    (tree / "launch.py").write_bytes(b"x = 1\0")
    ran = deck.run("audit", tree)
    assert ran.code == 0
    assert f"warning: {tree}/launch.py: not Python" in ran.err


@pytest.mark.parametrize("words", [(), ("nowhere.py",), ("nowhere/",)])
def test_usage(deck: Deck, words: tuple[str, ...]) -> None:
    ran = deck.run("audit", *words)
    assert ran.code == 2
    assert "Traceback" not in ran.err


def test_it_ends_when_asked_to(deck: Deck, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(_token: CancelToken) -> None:
        raise Cancelled("Cancelled")

    monkeypatch.setattr(CancelToken, "check", check)
    assert deck.run("audit", tree).code == 130


def test_names_are_shown_harmlessly(deck: Deck) -> None:
    path = deck.base / "a\x1b[31m.py"
    path.write_text("import torch\ntorch.save(ckpt, 'a\u202e.pt')\n", encoding="utf-8")
    ran = deck.run("audit", path)
    assert ran.code == 1
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out


def test_the_product_s_own_sources_are_clean(deck: Deck) -> None:
    ran = deck.run("audit", Path(ckptdeck.__file__).parent, "--json")
    assert ran.document["findings"] == []
    assert [silenced["reason"] for silenced in ran.document["silenced"]] == [
        "this is the trainer that does it wrong, for the console to show"
    ]
