"""Directories and groups against their records: which file differs, by how much, and who may have written it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from ckptdeck.core.health import judge
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.sighting import Checkpoint, Identity, Member, RecordMember, Sighting, StructureFinding
from ckptdeck.core.states import Kind, MemberKind, Role, State, Structure
from ckptdeck.core.unit import unit_digest
from tests.core.looks import DAY, NOW, ONE, OTHER, inventory, ns, receipt, record, structure

SHARDS = {"shard_0.pt": 1000, "shard_1.pt": 1000, "trainer_state.json": 10}


def identity(files: Mapping[str, int], *, age: float = DAY, newest: float = DAY, links: int = 0) -> Identity:
    """Files `age` seconds old, the last of them `newest`."""
    moments = [age] * (len(files) - 1) + [newest]
    members = [
        Member(path, size, ns(NOW - moment), ns(NOW - moment), 7, 100 + number, 0o644, 1, 8)
        for number, ((path, size), moment) in enumerate(zip(files.items(), moments, strict=True))
    ]
    members += [
        Member(f"to_{one}", 0, ns(NOW - age), 1, 7, 200 + one, 0o777, 1, 0, MemberKind.LINK, "shard_0.pt")
        for one in range(links)
    ]
    itself = Member("", 0, ns(NOW - newest), 1, 7, 99, 0o755, 2, 8, MemberKind.DIRECTORY)
    return Identity(tuple(sorted(members, key=lambda member: member.path)), itself)


def recorded(files: Mapping[str, int], *, kind: Kind = Kind.DIRECTORY, digest: str = ONE) -> Sighting:
    """What was recorded a day ago and is there as it was; `changed` makes something else of it."""
    members = tuple(RecordMember(path, size, digest) for path, size in sorted(files.items()))
    made = replace(record("checkpoint-500", 0), kind=kind, members=members, size=sum(files.values()))
    made = replace(made, digest=unit_digest(members))
    return Sighting("checkpoint-500", 500, kind, "hf-trainer", identity=identity(files), record=made)


def judged(one: Sighting, role: Role = Role.PRIMARY) -> Checkpoint:
    (found,) = judge(inventory(one, role=role), DEFAULT_POLICY, NOW)
    return found


def without(files: Mapping[str, int], path: str) -> dict[str, int]:
    return {other: size for other, size in files.items() if other != path}


# --- as recorded


@pytest.mark.parametrize("kind", [Kind.DIRECTORY, Kind.GROUP])
def test_what_is_as_recorded_needs_only_its_content_proven(kind: Kind) -> None:
    one = recorded(SHARDS, kind=kind)
    assert judged(one).state is State.SIZE_ONLY
    assert one.identity is not None
    assert one.record is not None
    proven = receipt(one.identity, digest=one.record.digest, name=one.name)
    assert judged(replace(one, receipt=proven)).state is State.VERIFIED


def test_a_receipt_falls_with_any_file_that_moved() -> None:
    one = recorded(SHARDS)
    assert one.identity is not None
    assert one.record is not None
    proven = receipt(one.identity, digest=one.record.digest, name=one.name)
    stamps = (replace(proven.stamps[0], ctime_ns=5), *proven.stamps[1:])
    found = judged(replace(one, receipt=replace(proven, stamps=stamps)))
    assert found.state is State.SIZE_ONLY
    assert "touched since" in found.reason


# --- short, long, missing, extra


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("kind", [Kind.DIRECTORY, Kind.GROUP])
def test_a_short_shard_is_named_with_the_bytes_it_lacks(role: Role, kind: Kind) -> None:
    one = replace(recorded(SHARDS, kind=kind), identity=identity({**SHARDS, "shard_1.pt": 350}))
    found = judged(one, role)
    assert found.state is State.TRUNCATED
    assert "shard_1.pt: 350 of 1000 bytes, 650 are missing" in found.reason
    assert "with 3 files" in found.reason


def test_the_worst_of_several_is_told_and_how_many_more_there_are() -> None:
    one = replace(recorded(SHARDS), identity=identity({"shard_0.pt": 1200, "shard_1.pt": 1, "trainer_state.json": 10}))
    found = judged(one)
    assert found.state is State.TRUNCATED
    assert "shard_1.pt: 1 of 1000 bytes" in found.reason
    assert "1 other file differs too" in found.reason


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("lost", list(SHARDS))
def test_a_missing_file_makes_it_incomplete_whichever_it_is(role: Role, lost: str) -> None:
    """Also the newest one: that the rest is older than recorded is no sign of a new save."""
    there = identity(SHARDS, age=2 * DAY, newest=DAY)
    left = tuple(member for member in there.members if member.path != lost)
    one = replace(recorded(SHARDS), identity=Identity(left, there.directory))
    found = judged(one, role)
    assert found.state is State.INCOMPLETE
    assert f"{lost} (" in found.reason
    assert "is not there" in found.reason


def test_a_missing_file_and_newer_ones_are_the_trainer_s_on_the_primary_and_bad_on_the_mirror() -> None:
    one = replace(recorded(SHARDS), identity=identity(without(SHARDS, "shard_1.pt"), newest=DAY / 2))
    assert judged(one).state is State.CHANGED
    assert judged(one, Role.MIRROR).state is State.INCOMPLETE


def test_a_missing_file_that_the_layout_misses_too_is_no_new_save() -> None:
    finding = StructureFinding(Structure.INCOMPLETE, "hf-trainer", "it lacks shard_1.pt")
    one = replace(recorded(SHARDS), identity=identity(without(SHARDS, "shard_1.pt"), newest=DAY / 2), structure=finding)
    found = judged(one)
    assert (found.state, found.reason) == (State.INCOMPLETE, "it lacks shard_1.pt")


def test_a_file_that_was_added_since_is_the_trainer_s_on_the_primary_and_suspect_on_the_mirror() -> None:
    one = replace(recorded(SHARDS), identity=identity({**SHARDS, "eval.json": 7}, newest=DAY / 2))
    on_primary, on_mirror = judged(one), judged(one, Role.MIRROR)
    assert on_primary.state is State.CHANGED
    assert "eval.json (7 B) is in no record" in on_primary.reason
    assert "adopt --replace" in on_primary.reason
    assert on_mirror.state is State.SUSPECT
    assert "eval.json (7 B) is in no record" in on_mirror.reason


def test_an_old_file_that_was_added_is_suspect_on_the_primary_too() -> None:
    one = replace(recorded(SHARDS), identity=identity({"eval.json": 7, **SHARDS}))
    assert judged(one).state is State.SUSPECT


def test_another_size_and_a_newer_time_is_a_new_save_and_at_the_recorded_time_damage() -> None:
    other = {**SHARDS, "trainer_state.json": 12}
    newer = replace(recorded(SHARDS), identity=identity(other, newest=DAY / 2))
    assert judged(newer).state is State.CHANGED
    assert judged(newer, Role.MIRROR).state is State.CORRUPT
    assert judged(replace(newer, identity=identity(other))).state is State.CORRUPT


@pytest.mark.parametrize("structured", [Structure.CUT, Structure.BROKEN])
def test_a_new_save_whose_own_format_says_it_is_cut_is_bad(structured: Structure) -> None:
    one = replace(
        recorded(SHARDS),
        identity=identity({**SHARDS, "trainer_state.json": 2}, newest=DAY / 2),
        structure=structure(structured),
    )
    assert judged(one).state in (State.TRUNCATED, State.CORRUPT)


def test_sizes_that_only_add_up_to_the_recorded_one_are_no_match() -> None:
    swapped = {"shard_0.pt": 900, "shard_1.pt": 1100, "trainer_state.json": 10}
    found = judged(replace(recorded(SHARDS), identity=identity(swapped)), Role.MIRROR)
    assert found.state is State.TRUNCATED
    assert "shard_0.pt" in found.reason


def test_a_renamed_file_is_missing_under_its_name() -> None:
    renamed = {("shard_9.pt" if path == "shard_1.pt" else path): size for path, size in SHARDS.items()}
    found = judged(replace(recorded(SHARDS), identity=identity(renamed)))
    assert found.state is State.INCOMPLETE
    assert "shard_1.pt" in found.reason


def test_a_young_difference_says_that_it_may_still_be_written() -> None:
    one = replace(recorded(SHARDS), identity=identity({**SHARDS, "trainer_state.json": 2}, newest=10.0))
    assert "it may still be written" in judged(one, Role.MIRROR).reason


# --- content


@pytest.mark.parametrize("role", list(Role))
def test_a_bad_receipt_about_these_very_files_makes_it_corrupt(role: Role) -> None:
    one = recorded(SHARDS)
    assert one.identity is not None
    bad = receipt(one.identity, digest=OTHER, name=one.name, good=False)
    assert judged(replace(one, receipt=bad), role).state is State.CORRUPT


def test_other_content_in_newer_files_is_the_trainer_s_on_the_primary() -> None:
    there = identity(SHARDS, newest=DAY / 2)
    one = replace(recorded(SHARDS), identity=there)
    bad = receipt(there, digest=OTHER, name=one.name, good=False)
    assert judged(replace(one, receipt=bad)).state is State.CHANGED
    assert judged(replace(one, receipt=bad), Role.MIRROR).state is State.CORRUPT


# --- without a record


def test_links_and_empty_directories_alone_hold_nothing() -> None:
    made = identity({"x": 1}, links=2)
    links = Identity(tuple(m for m in made.members if m.kind is MemberKind.LINK), made.directory)
    finding = StructureFinding(Structure.UNKNOWN, "", "no file, only links")
    one = Sighting("checkpoint-500", 500, Kind.DIRECTORY, "hf-trainer", identity=links, structure=finding)
    assert judged(one).state is State.INCOMPLETE
    assert judged(replace(one, unfinished="checkpoint-500-unfinished")).state is State.INCOMPLETE


def test_a_link_that_leads_out_is_suspect_also_when_it_was_recorded() -> None:
    one = recorded(SHARDS)
    assert one.identity is not None
    out = replace(one.identity.members[0], kind=MemberKind.LINK, target="../../elsewhere", size=0)
    found = judged(replace(one, identity=Identity((out, *one.identity.members[1:]), one.identity.directory)))
    assert found.state is State.SUSPECT
    assert "outside of the checkpoint" in found.reason
