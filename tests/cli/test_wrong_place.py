"""A mirror or a primary that is not there, or is another one: whatever is asked for, nothing is written to that place.

The scene gives every command something to do, so that only the guard is in its way.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ckptdeck.core.states import Role
from ckptdeck.monitor.core_calls import PLANNERS
from tests.cli.deck import OLD, Deck, cut, data_of
from tests.crash.invariants import fingerprint

STEPS = tuple(f"step_{step:04d}.pt" for step in (100, 200, 300, 350, 400))
Place = Callable[[Deck, Path], None]


# --- what stands where the set should be; the true one is moved to the path given


def nothing(_deck: Deck, _place: Path) -> None:
    """The directory itself is gone."""


def empty_mount_point(_deck: Deck, place: Path) -> None:
    place.mkdir()


def somebody_s_files(_deck: Deck, place: Path) -> None:
    place.mkdir()
    for name in STEPS:
        (place / name).write_bytes(data_of(f"theirs {name}"))


def mirror_of_another_pair(deck: Deck, place: Path) -> None:
    """Of another run, with the same names in it."""
    other = another_pair(deck)
    (deck.base / "other" / "mirror").rename(place)
    assert other.run("status", other.primary).code != 1


def primary_of_another_run(deck: Deck, place: Path) -> None:
    other = another_pair(deck, "--inside")
    other.primary.rename(place)


def a_text_file(_deck: Deck, place: Path) -> None:
    place.write_text("no directory")


def two_controls(deck: Deck, place: Path) -> None:
    """The right one, and a second control directory beside it."""
    shutil.copytree(deck.base / "away", place)
    shutil.copytree(place / ".ckptdeck", place.parent / f".{place.name}.ckptdeck")


def damaged(deck: Deck, place: Path) -> None:
    shutil.copytree(deck.base / "away", place)
    (place / ".ckptdeck" / "set.json").write_text('{"schema": "ckptdeck.set/1"')


PLACES = (
    nothing,
    empty_mount_point,
    somebody_s_files,
    mirror_of_another_pair,
    primary_of_another_run,
    a_text_file,
    two_controls,
    damaged,
)


def another_pair(deck: Deck, *options: str) -> Deck:
    other = Deck(deck.base / "other", deck.capsys)
    other.primary.mkdir(parents=True)
    other.mirror.mkdir()
    assert other.run("init", other.primary, other.mirror, *options).code == 0
    for name in STEPS:
        other.put(name, data_of(f"other {name}"))
    assert other.run("adopt", other.primary, "--yes").code == 0
    assert other.run("mirror", other.primary, "--yes").code == 0
    return other


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("adopt",),
    ("adopt", "--side", "primary", "step_0500.pt"),
    ("mirror",),
    ("mirror", "--all"),
    ("mirror", "--replace", "step_0350.pt"),
    ("repair",),
    ("restore", "step_0050.pt"),
    ("restore", "--newest", "6"),
    ("restore", "--from-quarantine", "ID"),
    ("prune", "--keep-last", "1", "--confirm-count", "7"),
    ("quarantine",),
    ("quarantine", "--side", "primary", "step_0100.pt"),
    ("quarantine", "--side", "mirror", "step_0100.pt"),
    ("purge",),
    ("recover",),
    ("rollback", "300"),
    ("mark-bad", "step_0300.pt"),
    ("unmark-bad", "step_0200.pt"),
    ("pin", "step_0300.pt"),
)
"""Every action of PLANNERS that is a command, and pin, which writes to both sides too."""


UNASKED = frozenset({"pin", "mark-bad", "unmark-bad"})


@pytest.fixture
def deck(capsys: pytest.CaptureFixture[str]) -> Iterator[Deck]:
    """In memory where it can be: there are many commands, and each syncs what it does."""
    memory = Path("/dev/shm")
    top = Path(tempfile.mkdtemp(prefix="ckptdeck-", dir=memory if memory.is_dir() else None))
    made = Deck(top / "data", capsys)
    made.primary.mkdir(parents=True)
    made.mirror.mkdir()
    yield made
    shutil.rmtree(top)


@pytest.fixture
def scene(request: pytest.FixtureRequest, deck: Deck) -> Deck:
    """Something to do for every command; the primary's control directory lies beside it, or in it if asked for."""
    options = ("--inside",) if getattr(request, "param", "") == "inside" else ()
    assert deck.run("init", deck.primary, deck.mirror, *options).code == 0
    for name in (*STEPS, "step_0050.pt"):
        deck.put(name, data_of(name))
    for command in (
        ("adopt", deck.primary, "--yes"),
        ("mirror", deck.primary, "--yes"),
        ("quarantine", deck.primary, "--side", "primary", "step_0050.pt", "--yes"),
        ("mark-bad", deck.primary, "step_0200.pt"),
    ):
        assert deck.run(*command).code == 0
    deck.put("step_0350.pt", data_of("saved again", 21_000), age=OLD / 2)
    assert deck.run("adopt", deck.primary, "--replace", "step_0350.pt", "--yes").code == 0
    cut(deck.primary / "step_0100.pt", 400)
    deck.put("step_0500.pt", data_of("step_0500.pt"))
    control = deck.primary / ".ckptdeck" if options else deck.control
    record = control / "manifest" / "step_0400.pt.json"
    record.with_name("step_0400.pt.json.next").write_bytes(record.read_bytes())
    return deck


def words_of(deck: Deck, command: tuple[str, ...]) -> list[str | Path]:
    (note,) = (*deck.primary.parent.glob("**/quarantine/*.json"),)
    words: list[str | Path] = [word if word != "ID" else note.stem for word in command]
    if command[0] not in UNASKED:
        words.append("--yes")
    return [words[0], "--primary", deck.primary, "--mirror", deck.mirror, *words[1:]]


def test_every_action_is_among_the_commands() -> None:
    """`start` is the console's alone; it is what `init`, `adopt` and `mirror` are together."""
    assert {command[0] for command in COMMANDS} - {"pin"} == PLANNERS.keys() - {"start", "mend"}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_scene_gives_every_command_something_to_do(scene: Deck, command: tuple[str, ...]) -> None:
    words = words_of(scene, command)
    before = fingerprint(scene.base)
    scene.run(*words)
    assert fingerprint(scene.base) != before


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
@pytest.mark.parametrize(
    ("scene", "role"),
    [("beside", Role.MIRROR), ("inside", Role.PRIMARY)],
    indirect=["scene"],
)
def test_every_command_refuses_and_writes_nothing(scene: Deck, place: Place, role: Role) -> None:
    """A primary whose control directory lies beside it is on the device of its parent: it is never a mount point."""
    commands = [(command, words_of(scene, command)) for command in COMMANDS]
    root = scene.primary if role is Role.PRIMARY else scene.mirror
    root.rename(scene.base / "away")
    place(scene, root)
    before = fingerprint(scene.base)
    for command, words in commands:
        ran = scene.run(*words)
        assert ran.code in ((2, 4, 7) if place is a_text_file else (4, 7)), f"{command}: {ran}"
        assert ran.err, command
        assert fingerprint(scene.base) == before, f"{command} wrote something: {ran}"
