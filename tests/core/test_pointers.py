"""What is pointed at is the same in whatever order names come: a look at a few names lists none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.pointers import TRAINER_STATE, find_best, read_pointers
from ckptdeck.core.sighting import Identity, Member, Sighting
from ckptdeck.core.states import Kind

STEPS: dict[str, int | None] = {"step_0001.pt": 1, "step_0002.pt": 2}


def test_the_last_by_name_of_several_links_to_one_checkpoint_is_said_to_point_to_it(tmp_path: Path) -> None:
    links = {"newest.pt": "step_0001.pt", "best.pt": str(tmp_path / "step_0001.pt")}
    for order in (links, dict(reversed(links.items()))):
        _, pointed_at, _ = read_pointers(FileSystem(), str(tmp_path), (), order, STEPS)
        assert pointed_at == {"step_0001.pt": "newest.pt"}


def test_the_names_of_a_bare_step_come_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "latest").write_text("1")
    steps: dict[str, int | None] = {"model_1.pt": 1, "last.pt": None, "step_0001.pt": 1}
    for order in (steps, dict(reversed(steps.items()))):
        pointers, _, _ = read_pointers(FileSystem(), str(tmp_path), ("latest",), {}, order)
        assert [pointer.targets for pointer in pointers] == [("model_1.pt", "step_0001.pt")]


def test_of_two_states_of_one_step_the_last_by_name_says_what_is_best(tmp_path: Path) -> None:
    for name in ("checkpoint-500", "step-500"):
        (tmp_path / name).mkdir()
        (tmp_path / name / TRAINER_STATE).write_text(f'{{"best_model_checkpoint": "out/{name}"}}')
    state = Member(TRAINER_STATE, 10, 10**18, 10**18, 7, 11, 0o644, 1, 8)
    one = Sighting("checkpoint-500", 500, Kind.DIRECTORY, "transformers", identity=Identity((state,)))
    other = replace(one, name="step-500")
    for order in ((one, other), (other, one)):
        best = find_best(FileSystem(), str(tmp_path), order, None)
        assert best is not None
        assert (best.source, best.target) == ("step-500", "step-500")
