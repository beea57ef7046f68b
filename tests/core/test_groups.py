"""Which names are one checkpoint, which stay apart, and what a record changes about it."""

from __future__ import annotations

import itertools
import os

import pytest

from ckptdeck.core.groups import Group, find_groups
from ckptdeck.core.naming import read_name
from ckptdeck.core.policy import DEFAULT_POLICY, Policy
from ckptdeck.core.sighting import Record, RecordMember
from ckptdeck.core.states import Kind, Origin

ONE = "1" * 32


def grouped(
    *names: str,
    records: tuple[Record, ...] = (),
    listed: tuple[str, ...] = (),
    by_words: bool = True,
    policy: Policy = DEFAULT_POLICY,
) -> dict[str, tuple[str, ...]]:
    """Group → its names. `listed` are names that are no regular files."""
    groups = found(*names, records=records, listed=listed, by_words=by_words, policy=policy)
    return {group.name: group.members for group in groups}


def found(
    *names: str,
    records: tuple[Record, ...] = (),
    listed: tuple[str, ...] = (),
    by_words: bool = True,
    policy: Policy = DEFAULT_POLICY,
) -> tuple[Group, ...]:
    readings = {name: read_name(name, False, policy) for name in names}
    by_name = {record.name: record for record in records}
    groups = find_groups(readings, by_name, {*names, *listed}, by_words=by_words)
    assert len({group.name for group in groups}) == len(groups)
    members = [member for group in groups for member in group.members]
    assert len(set(members)) == len(members), "a name in two groups"
    return groups


def recorded(name: str, *members: str, step: int | None = None) -> Record:
    """Of a group with `members`, of a file without any."""
    kind = Kind.GROUP if members else Kind.FILE
    listed = tuple(RecordMember(member, 1, ONE) for member in members) or (RecordMember("", 1, ONE),)
    return Record(name, step, kind, len(listed), 1, ONE, listed, 1.0, Origin.ADOPTED, None, "box")


# --- what belongs together


NANOCHAT = ("model_000810.pt", "optim_000810_rank0.pt", "optim_000810_rank1.pt", "meta_000810.json")


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("step_000810", NANOCHAT),
        ("ckpt-7", ("ckpt-7.index", "ckpt-7.data-00000-of-00001")),
        ("model.ckpt-7", ("model.ckpt-7.index", "model.ckpt-7.meta", "model.ckpt-7.data-00000-of-00001")),
        ("ep1-ba100", ("ep1-ba100-rank0.pt", "ep1-ba100-rank1.pt")),
        ("iter_0000810", ("iter_0000810_0_local.pt", "iter_0000810_1_local.pt")),
        ("step_100", ("step_100.pt", "step_100_optim.pt")),
        ("step_100", ("step_100-00001-of-00002.safetensors", "step_100-00002-of-00002.safetensors")),
        (
            "step_100",
            (
                "model_100-00001-of-00002.safetensors",
                "model_100-00002-of-00002.safetensors",
                "model_100.safetensors.index.json",
            ),
        ),
        ("epoch_5", ("epoch_5_G.pth", "epoch_5_D.pth")),
        ("checkpoint_3_5000", ("checkpoint_3_5000-shard0.pt", "checkpoint_3_5000-shard1.pt")),
        ("epoch=3-step=900", ("epoch=3-step=900.ckpt", "epoch=3-step=900-optim.ckpt")),
        ("step_5", ("model-5.safetensors", "optimizer-5.bin", "scheduler-5.bin", "random_states-5.pkl")),
    ],
)
def test_names_of_one_step_are_one_checkpoint(name: str, members: tuple[str, ...]) -> None:
    assert grouped(*members) == {name: tuple(sorted(members))}


@pytest.mark.parametrize(
    "names",
    [
        ("best_step_100.pt", "step_100.pt"),
        ("epoch=1-step=100.ckpt", "epoch=1-step=100-v1.ckpt"),
        ("epoch=1-step=100.ckpt", "epoch=2-step=100.ckpt"),
        ("modelA_100.pt", "modelB_100.pt"),
        ("model_100.pt", "model_200.pt", "optim_300.pt"),
        ("step_100.pt", "step_100.json"),
        ("step_100.pt", "step_100.safetensors"),
        ("meta_100.json", "args_100.yaml"),
        ("model.pt", "optimizer.pt", "scheduler.pt"),
        ("last.ckpt", "last-v1.ckpt"),
        ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"),
        ("rng_state_0.pth", "rng_state_1.pth"),
        ("mp_rank_00_model_states.pt", "mp_rank_01_model_states.pt"),
        ("model_100.pt", "optim_100.pt.part"),
        ("model_100.pt", ".optim_100.pt"),
        ("notes_100.txt", "loss_100.json"),
        ("iter_0000810_0_local.pt",),
        ("ep1-ba100-rank0.pt",),
    ],
)
def test_names_that_something_tells_apart_stay_apart(names: tuple[str, ...]) -> None:
    assert grouped(*names) == {}


def test_the_order_of_a_listing_changes_nothing() -> None:
    names = ("step_100.pt", "step_100_optim.pt", "meta_100.json", "model_100.pt", "ckpt-100.index", "ckpt-100.pt")
    first = set(found(*names))
    for order in itertools.permutations(names):
        assert set(found(*order)) == first


def test_a_group_has_the_step_and_the_family_of_its_names() -> None:
    (of_words,) = found(*NANOCHAT)
    assert (of_words.step, of_words.family) == (810, "several-files")
    (of_tensorflow,) = found("ckpt-7.index")
    assert (of_tensorflow.step, of_tensorflow.family) == (7, "tensorflow")
    (of_composer,) = found("ep1-ba100-rank0.pt", "ep1-ba100-rank1.pt")
    assert (of_composer.step, of_composer.family) == (100, "composer")


def test_one_name_of_tensorflow_is_a_checkpoint_that_lacks_the_rest() -> None:
    assert grouped("ckpt-7.data-00000-of-00002") == {"ckpt-7": ("ckpt-7.data-00000-of-00002",)}


def test_a_file_that_is_called_like_a_tensorflow_prefix_is_none_of_its_members() -> None:
    names = ("ckpt-7.index", "ckpt-7.data-00000-of-00001")
    assert grouped(*names, "ckpt-7.pt") == {"ckpt-7": tuple(sorted(names))}


def test_names_may_hold_any_byte() -> None:
    odd = os.fsdecode(b"r\xff\n[red]")
    assert grouped(f"{odd}_model_7.pt", f"{odd}_optim_7.pt") == {
        f"{odd}_7": (f"{odd}_model_7.pt", f"{odd}_optim_7.pt"),
    }


# --- what the others have


def test_a_part_alone_is_a_group_where_other_steps_have_company() -> None:
    whole = ("model_100.pt", "optim_100.pt", "meta_100.json")
    assert grouped(*whole, "model_200.pt")["step_200"] == ("model_200.pt",)
    assert grouped(*whole, "optim_200.pt")["step_200"] == ("optim_200.pt",)
    assert "step_200" not in grouped(*whole, "step_200.pt")


def test_a_companion_alone_is_no_checkpoint() -> None:
    """What a retention leaves behind of a step, and a note, hold nothing to resume from."""
    assert grouped("model_100.pt", "optim_100.pt", "meta_100.json", "meta_200.json").keys() == {"step_100"}


def test_the_main_file_alone_is_a_group_where_it_has_company_elsewhere() -> None:
    whole = ("step_100.pt", "step_100_optim.pt")
    assert grouped(*whole, "step_200.pt") == {"step_100": whole, "step_200": ("step_200.pt",)}
    assert grouped(*whole, "step_200.ckpt") == {"step_100": whole}


# --- records decide


def test_a_recorded_file_is_never_drawn_into_a_group() -> None:
    names = ("model_100.pt", "optim_100.pt", "meta_100.json")
    assert grouped(*names[:2], records=(recorded("model_100.pt"),)) == {}
    assert grouped(*names, records=(recorded("model_100.pt"),)) == {"step_100": ("meta_100.json", "optim_100.pt")}


def test_a_recorded_group_keeps_its_name_and_those_of_its_files_that_are_left() -> None:
    record = recorded("my-own-name", "model_100.pt", "optim_100.pt", "notes", step=100)
    assert grouped("model_100.pt", "notes", records=(record,)) == {"my-own-name": ("model_100.pt", "notes")}
    assert found("notes", records=(record,))[0].step == 100
    assert grouped("other_100.pt", records=(record,)) == {}


def test_what_belongs_to_a_recorded_group_by_its_name_joins_it() -> None:
    record = recorded("step_100", "model_100.pt", "optim_100.pt")
    assert grouped("model_100.pt", "optim_100.pt", "ema_100.pt", "best_100.pt", records=(record,)) == {
        "step_100": ("ema_100.pt", "model_100.pt", "optim_100.pt")
    }
    tensorflow = recorded("ckpt-7", "ckpt-7.index", "ckpt-7.data-00000-of-00001")
    names = ("ckpt-7.data-00000-of-00001", "ckpt-7.index", "ckpt-7.meta")
    assert grouped(*names, records=(tensorflow,)) == {"ckpt-7": names}


def test_a_recorded_group_stands_where_names_are_not_grouped() -> None:
    record = recorded("step_100", "model_100.pt", "optim_100.pt")
    names = ("model_100.pt", "optim_100.pt", "ema_100.pt", "model_200.pt", "optim_200.pt")
    assert grouped(*names, records=(record,), by_words=False) == {"step_100": names[:2]}


def test_a_name_in_two_records_is_in_one_checkpoint() -> None:
    file, group = recorded("model_100.pt"), recorded("step_100", "model_100.pt", "optim_100.pt")
    assert grouped("model_100.pt", "optim_100.pt", records=(file, group)) == {"step_100": ("optim_100.pt",)}
    other = recorded("other", "optim_100.pt", "model_100.pt")
    assert grouped("model_100.pt", "optim_100.pt", records=(group, other)) == {
        "step_100": ("model_100.pt", "optim_100.pt")
    }


def test_without_words_only_tensorflow_is_grouped() -> None:
    assert grouped(*NANOCHAT, "ckpt-7.index", "iter_0000810_0_local.pt", "iter_0000810_1_local.pt", by_words=False) == {
        "ckpt-7": ("ckpt-7.index",)
    }


def test_what_the_policy_ignores_is_in_no_group() -> None:
    ignoring = Policy(ignore=("*.data-*", "optim_*"))
    names = ("ckpt-7.index", "ckpt-7.data-00000-of-00001", "model_7.pt", "optim_7.pt")
    assert grouped(*names, policy=ignoring) == {"ckpt-7": ("ckpt-7.index",)}


# --- names of groups


def test_no_two_groups_and_nothing_that_is_listed_share_a_name() -> None:
    names = ("model_100.pt", "optim_100.pt", "model_step_100.pt", "optim_step_100.pt")
    assert sorted(grouped(*names).values()) == [names[:2], names[2:]]
    assert list(grouped(*names[2:], listed=("step_100",))) == ["step_100.group"]
    assert list(grouped(*names[2:], listed=("step_100", "step_100.group"))) == ["step_100.group.group"]
    assert list(grouped(*names[2:], records=(recorded("step_100"),))) == ["step_100.group"]
    assert list(grouped("ckpt-7.index", "ckpt-7")) == ["ckpt-7.group"]


def test_a_group_is_not_called_like_a_recorded_one_of_other_files() -> None:
    record = recorded("step_100", "model_100.pt", "optim_100.pt")
    names = ("model_100.pt", "optim_100.pt", "model_step_100.pt", "optim_step_100.pt")
    assert grouped(*names, records=(record,)) == {"step_100": names[:2], "step_100.group": names[2:]}


def test_a_recorded_group_whose_name_something_else_took_is_none_any_more() -> None:
    """The record then stands against what has the name, and that says so."""
    record = recorded("step_100", "odd", "optim_100.pt")
    assert grouped("odd", "optim_100.pt", records=(record,), listed=("step_100",)) == {}
