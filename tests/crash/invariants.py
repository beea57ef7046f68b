"""What must be true on disk whatever happened (1-product.md, invariant 1; durability.md R5, R8, R15).

Each check returns the violations as sentences; an empty list is the proof.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.sighting import Record, Stamp
from ckptdeck.core.small_file import SUFFIX
from ckptdeck.core.states import Kind
from tests.crash.contents import Content, Tree, claims_to_be_whole, digest_of, in_words, read_content, read_group

BEST_EFFORT = frozenset({"log.jsonl", "space.jsonl", "lock"})
"""Files of a control directory that say what happened, not what is so."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What may stand under each name of a set at one moment, and what must."""

    legal: Mapping[str, frozenset[str]]
    """Final name → digests of the contents that count as whole there."""
    kept: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Final name → digests of which one has to be there: it was acknowledged, or it stood there before."""
    groups: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    """Name of a group → its members → digests of what may lie there while the group is not whole."""
    foreign: frozenset[str] = frozenset()
    """Names in the set that are nobody's business."""


def judge_names(root: Path, promise: Promise) -> list[str]:
    """Nothing under a final name that is not whole, nothing acknowledged that is gone, one part per name."""
    violations = []
    parts: dict[str, int] = {}
    names = {name for name in os.listdir(root) if not name.startswith(".ckptdeck") and name != "lost+found"}
    members = {member for group in promise.groups.values() for member in group}
    for name in promise.groups:
        violations += _judge_group(root, name, promise)
    for name in sorted(names - promise.foreign - members):
        if name.endswith(".part"):
            parts[name] = parts.get(name, 0) + 1
        elif name not in promise.legal:
            violations.append(f"{name}: nobody may have made this name")
        else:
            violations += _judge_content(root / name, promise.legal[name])
    if len(parts) > len(promise.legal):
        violations.append(f"more parts than names: {sorted(parts)}")
    for name, digests in promise.kept.items():
        if name in promise.groups:
            group = read_group(root, promise.groups[name])
            if not claims_to_be_whole(group) or digest_of(group) not in digests:
                violations.append(f"{name}: was whole or acknowledged, and is gone: {in_words(group)}")
        elif name not in names:
            violations.append(f"{name}: was whole or acknowledged, and is gone")
        elif name in promise.legal and digests < promise.legal[name]:
            violations += [f"{v} (what was acknowledged is lost)" for v in _judge_content(root / name, digests)]
    return violations


def content_under(root: Path, name: str, promise: Promise) -> Content:
    """What a checkpoint of this name holds. Raises OSError."""
    if name in promise.groups:
        return read_group(root, promise.groups[name])
    return read_content(root / name)


def _judge_content(path: Path, digests: frozenset[str]) -> list[str]:
    try:
        content = read_content(path)
    except OSError as error:
        return [f"{path.name}: cannot be read: {error}"]
    return [] if digest_of(content) in digests else [f"{path.name}: {in_words(content)}"]


def _judge_group(root: Path, name: str, promise: Promise) -> list[str]:
    """With its marker it has to be whole; without it every file of it that is there has to be."""
    members = promise.groups[name]
    group = read_group(root, members)
    if claims_to_be_whole(group):
        return [] if digest_of(group) in promise.legal[name] else [f"{name} with its marker: {in_words(group)}"]
    return [
        f"{member} of {name}: {in_words(data)}"
        for member, data in group.files.items()
        if digest_of(data) not in members[member]
    ]


def fingerprint(*roots: Path) -> str:
    """One digest of every name, mode, mtime and byte below `roots`; best-effort files left out."""
    total = hashlib.sha256()
    for root in roots:
        for directory, directories, files in os.walk(root):
            directories.sort()
            for name in sorted([*files, *directories]):
                path = os.path.join(directory, name)
                found = os.lstat(path)
                entry = f"{os.path.relpath(path, root)}\0{found.st_mode:o}"
                if stat.S_ISLNK(found.st_mode):
                    entry += f"\0{os.readlink(path)}"
                if stat.S_ISREG(found.st_mode):
                    if name in BEST_EFFORT:
                        continue
                    content = hashlib.sha256(Path(path).read_bytes()).hexdigest()
                    entry += f"\0{found.st_size}\0{found.st_mtime_ns}\0{content}"
                total.update(os.fsencode(entry) + b"\n")
    return total.hexdigest()


def judge_records(target: CheckpointSet, promise: Promise, known_bad: Mapping[str, frozenset[str]]) -> list[str]:
    """No record, next record or good receipt that speaks of other bytes than those under its name.

    While a publish is under way a name may hold the content of its record or of its next record. `known_bad` are
    contents that were wrong before: there the record is right and the file is not.
    """
    contents = Manifest(FileSystem(), target).read_all(0)
    violations = [f"{Path(damaged.path).name}: {damaged.why}" for damaged in contents.damaged]
    for name, record in contents.records.items():
        found = _digest_under(target, record)
        announced = contents.next_records.get(name)
        allowed = {record.digest} | ({announced.digest} if announced else set()) | known_bad.get(name, frozenset())
        if found is None and name not in known_bad:
            violations.append(f"{name}: recorded, and nothing is there")
        elif found is not None and found not in allowed:
            violations.append(f"{name}: its record speaks of other bytes than those there")
        if record.digest not in promise.legal.get(name, frozenset()):
            violations.append(f"{name}: recorded with a content that never was whole")
    for name, receipt in contents.receipts.items():
        spoken_of = contents.records.get(name) or contents.next_records.get(name)
        if not receipt.good or spoken_of is None or not _stamps_stand(receipt.stamps, target, spoken_of):
            continue
        if _digest_under(target, spoken_of) != receipt.digest:
            violations.append(f"{name}: a standing receipt calls other bytes verified")
    return violations


def judge_settled(
    target: CheckpointSet, known_bad: Mapping[str, frozenset[str]], *, parts_may_stay: bool = False
) -> list[str]:
    """After `recover` nothing is left half done: no next record, no temporary file of ours, nothing staged.

    `parts_may_stay`: of an interrupted copy, for the same command to go on with.
    """
    contents = Manifest(FileSystem(), target).read_all(0)
    violations = [f"{name}: a next record is left" for name in contents.next_records]
    for top in {target.root, target.control_path()}:
        for directory, _, files in os.walk(top):
            if not parts_may_stay:
                violations += [f"{name}: a part is left" for name in files if name.endswith(".part")]
            violations += [f"{name}: left in {directory}" for name in files if name.endswith(SUFFIX)]
    if not parts_may_stay:
        violations += [f"{name}: left in the staging place" for name in os.listdir(target.control_path("staging"))]
    for name, record in contents.records.items():
        found = _digest_under(target, record)
        if found is not None and found != record.digest and found not in known_bad.get(name, frozenset()):
            violations.append(f"{name}: its record speaks of other bytes after recover")
    return violations


def _digest_under(target: CheckpointSet, record: Record) -> str | None:
    """Of what lies where `record` says; None for nothing, and for a group that does not claim to be whole."""
    if record.kind is Kind.GROUP:
        group = read_group(Path(target.root), (member.path for member in record.members))
        return digest_of(group) if claims_to_be_whole(group) else None
    try:
        return digest_of(read_content(Path(target.path_of(record.name))))
    except FileNotFoundError:
        return None


def _stamps_stand(stamps: tuple[Stamp, ...], target: CheckpointSet, record: Record) -> bool:
    """Every member of it has the size and times of its stamp, and there is no other."""
    try:
        found = {stamp.path: stamp for stamp in _stamps_under(target, record)}
    except FileNotFoundError:
        return False
    return found == {stamp.path: stamp for stamp in stamps}


def _stamps_under(target: CheckpointSet, record: Record) -> Iterator[Stamp]:
    path = target.path_of(record.name)
    match record.kind:
        case Kind.FILE:
            yield _stamp("", path)
        case Kind.GROUP:
            for member in record.members:
                yield _stamp(member.path, os.path.join(target.root, member.path))
        case Kind.DIRECTORY:
            tree = read_content(Path(path))
            assert isinstance(tree, Tree)
            for inside in (*tree.files, *tree.links, *tree.empty):
                yield _stamp(inside, os.path.join(path, inside))


def _stamp(name: str, path: str) -> Stamp:
    found = os.lstat(path)
    size = found.st_size if stat.S_ISREG(found.st_mode) else 0
    return Stamp(name, size, found.st_mtime_ns, found.st_ctime_ns)
