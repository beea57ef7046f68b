"""What a tree says as a whole: markers and notes, JSON, links, left-over files, and how much is read of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptdeck.core.errors import Cancelled
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.probes import tree as tree_module
from ckptdeck.core.probes.directory import probe_tree
from ckptdeck.core.probes.tree import LostInTree, Tree
from ckptdeck.core.progress import CancelToken, Effort
from ckptdeck.core.states import Structure
from tests.core.probes.looking import CountingFileSystem, save
from tests.core.probes.trees import copied, made, probe_directory, spoil, tree_of

TORCH = save("hf_trainer/scheduler.pt")
WEIGHTS = save("hf_trainer/model.safetensors")
MODEL = {"config.json": b"{}", "model.safetensors": WEIGHTS}


def test_an_empty_directory_is_incomplete(tmp_path: Path) -> None:
    (tmp_path / "checkpoint-10" / "global_step10").mkdir(parents=True)
    finding = probe_directory(tmp_path / "checkpoint-10")
    assert finding.structure is Structure.INCOMPLETE
    assert "highest number" in finding.loader_says


def test_files_of_no_layout_are_judged_each_alone(tmp_path: Path) -> None:
    root = made({"model.pt": TORCH, "extra.pt": TORCH, "notes.txt": b""}, tmp_path / "step-5")
    finding = probe_directory(root)
    assert finding.structure is Structure.UNKNOWN
    assert finding.text == (
        "3 files of no known layout; 2 files whole by their own format; nothing says which belong to it"
    )
    spoil(root / "extra.pt", "trunc_90")
    finding = probe_directory(root)
    assert finding.structure is Structure.CUT
    assert finding.text.startswith("extra.pt: cut off")
    assert finding.expected_size is None


@pytest.mark.parametrize(
    "path",
    [
        "_SUCCESS",
        "latest",
        "README.md",
        "merges.txt",
        "src/__init__.py",
        ".gitattributes",
        "logs/events.log",
        "vocab.csv",
        "done/rank0",
    ],
)
@pytest.mark.parametrize("content", [b"", b"5"])
def test_a_marker_or_a_note_may_be_empty(tmp_path: Path, path: str, content: bytes) -> None:
    finding = probe_directory(made(MODEL | {path: content}, tmp_path / "step-5"))
    assert finding.structure is Structure.OK, finding


@pytest.mark.parametrize("path", ["extra.pt", "state.pkl", "a/b.bin", "x.npz", "m.json", "odd.ckpt"])
def test_a_file_with_data_may_not_be_empty(tmp_path: Path, path: str) -> None:
    finding = probe_directory(made(MODEL | {path: b""}, tmp_path / "step-5"))
    assert finding.structure is Structure.CUT
    assert finding.text.startswith(f"{path}: empty")


def test_zeros_in_a_file_of_no_known_kind_are_only_suspect(tmp_path: Path) -> None:
    finding = probe_directory(made(MODEL | {"swap/0.tensor": bytes(9000)}, tmp_path / "step-5"))
    assert finding.structure is Structure.SUSPECT
    assert probe_directory(made(MODEL | {"swap.bin": bytes(9000)}, tmp_path / "a" / "step-5")).structure is (
        Structure.BROKEN
    )


def test_zeros_in_a_chunk_of_an_array_are_zeros(tmp_path: Path) -> None:
    finding = probe_directory(made(MODEL | {"state/m/0.0": bytes(9000), "state/m/1": bytes(9000)}, tmp_path / "step-5"))
    assert finding.structure is Structure.OK


@pytest.mark.parametrize(
    ("content", "structure"),
    [
        (b'{"a": 1', Structure.CUT),
        (b'{"a": "b', Structure.CUT),
        (b'{"a" 1}', Structure.BROKEN),
        (b'{"a": 1}' + bytes(4), Structure.BROKEN),
        (b'{"a": 1}\n{"a": 2}\n', Structure.OK),
        (b"[1, NaN, 2]", Structure.OK),
        (b"\xef\xbb\xbf{}", Structure.OK),
        (b'{"a": "\xff"}', Structure.BROKEN),
        (b"[" * 100_000, Structure.BROKEN),
        (b"[" + b"9" * 5000 + b"]", Structure.BROKEN),
    ],
)
def test_json_has_to_parse_where_the_layout_is_known(tmp_path: Path, content: bytes, structure: Structure) -> None:
    root = made(MODEL | {"tokenizer.json": content}, tmp_path / "step-5")
    finding = probe_directory(root)
    assert finding.structure is structure, finding
    if structure is not Structure.OK:
        assert finding.text.startswith("tokenizer.json: ")
        assert "JSON" in finding.loader_says
    (root / "model.safetensors").unlink()
    assert probe_directory(root).structure is Structure.UNKNOWN


@pytest.mark.parametrize(
    ("end", "structure"),
    [(b"]", Structure.OK), (b"]\n\n", Structure.OK), (b"9, ", Structure.CUT), (b"]" + bytes(7), Structure.BROKEN)],
)
def test_long_json_is_judged_by_its_ends(tmp_path: Path, end: bytes, structure: Structure) -> None:
    root = made(MODEL | {"tokenizer.json": b"[" + b"1, " * 3_000_000 + b"2" + end}, tmp_path / "step-5")
    fs = CountingFileSystem()
    assert probe_directory(root, fs).structure is structure
    assert fs.bytes_read < 60_000


def test_what_is_left_of_an_interrupted_save_is_told_and_not_judged(tmp_path: Path) -> None:
    left = {".tmpbmlerD": WEIGHTS[:5000], "old.pt.tmp": b"", "x.part": bytes(5000)}
    finding = probe_directory(made(MODEL | left, tmp_path / "step-5"))
    assert finding.structure is Structure.OK
    assert ".tmpbmlerD and 2 more left of a save that was interrupted" in finding.text


def test_weights_that_have_only_a_temporary_name_are_missed(tmp_path: Path) -> None:
    finding = probe_directory(made({"config.json": b"{}", ".tmpbmlerD": WEIGHTS}, tmp_path / "checkpoint-500"))
    assert finding.structure is Structure.INCOMPLETE
    assert ".tmpbmlerD" in finding.text


def test_what_may_lie_behind_a_link_is_not_missed(tmp_path: Path) -> None:
    root = copied("hf_trainer", tmp_path, name="checkpoint-2")
    (root / "optimizer.pt").rename(tmp_path / "blob")
    (root / "optimizer.pt").symlink_to("../blob")
    finding = probe_directory(root)
    assert finding.structure is Structure.UNKNOWN
    assert "not there: optimizer.pt; perhaps behind a link" in finding.text
    spoil(root / "model.safetensors", "trunc_50")
    assert probe_directory(root).structure is Structure.CUT


def test_a_directory_of_links_alone_is_unknown(tmp_path: Path) -> None:
    root = tmp_path / "step-5"
    root.mkdir()
    (root / "model.pt").symlink_to("/nowhere")
    finding = probe_directory(root)
    assert finding.structure is Structure.UNKNOWN
    assert "model.pt" in finding.text


def test_the_worst_is_told_and_the_others_are_counted(tmp_path: Path) -> None:
    root = made(MODEL | {"a.pt": TORCH, "b.pt": TORCH + bytes(16), "c.pt": TORCH}, tmp_path / "step-5")
    assert probe_directory(root).structure is Structure.SUSPECT
    spoil(root / "a.pt", "trunc_90")
    finding = probe_directory(root)
    assert finding.structure is Structure.CUT
    assert finding.text.endswith("(and 1 more finding)")
    spoil(root / "c.pt", "all_zero")
    finding = probe_directory(root)
    assert finding.structure is Structure.BROKEN
    assert finding.text.startswith("c.pt: ")
    assert finding.text.endswith("(and 2 more findings)")


def test_no_more_is_read_than_a_quick_look_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "MOST_BYTES_OF_ALL", 50_000)
    root = made(MODEL | {f"state_{number:02}.pt": TORCH for number in range(40)}, tmp_path / "step-5")
    fs = CountingFileSystem()
    finding = probe_directory(root, fs)
    assert finding.structure is Structure.UNKNOWN
    assert finding.format == "pretrained"
    assert "not looked at: too much for a quick look" in finding.text
    assert fs.bytes_read < 100_000


def test_damage_counts_even_when_not_all_was_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "MOST_BYTES_OF_ALL", 50_000)
    root = made(MODEL | {f"state_{number:02}.pt": TORCH for number in range(40)}, tmp_path / "step-5")
    spoil(root / "state_00.pt", "trunc_90")
    assert probe_directory(root).structure is Structure.CUT


def test_a_tree_that_changes_meanwhile_is_lost(tmp_path: Path) -> None:
    root = made(MODEL, tmp_path / "step-5")
    tree = tree_of(root)
    (root / "model.safetensors").write_bytes(WEIGHTS + b"x")
    with pytest.raises(LostInTree):
        probe_tree(tree)


def test_a_tree_can_be_cancelled(tmp_path: Path) -> None:
    root = made(MODEL, tmp_path / "step-5")
    cancel = CancelToken()
    cancel.cancel()
    seen = tree_of(root)
    with pytest.raises(Cancelled):
        probe_tree(Tree(FileSystem(), seen.root, seen.name, seen.members, Effort(cancel=cancel)))


def test_a_tree_knows_its_directories(tmp_path: Path) -> None:
    names = ["a", "b/c", "b/d/e", "b-x/f", "b0", "bc/g"]
    tree = tree_of(made(dict.fromkeys(names, b"x"), tmp_path / "t"))
    assert tree.inside("b") == ["b/c", "b/d/e"]
    assert sorted(tree.inside("")) == sorted(names)
    assert tree.beside("") == ["a", "b0"]
    assert tree.beside("b") == ["c"]
    assert tree.beside("nowhere") == []
    assert set(tree.directories) == {"", "b", "b/d", "b-x", "bc"}
