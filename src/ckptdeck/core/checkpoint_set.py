"""One directory of checkpoints with a role: where it is, where its bookkeeping lives, and whether it is the one meant.

Nothing here creates anything; `initialise.py` does. All JSON is decoded strictly: a damaged `set.json` is a
condition of the set with a reason, never a traceback.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from functools import partial

from ckptdeck.core.errors import UsageError, VolumeSuspect, describe_os_error
from ckptdeck.core.filesystem import FileSystem, is_there, once_more, opened, read_file
from ckptdeck.core.safe_text import json_name, name_from_json, visible
from ckptdeck.core.states import Condition, Role
from ckptdeck.core.values import dataclass
from ckptdeck.core.volume import awaits_mount

FORMAT = "ckptdeck.set/1"
CONTROL_INSIDE = ".ckptdeck"
SUBDIRECTORIES = ("manifest", "receipts", "pins", "staging", "quarantine", "removing")
LOCK, LOG, SPACE, POLICY, SET = "lock", "log.jsonl", "space.jsonl", "ckptdeck.toml", "set.json"
_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class SetDocument:
    """The content of `set.json`: which set this is, and which one is its partner."""

    set_id: str
    role: Role
    run_id: str | None
    partner_id: str | None
    partner_path: str | None


@dataclass(frozen=True, slots=True)
class CheckpointSet:
    """A found set. `control` is None where no control directory is; then it can be looked at, not changed."""

    root: str
    role: Role
    control: str | None
    document: SetDocument | None
    condition: Condition
    why: str = ""

    def path_of(self, name: str) -> str:
        return os.path.join(self.root, name)

    def control_path(self, *parts: str) -> str:
        """A path in the control directory. Raises UsageError without one."""
        if self.control is None:
            raise UsageError(
                f"{visible(self.root)} has no control directory",
                next_step=f"Run `ckptdeck init` on it first ({self.why or 'it was never initialised'})",
            )
        return os.path.join(self.control, *parts)


@dataclass(frozen=True, slots=True)
class Pair:
    """The primary set and, when there is one, its mirror."""

    primary: CheckpointSet
    mirror: CheckpointSet | None

    @property
    def sets(self) -> tuple[CheckpointSet, ...]:
        """Those that there are, the primary first."""
        return (self.primary,) if self.mirror is None else (self.primary, self.mirror)

    def on(self, side: Role) -> CheckpointSet:
        """The set of one side. Raises UsageError when there is no mirror."""
        if side is Role.PRIMARY:
            return self.primary
        if self.mirror is None:
            raise UsageError(
                "There is no mirror", next_step="Give a second directory, or pair one with `ckptdeck init`"
            )
        return self.mirror


def from_condition(found: CheckpointSet, next_step: str = "") -> VolumeSuspect:
    """The refusal for a set that is not there, not readable or not the one meant."""
    what = f"The {found.role} {visible(found.root)} is {found.condition.words}"
    return VolumeSuspect(what, why=found.why, next_step=next_step)


def sibling_control(root: str) -> str:
    """`<parent>/.<name>.ckptdeck`: beside the set, so that a trainer which lists its directory never meets it."""
    parent, name = os.path.split(root.rstrip("/") or "/")
    return os.path.join(parent, f".{name}.ckptdeck")


def inside_control(root: str) -> str:
    return os.path.join(root, CONTROL_INSIDE)


def find_set(fs: FileSystem, root: str, role: Role) -> CheckpointSet:
    """Looks for a set. Never raises for what is on disk: the condition and its reason say what is wrong."""
    root = os.path.realpath(root)
    bare = CheckpointSet(root, role, None, None, Condition.UNINITIALISED)
    try:
        status = fs.lstat(root)
        if not stat.S_ISDIR(status.st_mode):
            return replace(bare, condition=Condition.UNREADABLE, why=f"{visible(root)} is not a directory")
        once_more(partial(_open_for_listing, fs, root))
        if awaits_mount(fs, root) and not once_more(partial(fs.list_directory, root)):
            return replace(
                bare,
                condition=Condition.NOT_MOUNTED,
                why=f"{visible(root)} is empty, and /etc/fstab says that a volume belongs there: mount it",
            )
    except FileNotFoundError:
        return replace(
            bare,
            condition=Condition.NOT_MOUNTED,
            why=f"There is no directory {visible(root)}: mount its volume, check the spelling, or make it if it is new",
        )
    except OSError as error:
        return replace(bare, condition=Condition.UNREADABLE, why=describe_os_error(error, root))
    return with_control(fs, bare, status.st_dev)


def _open_for_listing(fs: FileSystem, root: str) -> None:
    """Raises the OSError that a listing would; a large directory is listed once, by whoever looks at what is in it."""
    with opened(fs, root, os.O_RDONLY | os.O_DIRECTORY):
        pass


def with_control(fs: FileSystem, bare: CheckpointSet, device: int) -> CheckpointSet:
    """`bare`, a root on `device`, with its control directory and what that says; never raises for what is on disk."""
    places = (sibling_control(bare.root), inside_control(bare.root))
    try:
        found = [place for place in places if is_there(fs, os.path.join(place, SET))]
    except OSError as error:
        return replace(bare, condition=Condition.UNREADABLE, why=describe_os_error(error, bare.root))
    if not found:
        return bare
    if len(found) == 2:
        return replace(
            bare,
            condition=Condition.TWO_CONTROLS,
            why=f"Two control directories: {visible(found[0])} and {visible(found[1])}. Move the one that is not "
            "of this set away",
        )
    control = found[0]
    try:
        if fs.lstat(control).st_dev != device:
            return replace(
                bare,
                condition=Condition.WRONG_SET,
                why=f"{visible(control)} is on another device than the set, so nothing could be renamed into it: "
                "the set is not mounted, or needs `ckptdeck init --inside`",
            )
        document = decode_set(once_more(partial(read_file, fs, os.path.join(control, SET), _LIMIT)))
    except OSError as error:
        return replace(bare, condition=Condition.UNREADABLE, why=describe_os_error(error, control))
    except ValueError as error:
        return replace(
            bare,
            condition=Condition.WRONG_SET,
            why=f"{visible(os.path.join(control, SET))} is damaged ({error}). Restore it from a backup, or move the "
            "control directory away and run `ckptdeck init` again: no checkpoint is lost by that",
        )
    if document.role is not bare.role:
        return replace(
            bare,
            control=control,
            document=document,
            condition=Condition.WRONG_SET,
            why=f"{visible(bare.root)} is a {document.role} set and was given as the {bare.role}: swap the directories",
        )
    return replace(bare, control=control, document=document, condition=Condition.OK)


def find_pair(fs: FileSystem, primary: str, mirror: str | None) -> Pair:
    """Both sets; `mirror` None takes the one the primary is paired with.

    Raises UsageError when both are the same directory or one lies in the other. Everything else is a condition.
    """
    first = find_set(fs, primary, Role.PRIMARY)
    named_itself = mirror is None
    if mirror is None:
        if first.document is None or first.document.partner_path is None:
            return Pair(first, None)
        mirror = first.document.partner_path
    second = find_set(fs, mirror, Role.MIRROR)
    refuse_overlap(fs, first.root, second.root)
    pair = check_pair(first, second)
    if named_itself and pair.mirror is not None and pair.mirror.condition is Condition.WRONG_SET:
        return replace(pair, primary=first)  # it says which one it wants: another disk there is no doubt about itself
    return pair


def check_pair(primary: CheckpointSet, mirror: CheckpointSet) -> Pair:
    """Both sets as a pair: each one's condition says so when it is not the other's partner. Pure."""
    return Pair(_checked_primary(primary, mirror), _checked_mirror(primary, mirror))


def refuse_overlap(fs: FileSystem, primary: str, mirror: str) -> None:
    """Raises UsageError for the same directory twice (also through a bind mount) and for nested ones."""
    for outer, inner in ((primary, mirror), (mirror, primary)):
        if inner.startswith(outer.rstrip("/") + "/"):
            raise UsageError(
                f"{visible(inner)} lies inside {visible(outer)}",
                why="A mirror inside the set it mirrors would be listed, and pruned, as part of it",
                next_step="Choose two directories that do not contain each other, best on two disks",
            )
    try:
        one, two = fs.lstat(primary), fs.lstat(mirror)
    except OSError:
        same = primary == mirror
    else:
        same = (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino)
    if same:
        raise UsageError(
            f"Primary and mirror are the same directory: {visible(primary)}",
            next_step="Give two different ones, best on two disks",
        )


def _checked_mirror(primary: CheckpointSet, mirror: CheckpointSet) -> CheckpointSet:
    """Is it the mirror the primary is paired with?"""
    partner = primary.document.partner_id if primary.document is not None else None
    if partner is None or mirror.condition not in (Condition.OK, Condition.UNINITIALISED):
        return mirror
    if mirror.document is None:
        return replace(
            mirror,
            condition=Condition.NOT_MOUNTED,
            why=f"{visible(mirror.root)} is there but holds no set, and this primary is paired with mirror "
            f"{partner[:8]}: its volume is probably not mounted. A really new mirror is `ckptdeck init PRIMARY MIRROR "
            "--new-mirror`",
        )
    if mirror.document.set_id != partner:
        run = visible(mirror.document.run_id or "?")
        return replace(
            mirror,
            condition=Condition.WRONG_SET,
            why=f"{visible(mirror.root)} is mirror {mirror.document.set_id[:8]} (run {run}), this primary is paired "
            f"with {partner[:8]}: another disk is mounted there, or give the right directory",
        )
    return mirror


def _checked_primary(primary: CheckpointSet, mirror: CheckpointSet) -> CheckpointSet:
    """Is it the primary the mirror is paired with?"""
    document = mirror.document
    if document is None or document.partner_id is None or mirror.condition is not Condition.OK:
        return primary
    if primary.condition is Condition.UNINITIALISED:
        return replace(
            primary,
            condition=Condition.NOT_MOUNTED,
            why=f"{visible(primary.root)} holds no set, and mirror {visible(mirror.root)} belongs to primary "
            f"{document.partner_id[:8]}: the primary's volume is probably not mounted. If its disk is dead: "
            "`ckptdeck init NEW MIRROR --replace-primary`",
        )
    if (
        primary.condition is Condition.OK
        and primary.document is not None
        and primary.document.set_id != document.partner_id
    ):
        return replace(
            primary,
            condition=Condition.WRONG_SET,
            why=f"{visible(primary.root)} is primary {primary.document.set_id[:8]}, and the mirror "
            f"{visible(mirror.root)} belongs to primary {document.partner_id[:8]}: these two are not a pair",
        )
    return primary


def encode_set(document: SetDocument) -> bytes:
    partner = {} if document.partner_path is None else json_name(document.partner_path, "partner_path")
    return (
        json.dumps(
            {
                "schema": FORMAT,
                "set_id": document.set_id,
                "role": document.role.value,
                "run_id": document.run_id,
                "partner_id": document.partner_id,
                **partner,
            },
            indent=1,
        )
        + "\n"
    ).encode()


def decode_set(data: bytes) -> SetDocument:
    """Raises ValueError with the reason for anything that is not exactly a `set.json` of this version."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ValueError("not an object")
    if document.get("schema") != FORMAT:
        raise ValueError(f"schema is {document.get('schema')!r}, this program reads {FORMAT!r}")
    set_id, role = document.get("set_id"), document.get("role")
    run_id, partner_id = document.get("run_id"), document.get("partner_id")
    if not isinstance(set_id, str) or len(set_id) < 8:
        raise ValueError("set_id is missing")
    if role not in (Role.PRIMARY.value, Role.MIRROR.value):
        raise ValueError(f"role is {role!r}")
    if not isinstance(run_id, str | None) or not isinstance(partner_id, str | None):
        raise ValueError("run_id or partner_id is not text")
    has_partner = "partner_path" in document or "partner_path_b64" in document
    partner_path = name_from_json(document, "partner_path") if has_partner else None
    return SetDocument(set_id, Role(role), run_id, partner_id, partner_path)
