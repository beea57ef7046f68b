"""What a scan sees: stat, records, receipts and structure of everything in one checkpoint set. No judgement yet.

All sizes are bytes; `*_ns` are integer nanoseconds since 1970; other times are float seconds since 1970 (UTC).
Names are relative to the set's root, as `os.fsdecode` gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from ckptdeck.core.safe_text import visible
from ckptdeck.core.states import (
    Condition,
    Evidence,
    FlightState,
    Kind,
    MemberKind,
    NameFolding,
    Origin,
    Role,
    State,
    Structure,
)
from ckptdeck.core.values import dataclass

if TYPE_CHECKING:
    from ckptdeck.core.manifest import ManifestContents

BLOCK = 512
"""Bytes of what a stat calls a block, on every file system."""
ENOUGH = 2
"""Listings in a row that lack a name: they agree, and a third says no more."""
_SHARING = frozenset({"btrfs", "xfs", "zfs", "bcachefs"})


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a checkpoint as `lstat` sees it. A file checkpoint is its own single member with path ""."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    device: int
    inode: int
    mode: int
    links: int
    blocks: int
    """Allocated, of `BLOCK` bytes each."""
    kind: MemberKind = MemberKind.FILE
    """Links and empty directories have size 0."""
    target: str = ""
    """Of a link."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Every member's stat: a receipt or a plan holds only while this stands still."""

    members: tuple[Member, ...]
    """In the order of their paths."""
    directory: Member | None = field(default=None, compare=False)
    """Of a directory: its own stat, which a rename moves and which is no part of its content."""
    size: int = field(init=False, compare=False)
    mtime_ns: int = field(init=False, compare=False)
    """Of the file written last; of an empty directory its own."""

    def __post_init__(self) -> None:
        if len(self.members) == 1 and self.members[0].kind is MemberKind.FILE:
            object.__setattr__(self, "size", self.members[0].size)
            object.__setattr__(self, "mtime_ns", self.members[0].mtime_ns)
            return
        times = [member.mtime_ns for member in self.members if member.kind is MemberKind.FILE]
        if not times and self.directory is not None:
            times.append(self.directory.mtime_ns)
        object.__setattr__(self, "size", sum(member.size for member in self.members))
        object.__setattr__(self, "mtime_ns", max(times, default=0))

    @property
    def files(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.kind is MemberKind.FILE)

    @property
    def allocated(self) -> int:
        """Bytes on the disk: less than `size` for a sparse file, and counted once for a file with two names here."""
        nodes = {(m.device, m.inode): m.blocks for m in self.members if m.kind is MemberKind.FILE}
        return sum(nodes.values()) * BLOCK

    @property
    def node(self) -> tuple[int, int] | None:
        """(device, inode) of what has the name; None for a group, which is several names."""
        if self.directory is not None:
            return self.directory.device, self.directory.inode
        if len(self.members) == 1 and not self.members[0].path:
            return self.members[0].device, self.members[0].inode
        return None

    @property
    def stamps(self) -> tuple[Stamp, ...]:
        """What is compared and stored; device and inode are not (R32: they do not survive a remount)."""
        return tuple(Stamp(m.path, m.size, m.mtime_ns, m.ctime_ns) for m in self.members)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The part of a member's stat that a receipt keeps."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True, slots=True)
class RecordMember:
    """One file of a recorded checkpoint. `digest` is the lower-case hex xxh3_128 of its bytes, of a link's target."""

    path: str
    size: int
    digest: str
    kind: MemberKind = MemberKind.FILE
    target: str = ""
    """Of a link."""


@dataclass(frozen=True, slots=True)
class Record:
    """The manifest's entry for one checkpoint (2-core.md "A record")."""

    name: str
    step: int | None
    kind: Kind
    size: int
    mtime_ns: int
    digest: str
    members: tuple[RecordMember, ...]
    recorded_at: float
    origin: Origin
    run_id: str | None
    host: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    retired: bool = False
    marked_bad: str | None = None
    """A digest the operator declared bad; a re-copied twin of it is bad too."""
    replaces: str | None = None
    """In a next record: the digest of the file it may replace."""
    algorithm: str = "xxh3_128"


@dataclass(frozen=True, slots=True)
class Receipt:
    """The stored result of one verification; counts only while `stamps` are what is on disk."""

    name: str
    good: bool
    digest: str
    """What was read."""
    stamps: tuple[Stamp, ...]
    evidence: Evidence
    verified_at: float
    boot_id: str
    mount: str
    """Identity of the mount; evidence below device/server dies with it."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class StructureFinding:
    """What a probe of the format says, with its arithmetic."""

    structure: Structure
    format: str
    """"torch-zip", "safetensors", ..., "" when no format is known."""
    text: str
    """One sentence with expected, found and where."""
    expected_size: int | None = None
    proof: str = "none"
    """"exact-size", "min-size", "magic" or "none"; "checksums" where those inside the file proved its content."""
    loader_says: str = ""
    """The library's own, often misleading, message for this damage, and what it means."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A process that holds a file open for writing."""

    pid: int
    name: str

    def shown(self, limit: int | None = None) -> str:
        """ "python3 (pid 48213)", safe to show; `limit` characters of the name."""
        return f"{visible(self.name, limit)} (pid {self.pid})"


@dataclass(frozen=True, slots=True)
class Sighting:
    """One checkpoint name on one side: what is there, what is recorded."""

    name: str
    step: int | None
    kind: Kind
    family: str
    """Which naming family matched: "single-file", "lightning", ...; "foreign" for none, "recorded" when only a record
    says that the name is a checkpoint."""
    rolling: bool = False
    identity: Identity | None = None
    """None when only a record is left."""
    record: Record | None = None
    next_record: Record | None = None
    receipt: Receipt | None = None
    structure: StructureFinding | None = None
    """None where no probe was needed (size matches a record) or none could run."""
    writer: Writer | None = None
    held: bool = False
    """Somebody has it open for writing (lease refused, or a writer is known)."""
    moved: bool = False
    """Size or mtime changed between two looks."""
    pinned: str | None = None
    """The pin's reason, "" for none given; None when not pinned."""
    link: str | None = None
    """Target, when the name is a symbolic link."""
    unfinished: str | None = None
    """A marker beside it that says it is being written or removed (NeMo's `<name>-unfinished`)."""
    pointed_at_by: str | None = None
    """The pointer file or link that names this checkpoint."""
    error: str | None = None
    """What the file system said when it could not be looked at."""
    seen_missing: int = 0
    """How many listings in a row lacked it, up to `ENOUGH`."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """A `.part`, or the temporary name of a common trainer."""

    name: str
    target: str
    """The final name it is for, "" when it cannot be told."""
    step: int | None
    size: int
    mtime_ns: int
    inode: int
    state: FlightState
    reason: str
    expected_size: int | None
    writer: Writer | None
    bytes_per_second: float | None
    ours: bool
    """Named by our own publish, so its flock tells whether it lives."""
    final_name: bool = False
    """Written directly under a final name (`unsafe-write`)."""
    kind: Kind = Kind.FILE
    staged: bool = False
    """A tree in the control directory's staging place; its path is not in the set."""
    announced: bool = False
    """A next record speaks of it."""
    promised: int | None = None
    """Bytes that its own header says it will have; only of a file written under its final name."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Something set aside by one rename."""

    id: str
    name: str
    reason: str
    size: int
    at: float
    kind: Kind = Kind.FILE
    named: bool = False
    """Its note could be read: `name` is the checkpoint's, not only the id."""
    frees: int = 0
    """Bytes that purging it gives back (freed.py)."""


@dataclass(frozen=True, slots=True)
class Removing:
    """A deletion that was interrupted: it has an intent, and its data may or may not have lost its name."""

    id: str
    name: str
    """Of the checkpoint; the id where the intent cannot be read."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """A small file of the trainer's that names a checkpoint (`latest`, trackers, TensorFlow's `checkpoint`)."""

    name: str
    targets: tuple[str, ...]
    """Names in the set; empty when it names nothing that is there."""
    content: bytes = field(repr=False, default=b"")
    inode: int = 0
    mtime_ns: int = 0


@dataclass(frozen=True, slots=True)
class BestModel:
    """What an HF Trainer calls its best, as its newest checkpoint says."""

    source: str
    """The checkpoint that says so."""
    stamp: tuple[int, int, int]
    """(inode, size, mtime_ns) of the file that says so."""
    target: str
    """"" for none."""


@dataclass(frozen=True, slots=True)
class Volume:
    """The file system under a set. Bytes and counts from statvfs, for an unprivileged writer."""

    fs_type: str
    fs_class: str
    """"local", "nfs", "smb", "win" or "fuse" (durability.md section 2)."""
    total: int
    free: int
    free_inodes: int
    optimistic: bool
    """The free figure may promise more than can be written (W14)."""
    device: int
    read_only: bool
    mount: str
    """Boot-independent identity of the mount: "<mount id>:<device>"."""

    @property
    def shares_blocks(self) -> bool:
        """Two files may have blocks in common (reflinks, snapshots), and no stat says which."""
        return self.fs_type in _SHARING


@dataclass(frozen=True, slots=True)
class Warning:
    """A degraded promise, with a stable code (durability.md 2.5)."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Inventory:
    """One side, looked at once."""

    role: Role
    root: str
    control: str | None
    set_id: str | None
    run_id: str | None
    condition: Condition
    why: str
    """Why the condition is not ok, and what to do; "" when it is."""
    taken_at: float
    volume: Volume | None
    sightings: tuple[Sighting, ...] = ()
    in_flight: tuple[InFlight, ...] = ()
    quarantine: tuple[Quarantined, ...] = ()
    removing: tuple[Removing, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)
    """Name → why it is pinned, also of names that are not on this side."""
    pointers: tuple[Pointer, ...] = ()
    best: BestModel | None = None
    orphan_next: tuple[str, ...] = ()
    """Names of next records that have neither a part nor a final file."""
    warnings: tuple[Warning, ...] = ()
    boot_id: str = ""
    """The boot this was seen in: weak evidence of another boot counts no more."""
    folding: NameFolding = NameFolding.NONE
    """Which names this side takes for one."""
    read: ReadBefore | None = field(default=None, repr=False, compare=False)
    """What the next scan need not read again."""
    beside: Beside | None = field(default=None, repr=False, compare=False)
    """What else is listed; None where nothing could be."""

    @property
    def holds_directories(self) -> bool:
        """There are checkpoints that are directories: what changes inside them, no name in the set tells."""
        return any(s.identity is not None and s.identity.directory is not None for s in self.sightings)


@dataclass(frozen=True, slots=True)
class ReadBefore:
    """The bookkeeping of a set as it was read, and by what a change of it is noticed."""

    contents: ManifestContents
    stamps: tuple[tuple[int, int, int], ...]
    """(inode, mtime_ns, ctime_ns) of each directory it was read from."""
    settled: bool
    """The stamps were old enough when taken that a later change must show in them (R32)."""


@dataclass(frozen=True, slots=True)
class Beside:
    """The names in a set that are no checkpoints of their own, and what they say of those that are."""

    others: frozenset[str]
    """Unfinished names, pointers, markers, and our own."""
    markers: Mapping[str, str]
    """What a marker is called after → the marker."""
    pointed_at: Mapping[str, str]
    """Checkpoint → what points to it."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A sighting with its judgement."""

    sighting: Sighting
    state: State
    reason: str
    verified_at: float | None = None
    evidence: Evidence | None = None

    @property
    def name(self) -> str:
        return self.sighting.name

    @property
    def step(self) -> int | None:
        return self.sighting.step

    @property
    def size(self) -> int:
        """Bytes on disk, or recorded when nothing is there."""
        if self.sighting.identity is not None:
            return self.sighting.identity.size
        return self.sighting.record.size if self.sighting.record is not None else 0

    @property
    def digest(self) -> str | None:
        """The recorded digest, if any."""
        return self.sighting.record.digest if self.sighting.record is not None else None
