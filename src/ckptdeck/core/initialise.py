"""Turns directories into sets, once: control directories, pairing, policy file. Safe to run again after any crash.

Everything a removal needs later exists from here on, since a full disk cannot make directories.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from dataclasses import replace

from ckptdeck.core.checkpoint_set import (
    LOCK,
    LOG,
    POLICY,
    SET,
    SPACE,
    SUBDIRECTORIES,
    CheckpointSet,
    Pair,
    SetDocument,
    encode_set,
    find_pair,
    find_set,
    from_condition,
    inside_control,
    refuse_overlap,
    sibling_control,
)
from ckptdeck.core.errors import CkptdeckError, Refused, UsageError, VolumeSuspect, from_os_error
from ckptdeck.core.filesystem import FileSystem, is_there
from ckptdeck.core.host import Host
from ckptdeck.core.policy import POLICY_TEMPLATE
from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.core.small_file import write_small_file
from ckptdeck.core.states import Condition, Role
from ckptdeck.core.values import dataclass
from ckptdeck.core.volume import sync_names

# Trainers that list their directory without a filter and would trip over a control directory inside it
# (layouts.md 2.4): torchtitan reads every name as step-N, NeMo looks only at directories once there is one.
_TRIPS_OVER_INSIDE = re.compile(r"^step-\d+$|-unfinished$")


@dataclass(frozen=True, slots=True)
class Initialised:
    """What `initialise` found and did."""

    pair: Pair
    created: tuple[str, ...]
    """Control directories that are new."""


def initialise(
    host: Host,
    primary: str,
    mirror: str | None,
    *,
    run_id: str | None = None,
    inside: bool = False,
    new_mirror: bool = False,
    forget_mirror: bool = False,
    replace_primary: bool = False,
) -> Initialised:
    """Makes the directories sets and pairs them. What is already so stays as it is.

    Raises UsageError, VolumeSuspect for a side that is not there or not the expected one, Refused where a choice
    must be made by the operator, NoSpace or ItemFailed when it cannot be written.
    """
    if forget_mirror and mirror is not None:
        raise UsageError("--forget-mirror takes no mirror", next_step="Give the primary alone")
    created: list[str] = []
    try:
        first = _require_directory(find_set(host.fs, primary, Role.PRIMARY))
        second = _require_directory(find_set(host.fs, mirror, Role.MIRROR)) if mirror is not None else None
        if second is not None:
            refuse_overlap(host.fs, first.root, second.root)
            _refuse_other_partners(first, second, new_mirror=new_mirror, replace_primary=replace_primary)
        run = run_id or _known_run(first, second) or os.path.basename(first.root)
        first = _ensure_set(host, first, run_id=run, inside=inside, created=created)
        if second is not None:
            second = _ensure_set(host, second, run_id=run, inside=True, created=created)
            _pair(host, first, second)
        elif forget_mirror:
            _update(host, first, partner_id=None, partner_path=None)
    except OSError as error:
        raise from_os_error(error, f"Initialising {visible(primary)}") from error
    return Initialised(find_pair(host.fs, primary, mirror), tuple(created))


def _require_directory(found: CheckpointSet) -> CheckpointSet:
    if found.root == "/":
        raise UsageError("/ is no directory of checkpoints", next_step="Give the directory the trainer writes to")
    if found.condition in (Condition.OK, Condition.UNINITIALISED):
        return found
    raise from_condition(found)


def _refuse_other_partners(
    first: CheckpointSet, second: CheckpointSet, *, new_mirror: bool, replace_primary: bool
) -> None:
    """A pairing is never changed by accident: an unmounted mirror looks like a new one."""
    partner = first.document.partner_id if first.document is not None else None
    if partner is not None and not new_mirror and (second.document is None or second.document.set_id != partner):
        raise VolumeSuspect(
            f"{visible(first.root)} is paired with mirror {partner[:8]}, and {visible(second.root)} is not that one",
            why="An unmounted mirror looks exactly like a new, empty directory",
            next_step="Mount the old mirror; if this one is meant to take its place, add --new-mirror",
        )
    owner = second.document.partner_id if second.document is not None else None
    known = first.document.set_id if first.document is not None else None
    if owner is not None and owner != known and not replace_primary:
        raise VolumeSuspect(
            f"Mirror {visible(second.root)} belongs to primary {owner[:8]}, and {visible(first.root)} is not that one",
            why="Two runs on one mirror would be pruned into each other",
            next_step="Give the right primary; if its disk is dead and this one takes its place, add --replace-primary",
        )


def _known_run(first: CheckpointSet, second: CheckpointSet | None) -> str | None:
    for found in (first, second):
        if found is not None and found.document is not None and found.document.run_id:
            return found.document.run_id
    return None


def _ensure_set(host: Host, found: CheckpointSet, *, run_id: str, inside: bool, created: list[str]) -> CheckpointSet:
    """The set with a complete control directory; `set.json` is written last, so that a half-made one is no set."""
    control = found.control
    if control is None:
        control = inside_control(found.root) if inside else sibling_control(found.root)
        _refuse_place(host.fs, found, control, inside=inside and found.role is Role.PRIMARY)
        created.append(control)
    _make_directories(host.fs, control)
    files: list[tuple[str, bytes]] = [(LOCK, b""), (LOG, b""), (SPACE, b"")]
    if found.role is Role.PRIMARY:
        files.append((POLICY, POLICY_TEMPLATE.encode()))
    for name, content in files:
        if not is_there(host.fs, os.path.join(control, name)):
            write_small_file(host.fs, control, name, content, pid=host.pid)
    if found.document is None:
        document = SetDocument(str(uuid.uuid4()), found.role, run_id, None, None)
        write_small_file(host.fs, control, SET, encode_set(document), pid=host.pid)
        sync_names(host.fs, os.path.dirname(control))
    elif found.document.run_id != run_id:
        _update(host, found, run_id=run_id)
    return find_set(host.fs, found.root, found.role)


def _refuse_place(fs: FileSystem, found: CheckpointSet, control: str, *, inside: bool) -> None:
    parent = os.path.dirname(found.root.rstrip("/") or "/")
    if not inside and not control.startswith(found.root.rstrip("/") + "/"):
        if found.root == "/" or fs.lstat(parent).st_dev != fs.lstat(found.root).st_dev:
            raise Refused(
                f"{visible(found.root)} is a mount point, so its control directory cannot lie beside it",
                guard="other-device",
                why="Quarantine and removal are one rename, which never crosses devices",
                next_step=f"Use `ckptdeck init --inside {shell_word(found.root)} ...`, or a directory below it",
            )
        return
    if inside:
        odd = [entry.name for entry in fs.list_directory(found.root) if _TRIPS_OVER_INSIDE.search(entry.name)]
        if odd:
            raise Refused(
                f"{visible(found.root)} holds {visible(odd[0])}, a name of a trainer that trips over a directory "
                "of ours among its checkpoints",
                guard="inside",
                next_step="Leave --inside out, so that the control directory lies beside the set",
            )


def _make_directories(fs: FileSystem, control: str) -> None:
    for path in (control, *(os.path.join(control, name) for name in SUBDIRECTORIES)):
        with contextlib.suppress(FileExistsError):
            fs.make_directory(path)
    sync_names(fs, control)


def _pair(host: Host, first: CheckpointSet, second: CheckpointSet) -> None:
    """The mirror learns its primary first: a crash in between leaves a primary that can still be paired again."""
    if first.document is None or second.document is None:
        raise _unfinished(first if first.document is None else second)
    _update(host, second, partner_id=first.document.set_id, partner_path=first.root)
    _update(host, first, partner_id=second.document.set_id, partner_path=second.root)


def _update(host: Host, found: CheckpointSet, **changes: str | None) -> None:
    if found.document is None or found.control is None:
        raise _unfinished(found)
    document = replace(found.document, **changes)  # type: ignore[arg-type]
    if document != found.document:
        write_small_file(host.fs, found.control, SET, encode_set(document), pid=host.pid)


def _unfinished(found: CheckpointSet) -> CkptdeckError:
    return VolumeSuspect(
        f"{visible(found.root)} did not stay the set it was made",
        why=found.why,
        next_step="Check the volume, then run `ckptdeck init` again",
    )
