"""Directories and groups of files from the command line, from the first look to the second disk and back."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.deck import OLD, Deck, cut, data_of, flip
from tests.core.units import HOSTILE, contents, fill, rest

TENSORFLOW = Path(__file__).parents[1] / "fixtures" / "one_save" / "tf_checkpoint"
Files = Mapping[str, bytes | str | None]
SHARDS: Files = {
    "shard_0.dat": data_of("s0"),
    "sub/shard_1.dat": data_of("s1"),
    "to": "sub/shard_1.dat",
    "empty": None,
}


def put(deck: Deck, name: str, files: Files = SHARDS, *, side: str = "ckpt", age: float = OLD) -> Path:
    return fill(deck.base / side / name, files, at=time.time() - age)


def put_step(deck: Deck, step: int, *words: str) -> None:
    """A group: one file for each word."""
    for word in words or ("model", "optim_rank0", "optim_rank1"):
        stem, _, rank = word.partition("_")
        deck.put(f"{stem}_{step:06d}{'_' + rank if rank else ''}.pt", data_of(f"{word}{step}"))


def rows(deck: Deck, *words: str) -> dict[str, tuple[str | None, str | None, str]]:
    document = deck.run("status", deck.primary, *words, "--json").document
    return {row["name"]: (row["primary"], row["mirror"], row["verdict"]) for row in document["steps"]}


# --- init


def test_init_shows_what_is_one_checkpoint_and_how_to_keep_names_apart(deck: Deck) -> None:
    for step in (100, 200, 300):
        put_step(deck, step)
        deck.put(f"meta_{step:06d}.json", b"{}")
        put(deck, f"step_{step + 1}")
    put_step(deck, 400, "model")
    deck.put("ckpt-7.index", data_of("i"))
    deck.put("ckpt-7.data-00000-of-00001", data_of("d"))
    out = deck.run("init", deck.primary, deck.mirror).out
    assert "3 checkpoints nemo-rl, 120 kB, steps 101 to 301, like step_301/" in out
    assert "4 checkpoints several-files, 200 kB, steps 100 to 400, like step_000400" in out
    assert "    3 are meta_#.json + model_#.pt + 2 optim_#_rank#.pt" in out
    assert "    1 is model_#.pt" in out
    assert "each is ckpt-#.data-#-of-# + ckpt-#.index" in out
    assert "files of one step are one checkpoint, as with step_000400; if they are not, set `group = false`" in out
    assert f"under [checkpoints] in {deck.control / 'ckptdeck.toml'} before anything is recorded" in out


def test_init_says_nothing_of_groups_where_there_are_none_by_their_words(deck: Deck) -> None:
    deck.put("ckpt-7.index", data_of("i"))
    deck.put("step_1.pt", data_of("a"))
    assert "group = false" not in deck.run("init", deck.primary).out


def test_init_as_a_document_has_the_groups(deck: Deck) -> None:
    put_step(deck, 100)
    put_step(deck, 200)
    document = deck.run("init", deck.primary, "--json").document
    assert document["families"] == {"primary": {"several-files": 2}}
    files = [{"name": "model_#.pt", "count": 1}, {"name": "optim_#_rank#.pt", "count": 2}]
    assert document["groups"] == {"primary": [{"checkpoints": 2, "files": files}]}


def test_the_policy_keeps_names_apart(deck: Deck) -> None:
    put_step(deck, 100)
    deck.init()
    assert list(rows(deck)) == ["step_000100"]
    (deck.control / "ckptdeck.toml").write_text("[checkpoints]\ngroup = false\n")
    assert sorted(rows(deck)) == ["model_000100.pt", "optim_000100_rank0.pt", "optim_000100_rank1.pt"]
    assert "several-files" not in deck.run("init", deck.primary, deck.mirror).out


# --- from unknown to safe


def test_a_directory_and_a_group_become_safe(deck: Deck) -> None:
    put(deck, "step_500")
    put_step(deck, 810)
    deck.init()
    assert {name: row[:2] for name, row in rows(deck).items()} == {
        "step_000810": ("unrecorded", "absent"),
        "step_500": ("unrecorded", "absent"),
    }
    assert deck.run("adopt", deck.primary, "--yes").code == 0
    assert deck.run("mirror", deck.primary, "--all", "--yes").code == 0
    assert set(rows(deck).values()) == {("verified", "verified", "safe")}
    assert contents(deck.mirror / "step_500") == SHARDS
    assert deck.run("status", deck.primary).code == 0
    deck.forget_receipts()
    assert set(rows(deck).values()) == {("size-only", "size-only", "adopt")}
    assert deck.run("verify", deck.primary).code == 0
    assert set(rows(deck).values()) == {("verified", "verified", "safe")}


def test_damage_is_named_by_its_file_and_repaired(deck: Deck) -> None:
    put(deck, "step_500")
    put_step(deck, 810)
    deck.mirrored()
    flip(deck.mirror / "step_500" / "sub" / "shard_1.dat")
    cut(deck.mirror / "optim_000810_rank1.pt", 350)
    ran = deck.run("verify", deck.primary)
    assert ran.code == 1
    assert "sub/shard_1.dat" in ran.out
    status = deck.run("status", deck.primary)
    assert status.code == 1
    assert "optim_000810_rank1.pt: 350 of 20000 bytes, 19650 are missing" in status.out
    assert deck.run("repair", deck.primary, "--yes").code == 0
    assert set(rows(deck).values()) == {("verified", "verified", "safe")}
    assert contents(deck.mirror / "step_500") == SHARDS
    kept = deck.run("quarantined", deck.primary, "--json").document["sides"]
    assert {one["name"] for one in kept["mirror"]} == {"step_500", "step_000810"}


def test_a_pinned_group_is_not_repaired(deck: Deck) -> None:
    put_step(deck, 810)
    deck.mirrored()
    (deck.mirror / "optim_000810_rank1.pt").unlink()
    assert deck.run("pin", deck.primary, "step_000810", "--reason", "mine").code == 0
    assert rows(deck)["step_000810"] == ("verified", "incomplete", "repair")
    assert deck.run("repair", deck.primary, "--yes").code == 4
    assert deck.run("unpin", deck.primary, "step_000810").code == 0
    assert deck.run("repair", deck.primary, "--yes").code == 0


def test_quarantine_takes_bad_ones_out_whole(deck: Deck) -> None:
    for step in (810, 820):
        put_step(deck, step)
    put(deck, "step_500")
    put(deck, "step_900")
    deck.mirrored()
    (deck.mirror / "model_000810.pt").unlink()
    (deck.mirror / "step_500" / "shard_0.dat").unlink()
    assert deck.run("quarantine", deck.primary, "--yes").code == 0
    left = {path.name for path in deck.mirror.iterdir()} - {".ckptdeck"}
    assert left == {"step_900", "model_000820.pt", "optim_000820_rank0.pt", "optim_000820_rank1.pt"}


# --- resume


def test_an_empty_directory_beside_a_good_one_is_passed_over(deck: Deck) -> None:
    put(deck, "step_2")
    put(deck, "step_10", {})
    deck.init()
    assert deck.run("adopt", deck.primary, "--yes").code == 0
    ran = deck.run("resume", deck.primary)
    assert (ran.code, ran.out) == (0, f"{deck.primary}/step_2\n")
    assert "step_10 on the primary is incomplete" in ran.err
    assert rows(deck)["step_10"][0] == "incomplete"


def test_a_young_empty_directory_is_being_written_and_no_finding(deck: Deck) -> None:
    put(deck, "step_2")
    deck.init()
    assert deck.run("adopt", deck.primary, "--yes").code == 0
    put(deck, "step_10", {}, age=5.0)
    assert rows(deck)["step_10"][0] == "unsafe-write"
    assert deck.run("status", deck.primary).code == 0


def test_of_a_group_the_answer_says_which_files_it_means(deck: Deck) -> None:
    put_step(deck, 810)
    deck.recorded()
    ran = deck.run("resume", deck.primary)
    assert (ran.code, ran.out) == (0, f"{deck.primary}/step_000810\n")
    told = (
        "step_000810 is 3 files, and none has that name: model_000810.pt, optim_000810_rank0.pt, optim_000810_rank1.pt"
    )
    assert told in ran.err


def test_of_tensorflow_the_answer_is_the_prefix_its_loader_takes(deck: Deck) -> None:
    shutil.copytree(TENSORFLOW, deck.primary, dirs_exist_ok=True)
    rest(deck.primary, time.time() - OLD)
    deck.recorded()
    name = next(path.name.removesuffix(".index") for path in deck.primary.glob("*.index"))
    ran = deck.run("resume", deck.primary)
    assert (ran.code, ran.out, ran.err) == (0, f"{deck.primary}/{name}\n", "")


# --- publish


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return fill(tmp_path / "out" / "checkpoint-7", SHARDS, at=time.time() - 5)


def test_a_finished_directory_is_published_whole(deck: Deck, source: Path) -> None:
    deck.init()
    ran = deck.run("publish", source, deck.primary, "--metric", "loss=1.5", "--json")
    assert ran.code == 0
    assert (ran.document["step"], ran.document["size"], ran.document["recorded"]) == (7, 40_000, True)
    assert ran.document["evidence"] in ("device", "cache", "server")
    assert contents(deck.primary / "checkpoint-7") == SHARDS
    assert contents(source) == SHARDS
    assert rows(deck)["checkpoint-7"][0] == "verified"


@pytest.mark.parametrize("slash", ["", "/", "//."])
def test_the_name_is_that_of_the_directory_however_it_is_written(deck: Deck, source: Path, slash: str) -> None:
    deck.init()
    assert deck.run("publish", f"{source}{slash}", deck.primary).code == 0
    assert (deck.primary / "checkpoint-7").is_dir()


def test_a_link_to_a_directory_is_published_as_what_it_leads_to(deck: Deck, source: Path, tmp_path: Path) -> None:
    deck.init()
    (tmp_path / "checkpoint-8").symlink_to(source)
    assert deck.run("publish", tmp_path / "checkpoint-8", deck.primary).code == 0
    assert contents(deck.primary / "checkpoint-8") == SHARDS
    assert not (deck.primary / "checkpoint-8").is_symlink()


def test_another_name_and_a_replacement(deck: Deck, source: Path) -> None:
    deck.init()
    assert deck.run("publish", source, deck.primary, "--as", "step_9", "--step", "9").code == 0
    fill(source, {"more.dat": b"12"})
    refused = deck.run("publish", source, deck.primary, "--as", "step_9")
    assert refused.code == 4
    assert "exists already" in refused.err
    assert deck.run("publish", source, deck.primary, "--as", "step_9", "--replace").code == 0
    assert contents(deck.primary / "step_9") == {**SHARDS, "more.dat": b"12"}


@pytest.mark.parametrize(
    ("files", "code", "told"),
    [
        ({}, 2, "holds no file"),
        ({"a": b"1", "out": "/etc/passwd"}, 4, "leads out of it"),
        ({"a": b"1", "out": "../../x"}, 4, "leads out of it"),
    ],
)
def test_what_can_be_no_checkpoint_is_refused(deck: Deck, tmp_path: Path, files: Files, code: int, told: str) -> None:
    deck.init()
    odd = fill(tmp_path / "odd" / "checkpoint-7", files)
    ran = deck.run("publish", odd, deck.primary)
    assert ran.code == code
    assert told in ran.err
    assert str(odd) in ran.err
    assert not (deck.primary / "checkpoint-7").exists()


def test_a_pipe_inside_is_told_without_a_traceback(deck: Deck, source: Path) -> None:
    deck.init()
    os.mkfifo(source / "pipe")
    ran = deck.run("publish", source, deck.primary)
    assert ran.code not in (0, 1)
    assert "pipe in it, which is neither file, link nor directory" in ran.err
    assert "Traceback" not in ran.err


def test_a_source_in_the_set_and_the_set_as_source(deck: Deck) -> None:
    put(deck, "step_500")
    deck.init()
    assert deck.run("publish", deck.primary / "step_500", deck.primary, "--as", "step_501").code == 0
    assert contents(deck.primary / "step_501") == SHARDS
    ran = deck.run("publish", deck.primary, deck.primary, "--as", "step_9")
    assert ran.code == 2
    assert "holds the set" in ran.err
    assert {path.name for path in deck.primary.iterdir()} == {"step_500", "step_501"}


def test_a_directory_under_an_unfinished_name_is_a_usage_error(deck: Deck, source: Path) -> None:
    deck.init()
    for name in ("checkpoint-7.part", "tmp-checkpoint-7", ".ckptdeck", "a/b"):
        assert deck.run("publish", source, deck.primary, "--as", name).code == 2


# --- export


@pytest.mark.skipif(shutil.which("xxhsum") is None, reason="needs xxhsum")
def test_xxhsum_checks_directories_and_groups_and_finds_damage(deck: Deck) -> None:
    put(
        deck,
        "step_500",
        {**SHARDS, "back\\slash.dat": data_of("b"), " lead.dat": data_of("l"), "*star.dat": data_of("x")},
    )
    put_step(deck, 810)
    deck.mirrored()
    sums = deck.base / "sums"
    for side, root in (("primary", deck.primary), ("mirror", deck.mirror)):
        ran = deck.run("export", deck.primary, "--side", side)
        assert ran.code == 0
        sums.write_text(ran.out)
        assert len(ran.out.splitlines()) == 5 + 3
        check = ["xxhsum", "--check", "--strict", str(sums)]
        assert subprocess.run(check, cwd=root, capture_output=True, check=False).returncode == 0
        flip(root / "step_500" / "sub" / "shard_1.dat")
        done = subprocess.run(check, cwd=root, capture_output=True, check=False)
        assert done.returncode != 0
        assert b"step_500/sub/shard_1.dat: FAILED" in done.stdout


def test_names_with_newlines_inside_are_left_out_and_told(deck: Deck) -> None:
    put(deck, "step_500", {HOSTILE[0]: data_of("n"), "fine.dat": data_of("f")})
    deck.recorded()
    ran = deck.run("export", deck.primary)
    assert ran.code == 3
    assert [line.split("  ")[1] for line in ran.out.splitlines()] == ["step_500/fine.dat"]
    assert "step_500/new\\nline.pt" in ran.err


# --- what is shown


def test_hostile_names_inside_reach_no_terminal(deck: Deck) -> None:
    root = put(deck, "step_500", dict.fromkeys(HOSTILE, data_of("h")))
    deck.recorded()
    cut(root / HOSTILE[1], 7)
    rest(root, time.time() - OLD)
    for command in ("status", "verify", "recover", "repair"):
        words = ["--dry-run"] if command in ("recover", "repair") else []
        ran = deck.run(command, deck.primary, *words)
        shown = ran.out + ran.err
        assert "\x1b[31m" not in shown
        assert not any(ord(char) < 32 and char != "\n" for char in shown)
    assert r"tab\tand\e[31mred.pt" in deck.run("status", deck.primary).out


def test_a_checkpoint_directory_is_no_set(deck: Deck) -> None:
    put(deck, "checkpoint-500")
    deck.init()
    ran = deck.run("status", deck.primary / "checkpoint-500")
    assert ran.code == 2
    assert "checkpoint-500" in ran.err
