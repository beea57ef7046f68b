"""Names of every system that is known, and what must not be taken for one."""

from __future__ import annotations

import os
import re

import pytest

from ckptdeck.core.naming import NameReading, NameRole, order_key, part_name, read_name
from ckptdeck.core.policy import DEFAULT_POLICY, Policy

BROKEN_UTF8 = os.fsdecode(b"b\xff\xfe")


def read(name: str, policy: Policy = DEFAULT_POLICY) -> NameReading:
    return read_name(name, False, policy)


def read_directory(name: str) -> NameReading:
    return read_name(name, True, DEFAULT_POLICY)


@pytest.mark.parametrize(
    ("name", "family", "step"),
    [
        ("step_0810.pt", "single-file", 810),
        ("step-810.pth", "single-file", 810),
        ("810.ckpt", "single-file", 810),
        ("step0810.pt", "single-file", 810),
        ("model_000810.pt", "single-file", 810),
        ("model=810.bin", "single-file", 810),
        ("checkpoint_500.pt", "single-file", 500),
        ("checkpoint-500.safetensors", "single-file", 500),
        ("model_10.pth.tar", "single-file", 10),
        ("ckpt-10.weights.h5", "single-file", 10),
        ("step_10.h5", "single-file", 10),
        ("step_10.hdf5", "single-file", 10),
        ("model-10.keras", "single-file", 10),
        ("model-step10.gguf", "single-file", 10),
        ("epoch10.pt", "single-file", 10),
        ("epoch_3_step_810.pt", "single-file", 810),
        ("step_810_epoch_3.pt", "single-file", 810),
        ("model_step=810_loss=0.25.pt", "single-file", 810),
        ("epoch=03-val_loss=0.25.ckpt", "single-file", 3),
        ("weights-810.npz", "single-file", 810),
        ("state_810.msgpack", "single-file", 810),
        ("optim_000810_rank0.pt", "single-file", 810),
        ("step_100-00001-of-00003.safetensors", "single-file", 100),
        ("epoch=0-step=4.ckpt", "lightning", 4),
        ("epoch=1-step=200-val_loss=0.25.ckpt", "lightning", 200),
        ("epoch=1-step=200-val_loss=-1.5e-05-v2.ckpt", "lightning", 200),
        ("run-a-epoch=03-step=0009.ckpt", "lightning", 9),
        ("ep1-ba100-rank0.pt", "composer", 100),
        ("ep1-ba100-rank0.tar.gz", "composer", 100),
        ("ep1-ba100-rank0.tgz", "composer", 100),
        ("iter_0000810_3_local.pt", "nvrx", 810),
        ("checkpoint_3_5000.pt", "fairseq", 5000),
        ("checkpoint_3_5000-rank-0-shard1.pt", "fairseq", 5000),
        ("checkpoint_3-shard1.pt", "fairseq", 3),
        ("checkpoint_100", "flax", 100),
        ("line\nbreak_9.pt", "single-file", 9),
        (f"{BROKEN_UTF8}_9.pt", "single-file", 9),
        (f"{'x' * 240}_00123.pt", "single-file", 123),
    ],
)
def test_names_with_a_step_are_checkpoints(name: str, family: str, step: int) -> None:
    assert read(name) == NameReading(NameRole.CHECKPOINT, family, step)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("model.pt", "single-file"),
        ("model.safetensors", "single-file"),
        ("model-00001-of-00003.safetensors", "single-file"),
        ("pytorch_model-00001-of-00002.bin", "single-file"),
        ("mp_rank_00_model_states.pt", "single-file"),
        ("bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt", "single-file"),
        ("optimizer_rank3.pt", "single-file"),
        ("rng_state_0.pth", "single-file"),
        ("random_states_0.pkl", "single-file"),
        ("consolidated.00.pth", "single-file"),
        ("gpt2.bin", "single-file"),
        ("last.ckpt", "lightning-last"),
        ("last-v1.ckpt", "lightning-last"),
        ("run-last.ckpt", "lightning-last"),
        ("latest-rank0.pt", "composer-latest"),
        ("checkpoint_last.pt", "fairseq"),
        ("checkpoint_best.pt", "fairseq"),
        ("checkpoint_last-shard0.pt", "fairseq"),
        ("step_٣.pt", "single-file"),
    ],
)
def test_a_known_extension_without_a_step_is_rolling(name: str, family: str) -> None:
    assert read(name) == NameReading(NameRole.ROLLING, family)


@pytest.mark.parametrize(
    ("name", "family", "step"),
    [
        ("checkpoint-500", "hf-trainer", 500),
        ("checkpoint_000010", "ray", 10),
        ("checkpoint_3", "accelerate", 3),
        ("step-810", "torchtitan", 810),
        ("step_00000810", "axlearn", 810),
        ("step_810", "nemo-rl", 810),
        ("epoch_2_step_810", "automodel", 810),
        ("global_step_810", "verl", 810),
        ("global_step810", "deepspeed", 810),
        ("iter_0000810", "megatron", 810),
        ("epoch=0-step=4.ckpt", "lightning", 4),
        ("llama--step=810.ckpt", "nemo", 810),
        ("810", "orbax", 810),
        ("ckpt_000810", "orbax", 810),
    ],
)
def test_directories_of_known_families_have_their_step(name: str, family: str, step: int) -> None:
    assert read_directory(name) == NameReading(NameRole.CHECKPOINT, family, step)


def test_a_release_directory_is_rolling() -> None:
    assert read_directory("release") == NameReading(NameRole.ROLLING, "megatron")


@pytest.mark.parametrize("name", ["logs", "step_0810.pt", "latest", ".hidden_8", "checkpoint-500.bak"])
def test_other_directories_are_foreign(name: str) -> None:
    assert read_directory(name).role is NameRole.FOREIGN


@pytest.mark.parametrize(
    "name",
    ["notes.txt", "config.json", "meta_000810.json", "810", ".hidden_8.pt", ".nfs000000001", "a.py", ".part", "x\n"],
)
def test_other_files_are_foreign(name: str) -> None:
    assert read(name) == NameReading(NameRole.FOREIGN, "foreign")


@pytest.mark.parametrize("name", ["ckpt-7.index", "ckpt-7.data-00000-of-00001", "model.ckpt-7.meta"])
def test_one_name_of_a_group_is_no_checkpoint_but_keeps_its_step(name: str) -> None:
    assert read(name) == NameReading(NameRole.FOREIGN, "tensorflow", 7)


@pytest.mark.parametrize(
    ("name", "family", "step", "target"),
    [
        ("step_0810.pt.partial", "temporary", 810, "step_0810.pt"),
        ("step_0810.pt.1a2b3c4d.partial", "temporary", 810, "step_0810.pt"),
        ("checkpoint_last.pt.tmp", "temporary", None, "checkpoint_last.pt"),
        ("step_0810.pt.incomplete", "temporary", 810, "step_0810.pt"),
        ("step_0810.pt.crdownload", "temporary", 810, "step_0810.pt"),
        ("step_0810.pt-tmp", "temporary", 810, "step_0810.pt"),
        (".step_0810.pt.aB3dE9", "temporary", 810, "step_0810.pt"),
        (".syncthing.step_0810.pt.tmp", "temporary", 810, "step_0810.pt"),
        (".metadata.tmp", "temporary", None, ".metadata"),
        ("latest.tmp", "temporary", None, "latest"),
        ("ckpt-7.index.tmp", "temporary", 7, "ckpt-7.index"),
        ("iter_0000810_0_local.dirty.pt", "nvrx", 810, "iter_0000810_0_local.pt"),
        ("tmpab12cd_x", "lightning", None, ""),
        (".tmpbmlerD", "safetensors", None, ""),
    ],
)
def test_temporary_names_of_trainers_are_in_flight(name: str, family: str, step: int | None, target: str) -> None:
    assert read(name) == NameReading(NameRole.IN_FLIGHT, family, step, target)


@pytest.mark.parametrize(
    ("name", "family", "step", "target"),
    [
        ("checkpoint-500-tmp", "temporary", 500, "checkpoint-500"),
        ("tmp-checkpoint-500", "hf-trainer", 500, "checkpoint-500"),
        ("tmp-checkpoint-x8s", "hf-trainer", None, "checkpoint-x8s"),
        ("tmp_step_810", "nemo-rl", 810, "step_810"),
        ("810.orbax-checkpoint-tmp", "orbax", 810, "810"),
        ("810.orbax-checkpoint-tmp-1722", "orbax", 810, "810"),
        ("step_810_temp", "temporary", 810, "step_810"),
        ("step_810_temp_1a2b", "temporary", 810, "step_810"),
        ("._dlrover_ckpt_stage", "dlrover", None, ""),
    ],
)
def test_temporary_directories_are_in_flight(name: str, family: str, step: int | None, target: str) -> None:
    assert read_directory(name) == NameReading(NameRole.IN_FLIGHT, family, step, target)


@pytest.mark.parametrize("name", ["notes.txt.tmp", "abc.temp", "log-tmp", "scratch_temp", ".bashrc.aB3dE9"])
def test_a_temporary_shape_around_a_foreign_name_is_foreign(name: str) -> None:
    assert read(name).role is NameRole.FOREIGN


@pytest.mark.parametrize(
    "final", ["step_0810.pt", "epoch=0-step=4.ckpt", "notes.txt", f"{BROKEN_UTF8}_9.pt", "a\nb_9.pt"]
)
def test_our_parts_know_their_final_name(final: str) -> None:
    assert read(part_name(final)) == NameReading(NameRole.IN_FLIGHT, "part", read(final).step, final, ours=True)


def test_a_name_with_room_for_the_suffix_stages_beside_itself() -> None:
    assert part_name("x" * 250) == "x" * 250 + ".part"


@pytest.mark.parametrize("final", ["x" * 251, os.fsdecode(b"\xff" * 255), "ä" * 126])
def test_a_name_without_room_stages_under_its_hash(final: str) -> None:
    staged = part_name(final)
    assert re.fullmatch(r"\.[0-9a-f]{16}\.part", staged)
    assert staged != part_name("y" * 251)
    assert read(staged) == NameReading(NameRole.IN_FLIGHT, "part", ours=True)


@pytest.mark.parametrize(
    "name",
    [
        "latest",
        "latest_universal",
        "latest_checkpointed_iteration.txt",
        "dlrover_latest.txt",
        "latest_train_state.pt",
        "checkpoint",
        "LATEST",
        "LOWEST_VAL",
    ],
)
def test_pointers(name: str) -> None:
    assert read(name) == NameReading(NameRole.POINTER, "pointer")


@pytest.mark.parametrize("name", ["commit_success.txt", ".metadata", "index", "integrity.json", "_BACKUP_REQUESTED"])
def test_markers(name: str) -> None:
    assert read(name) == NameReading(NameRole.MARKER, "marker")


def test_a_marker_beside_a_checkpoint_says_which() -> None:
    assert read("run.ckpt-unfinished") == NameReading(NameRole.MARKER, "marker", None, "run.ckpt")


@pytest.mark.parametrize("name", [".ckptdeck", ".run1.ckptdeck", "lost+found"])
def test_bookkeeping_is_ours(name: str) -> None:
    assert read_directory(name).role is NameRole.OURS


# --- the policy

OWN = Policy(patterns=(re.compile(r"(?P<step>\d+)k?_run1.*", re.DOTALL),), ignore=("scratch*", "*.log"))


def test_own_names_come_before_families() -> None:
    assert read("7_run1_900.pt", OWN) == NameReading(NameRole.CHECKPOINT, "own", 7)
    assert read("7_run2_900.pt", OWN) == NameReading(NameRole.CHECKPOINT, "single-file", 900)


def test_own_names_never_claim_what_is_still_written() -> None:
    assert read("7_run1_900.pt.part", OWN).role is NameRole.IN_FLIGHT
    assert read("7_run1_900.pt.part", OWN).step == 7
    assert read("7_run1.tmp", OWN) == NameReading(NameRole.IN_FLIGHT, "temporary", 7, "7_run1")


def test_an_own_name_whose_step_is_no_number_is_rolling() -> None:
    policy = Policy(patterns=(re.compile(r"mine_(?P<step>\d+|best)\.dat"),))
    assert read("mine_best.dat", policy) == NameReading(NameRole.ROLLING, "own")
    assert read("mine_7.dat", policy).step == 7


def test_ignored_names_are_foreign() -> None:
    assert read("scratch_810.pt", OWN) == NameReading(NameRole.FOREIGN, "ignored")
    assert read("scratch_810.pt.part", OWN).role is NameRole.FOREIGN


# --- order


def test_steps_are_ordered_as_numbers() -> None:
    names = ["step_9990.pt", "last.ckpt", "step_10000.pt", "step_9900.pt"]
    ordered = sorted(names, key=lambda name: order_key(read(name).step, name))
    assert ordered == ["step_10000.pt", "step_9990.pt", "step_9900.pt", "last.ckpt"]


@pytest.mark.parametrize(
    "name",
    [
        "epoch=0-step=1" + "-a=1" * 60 + "!",
        "-" * 250 + ".ckpt",
        "step" * 62 + ".pt",
        "1-of-" * 50 + ".pt",
        "1" * 255,
        ".pt" * 85 + "!",
        "_temp" * 51,
        "rank0_" * 42 + ".x",
    ],
)
def test_hostile_names_are_read_at_once(name: str) -> None:
    """A pattern that tries every way to split such a name would not come back before the run's time is over."""
    assert isinstance(read(name).role, NameRole)
    assert isinstance(read_directory(name).role, NameRole)
