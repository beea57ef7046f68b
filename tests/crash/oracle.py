"""What must be true of a world after anything was done in it (1-product.md, invariants), worked out from the disk.

Each check returns the violations as sentences. Nothing here asks a planner or a guard; only `verified` is taken from
a survey, and then held against the bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ckptdeck.core.errors import CkptdeckError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.manifest import Manifest, ManifestContents
from ckptdeck.core.sides import ResumePoint, Survey
from ckptdeck.core.sighting import Record
from ckptdeck.core.states import Kind, Role, State
from tests.crash.contents import claims_to_be_whole, digest_of, read_content, read_group
from tests.crash.world import FOREIGN, KEEP, Ended, World
from tests.crash.world_contents import kind_of, step_of

YOUNG = 300.0
"""Seconds (invariant 2)."""
_YEAR_1990 = 631_152_000
_POINTER = "latest"


@dataclass(frozen=True, slots=True)
class Deed:
    """What was asked for."""

    action: str
    side: Role | None = None
    """Chosen by the operator, who then takes good copies too."""
    replace: bool = False
    put_back: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """What lies under one name on one side."""

    digest: str
    complete: bool
    """It has all that makes it look like a checkpoint: of a group, the marker."""
    times: tuple[int, ...]
    record: Record | None


@dataclass(frozen=True, slots=True)
class Moment:
    """A world at one instant."""

    now: float
    copies: Mapping[tuple[Role, str], Copy]
    pinned: frozenset[str]
    pointers: Mapping[Role, str]
    """Side → the name its pointer file holds."""
    marked: frozenset[str]
    """Digests an operator called bad."""
    strange: Mapping[str, str]
    """Names that are none of ours, and what is there."""
    unknown: frozenset[str]
    """Names in a set that nobody should have made."""
    leaving: frozenset[tuple[Role, str]] = frozenset()
    """What a deletion that was interrupted says it was about."""
    mirror_place: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """While the mirror is displaced: everything in its place and in it."""

    def of(self, role: Role, name: str) -> Copy | None:
        return self.copies.get((role, name))


def take(world: World) -> Moment:
    """Reads everything."""
    copies: dict[tuple[Role, str], Copy] = {}
    pinned: set[str] = set()
    marked: set[str] = set()
    strange: dict[str, str] = {}
    unknown: set[str] = set()
    pointers: dict[Role, str] = {}
    leaving: set[tuple[Role, str]] = set()
    sides = [Role.PRIMARY] if world.displaced else list(Role)
    for role in sides:
        root = world.root(role)
        target = world.found(role)
        contents = Manifest(FileSystem(), target).read_all(0)
        pinned |= contents.pins.keys()
        for intent in Path(target.control_path("removing")).glob("*.json"):
            leaving.add((role, json.loads(intent.read_text())["name"]))
        marked |= {record.marked_bad for record in contents.records.values() if record.marked_bad is not None}
        members = {path for files in world.groups.values() for path in files}
        for name in os.listdir(root):
            path = root / name
            if name in FOREIGN or path.is_symlink():
                strange[f"{role}/{name}"] = os.readlink(path) if path.is_symlink() else str(path.stat().st_mtime_ns)
            elif name == _POINTER:
                pointers[role] = path.read_text()
            elif name in world.whole:
                times = tuple(sorted(each.stat().st_mtime_ns for each in world.paths_of(role, name)))
                digest = digest_of(read_content(path))
                copies[role, name] = Copy(digest, True, times, _record_of(contents, name, digest))
            elif name not in members and not name.endswith(".part") and not name.startswith(".ckptdeck"):
                unknown.add(f"{role}/{name}")
        for name, files in world.groups.items():
            group = read_group(root, files)
            if group.files:
                times = tuple(sorted((root / path).stat().st_mtime_ns for path in group.files))
                digest = digest_of(group)
                record = _record_of(contents, name, digest)
                copies[role, name] = Copy(digest, claims_to_be_whole(group), times, record)
    place = {}
    if world.displaced:
        tops = (str(world.root(Role.MIRROR)), str(world.away))
        place = {path: stamp for path, stamp in world.everything().items() if path.startswith(tops)}
    return Moment(
        world.clock.now(),
        copies,
        frozenset(pinned),
        pointers,
        frozenset(marked),
        strange,
        frozenset(unknown),
        frozenset(leaving),
        place,
    )


def _record_of(contents: ManifestContents, name: str, digest: str) -> Record | None:
    """Between a rename and the last step of a publish the next record speaks of what is there."""
    following = contents.next_records.get(name)
    return following if following is not None and following.digest == digest else contents.records.get(name)


def judge(world: World, before: Moment, after: Moment, deed: Deed, ended: Ended) -> list[str]:
    """What is wrong with what ckptdeck did between two moments."""
    wrong = [f"a name nobody may have made: {name}" for name in after.unknown - before.unknown]
    if ended.wrote_while_planning:
        wrong.append("planning wrote something")
    if before.strange != after.strange:
        wrong.append("something that is none of ours was touched")
    if before.mirror_place != after.mirror_place:
        wrong.append("something was done to the place of a mirror that is not there")
    for role, name in sorted({*before.copies, *after.copies}):
        then, now = before.of(role, name), after.of(role, name)
        if then == now or (then is not None and now is not None and then.digest == now.digest):
            continue
        if now is None or (not now.complete and then is not None and then.complete):
            wrong += [f"{role} {name}: {text}" for text in _gone(world, before, after, role, name, deed, ended)]
        elif now.complete:
            wrong += [f"{role} {name}: {text}" for text in _new(world, before, role, name, then, now, deed)]
    if deed.action not in ("rollback", "mark-bad", "somebody") and deed.side is None:
        for role in {role for role, _ in before.copies}:
            had, has = len(counting(world, before, role)), len(counting(world, after, role))
            if has < min(KEEP, had):
                wrong.append(f"{role}: {had} whole steps became {has}")
    wrong += _pointers(world, before, after)
    return wrong


def _new(
    world: World, before: Moment, role: Role, name: str, then: Copy | None, now: Copy, deed: Deed
) -> Iterator[str]:
    """Invariant 1."""
    if now.digest not in world.whole[name] and not deed.put_back:
        yield "something under a final name that is not whole"
    may_replace = deed.action in ("save", "recover") or (then is not None and _mirror_may_replace(deed, role, then))
    if then is not None and is_whole(world, before, name, then) and not may_replace:
        yield "something whole was replaced"


def _gone(
    world: World, before: Moment, after: Moment, role: Role, name: str, deed: Deed, ended: Ended
) -> Iterator[str]:
    """Invariants 2, 3 and 5."""
    then = before.of(role, name)
    assert then is not None
    if world.displaced:
        yield "it left its side while the mirror was not there"
    why = protection(before, role, name, ended.survey)
    if why:
        yield f"it left its side although {why}"
    whole = is_whole(world, before, name, then)
    if role is Role.MIRROR and (then.record is None or then.record.digest != then.digest):
        whole = False  # the mirror is ours: whatever is not what its record says is bad
    match deed.action:
        case "prune":
            yield from _too_few(world, after, role, name, then)
        case "quarantine":
            if whole and deed.side is None:
                yield "something whole was set aside unasked"
        case "repair":
            if whole:
                yield "something whole made way and nothing came"
        case "mirror" if _mirror_may_replace(deed, role, then):
            pass
        case "recover" if not whole:
            pass
        case _:
            yield f"it left its side by {deed.action}"


def _mirror_may_replace(deed: Deed, role: Role, then: Copy) -> bool:
    """Where asked for, and what a rollback set aside and the run saved again."""
    retired = then.record is not None and then.record.retired
    return deed.action == "mirror" and role is Role.MIRROR and (deed.replace or retired)


def _too_few(world: World, after: Moment, role: Role, name: str, then: Copy) -> Iterator[str]:
    retired = then.record is not None and then.record.retired
    newer = {step for step in counting(world, after, role) if retired or step > step_of(name)}
    if len(newer) < KEEP:
        yield f"it was pruned with {len(newer)} whole newer steps on its side"
    if role is Role.PRIMARY:
        newer &= counting(world, after, Role.MIRROR)
        if len(newer) < KEEP:
            yield f"it was pruned with {len(newer)} whole newer steps on both sides"


def protection(before: Moment, role: Role, name: str, survey: Survey | None) -> str:
    """Why invariant 2 keeps everybody from taking a copy off its side; "" for no reason."""
    copy = before.of(role, name)
    assert copy is not None
    for mtime_ns in copy.times:
        seconds = mtime_ns / 1e9
        if seconds < _YEAR_1990 or seconds > before.now + YOUNG:
            return "its time is unknown"
        if before.now - seconds < YOUNG:
            return "it is young"
    if name in before.pinned:
        return "it is pinned"
    if before.pointers.get(role, "").strip() == name:
        return "a pointer names it"
    if survey is not None and _last_good(survey) == (role, name):
        return "it is the last good copy of the newest good step"
    return ""


def _last_good(survey: Survey) -> tuple[Role, str] | None:
    """The one verified copy of the newest step that has any; None when both sides have it."""
    verified = {
        (side.role, copy.name): copy.step if copy.step is not None else -1
        for side in survey.sides
        for copy in side.checkpoints
        if copy.state is State.VERIFIED
    }
    if not verified:
        return None
    newest = max(verified.values())
    copies = [key for key, step in verified.items() if step == newest]
    return copies[0] if len(copies) == 1 else None


def is_whole(world: World, moment: Moment, name: str, copy: Copy) -> bool:
    return copy.complete and copy.digest in world.whole[name] and copy.digest not in moment.marked


def counting(world: World, moment: Moment, role: Role) -> set[int]:
    """Steps with a copy on that side that is what its record says, and neither set aside nor called bad."""
    return {
        step_of(name)
        for (side, name), copy in moment.copies.items()
        if side is role
        and copy.record is not None
        and not copy.record.retired
        and copy.record.digest == copy.digest
        and is_whole(world, moment, name, copy)
    }


def _pointers(world: World, before: Moment, after: Moment) -> Iterator[str]:
    """A pointer that came to a side names something whole there."""
    for role, target in after.pointers.items():
        if before.pointers.get(role) == target:
            continue
        copy = after.of(role, target.strip())
        if copy is None or not is_whole(world, after, target.strip(), copy):
            yield f"the pointer on the {role} names {target.strip()}, which is not whole there"


def standing(world: World, moment: Moment) -> list[str]:
    """What a look at both sides says now, held against the bytes."""
    wrong = []
    survey = world.look()
    for side in survey.sides:
        for copy in side.checkpoints:
            if copy.state is not State.VERIFIED:
                continue
            there = moment.of(side.role, copy.name)
            if there is None or there.digest != copy.digest or not there.complete:
                wrong.append(f"{side.role} {copy.name} is called verified and is not what its record says")
            elif there.digest not in world.whole[copy.name]:
                wrong.append(f"{side.role} {copy.name} is called verified and never was whole")
            elif there.digest in moment.marked:
                wrong.append(f"{side.role} {copy.name} is called verified and was marked bad")
    return wrong


def unrecorded_since(before: Moment, after: Moment) -> list[str]:
    """After recovery: what still has its name has the record that an interrupted deletion had taken.

    Of a group the marker is its name; files that changed after that one was gone are not what was being deleted.
    """
    return [
        f"{role} {name} lost its record"
        for role, name in before.leaving
        if (copy := after.of(role, name)) is not None and copy.complete and copy.record is None
    ]


def judge_answer(world: World, moment: Moment, point: ResumePoint | None, error: CkptdeckError | None) -> list[str]:
    """What `resume` said: something whole, the newest there is, and nothing only where there is nothing."""
    whole = {
        (role, name)
        for (role, name), copy in moment.copies.items()
        if copy.record is not None
        and copy.record.digest == copy.digest
        and not copy.record.retired
        and is_whole(world, moment, name, copy)
    }
    if point is None:
        return [f"resume found nothing whole although there is {sorted(whole)[0]}: {error}"] if whole else []
    copy = moment.of(point.side, point.name)
    if copy is None or not is_whole(world, moment, point.name, copy):
        return [f"resume answers with {point.name} on the {point.side}, which is not whole"]
    newer = [name for _, name in whole if step_of(name) > step_of(point.name)]
    return [f"resume answers with {point.name} although {newer[0]} is whole"] if newer else []


def vouch(world: World, before: Moment, after: Moment) -> list[str]:
    """What an operator recorded counts as whole from now on, unless its own format speaks against it."""
    wrong = []
    for (role, name), copy in after.copies.items():
        then = before.of(role, name)
        if copy.record is None or copy.record.digest != copy.digest or copy.digest in world.whole[name]:
            continue
        if then is not None and then.record is not None and then.record.digest == copy.record.digest:
            continue
        if copy.digest in world.cut and kind_of(name) is Kind.FILE:
            wrong.append(f"{role} {name}: recorded although its format says that it is cut")
        world.whole[name].add(copy.digest)
    return wrong
