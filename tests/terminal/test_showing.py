"""Every size, no colour, old terminals, and names that want to do harm."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from tests.terminal.run import Run, torch_bytes
from tests.terminal.screen import CKPTDECK, Screen

Open = Callable[..., Screen]
COLOUR = re.compile(r"\x1b\[[0-9;:]*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[0-9;:]*m")


def test_it_is_readable_at_every_size_and_back(run: Run, open_screen: Open) -> None:
    run.save_directly(50)
    screen = open_screen(*CKPTDECK, *run.directories)
    screen.wait_for("structure-ok")
    for columns, rows in ((40, 12), (30, 8), (160, 45), (80, 24)):
        screen.resize(columns, rows)
        screen.wait_for(filling(rows))
        screen.type("A")
        screen.answer(
            lambda text: "Cancel" in text and "Do it" in text,
            "n",
            lambda text: "Cancel" not in text and "RESUME" in text,
        )
    assert not run.on_mirror()


def filling(rows: int) -> Callable[[str], bool]:
    return lambda text: fills(text, rows) and "adopt" in text


def fills(text: str, rows: int) -> bool:
    """The first line says who, one of the next two where to resume, the last one which keys there are."""
    lines = text.splitlines()
    return len(lines) == rows and "LOCKED" in lines[0] and "RESUME" in "".join(lines[1:3]) and "q Quit" in lines[-1]


def test_no_colour_means_no_colour_and_the_cursor_is_still_seen(run: Run, open_screen: Open) -> None:
    run.save_directly(50)
    screen = open_screen(*CKPTDECK, *run.directories, NO_COLOR="1")
    screen.wait_for("structure-ok")
    styled = screen.text("-e")
    assert not COLOUR.search(styled), COLOUR.search(styled)
    assert "\x1b[7m" in styled


def test_colour_is_there_otherwise(run: Run, open_screen: Open) -> None:
    run.save_directly(50)
    screen = open_screen(*CKPTDECK, *run.directories)
    screen.wait_for("structure-ok")
    assert COLOUR.search(screen.text("-e"))


def test_an_old_terminal_will_do(run: Run, open_screen: Open) -> None:
    run.save_directly(50)
    screen = open_screen(*CKPTDECK, *run.directories, TERM="screen")
    screen.wait_for("structure-ok")
    screen.type("q")
    assert screen.ended() == 0


def test_hostile_names_are_shown_and_do_nothing(run: Run, open_screen: Open) -> None:
    names = [
        "a\x1b]0;owned\x07_1.pt",
        "b\x1b[2J\x1b[31m_2.pt",
        "[bold]c[_3.pt",
        "d\nnewline_4.pt",
        os.fsdecode(b"e\xff\xfe_5.pt"),
        "f\u202egnp_6.pt",
        "[link=x]g_7.pt",
    ]
    for number, name in enumerate(names, 1):
        path = run.primary / name
        path.write_bytes(torch_bytes(number, 50_000))
        run.age(path, (1_700_000_000 + number) * 10**9)
    screen = open_screen(*CKPTDECK, *run.directories, columns=100, rows=30)
    before = screen.title()
    seen = screen.wait_for(lambda text: all(f" {step} " in text or f"_{step}.pt" in text for step in range(1, 8)))
    screen.type("A")
    review = screen.wait_for(lambda text: "Do it" in text and "_1.pt" in text)
    assert fills(seen, 30)
    assert "\\e[2J\\e[31m" in review
    assert "[bold]c[_3.pt" in review
    screen.leave_review("Enter")
    assert screen.title() == before != "owned"
    screen.type("q")
    assert screen.ended() == 0
