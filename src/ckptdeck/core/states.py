"""The words of the product: states, verdicts, evidence. One spelling everywhere: code, JSON, console, docs."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    PRIMARY = "primary"
    MIRROR = "mirror"

    @property
    def other(self) -> Role:
        return Role.MIRROR if self is Role.PRIMARY else Role.PRIMARY


class Kind(StrEnum):
    """What one checkpoint is on disk."""

    FILE = "file"
    DIRECTORY = "directory"
    GROUP = "group"


class MemberKind(StrEnum):
    """What one name inside a directory checkpoint is."""

    FILE = "file"
    LINK = "link"
    DIRECTORY = "directory"
    """Only of directories that hold nothing: the others are implied by what they hold."""


class Evidence(StrEnum):
    """How far a verdict may be trusted, weakest first in `rank`."""

    STREAM = "stream"
    """The hash of what was written; nothing was read back."""
    CACHE = "cache"
    """Read, but maybe from memory (W2)."""
    SERVER = "server"
    """Read from a network file system (W3)."""
    DEVICE = "device"
    """Read back with the page cache proved empty; on tmpfs memory is the device."""

    @property
    def rank(self) -> int:
        return list(Evidence).index(self)

    @property
    def outlives_boot(self) -> bool:
        return self in (Evidence.SERVER, Evidence.DEVICE)


class State(StrEnum):
    """What one checkpoint is on one side."""

    VERIFIED = "verified"
    SIZE_ONLY = "size-only"
    STRUCTURE_OK = "structure-ok"
    UNRECORDED = "unrecorded"
    CHANGED = "changed"
    TRUNCATED = "truncated"
    CORRUPT = "corrupt"
    INCOMPLETE = "incomplete"
    SUSPECT = "suspect"
    UNSAFE_WRITE = "unsafe-write"
    MISSING = "missing"
    REMOVED = "removed"
    ABSENT = "absent"
    RETIRED = "retired"
    UNREADABLE = "unreadable"
    FOREIGN = "foreign"


CANDIDATES = frozenset({State.SIZE_ONLY, State.STRUCTURE_OK, State.UNRECORDED})
BAD = frozenset({State.TRUNCATED, State.CORRUPT, State.INCOMPLETE})
NOT_THERE = frozenset({State.MISSING, State.REMOVED, State.ABSENT})
FINDINGS = frozenset(
    {
        State.TRUNCATED,
        State.CORRUPT,
        State.CHANGED,
        State.SUSPECT,
        State.INCOMPLETE,
        State.MISSING,
        State.UNREADABLE,
    }
)
"""States that make a reading command exit with 1."""


class Verdict(StrEnum):
    """What one step is over both sides; the order is the order of judgement, first match wins."""

    UNKNOWN = "unknown"
    RETIRED = "retired"
    IN_FLIGHT = "in-flight"
    DIVERGED = "diverged"
    SAFE = "safe"
    REPAIR = "repair"
    ADOPT = "adopt"
    MIRROR_ME = "mirror-me"
    MIRROR_ONLY = "mirror-only"
    AT_RISK = "at-risk"
    LOST = "lost"


class NameFolding(StrEnum):
    """What a volume takes for the same name."""

    NONE = "none"
    """Only the same bytes."""
    UNICODE = "unicode"
    """Also letters with accents that are composed otherwise."""
    CASE = "case"
    """Both that and other case."""


class FlightState(StrEnum):
    """What an in-flight artifact is."""

    LIVE = "live"
    READY = "ready"
    STALE = "stale"
    UNKNOWN = "unknown"


class Condition(StrEnum):
    """What one side as a whole is."""

    OK = "ok"
    UNINITIALISED = "uninitialised"
    NOT_MOUNTED = "not-mounted"
    WRONG_SET = "wrong-set"
    TWO_CONTROLS = "two-controls"
    UNREADABLE = "unreadable"

    @property
    def words(self) -> str:
        """As it is said in a sentence: "not mounted"."""
        return self.value.replace("-", " ")

    @property
    def readable(self) -> bool:
        """The listing can be believed."""
        return self in (Condition.OK, Condition.UNINITIALISED, Condition.TWO_CONTROLS)


class Origin(StrEnum):
    """How a record came to be."""

    PUBLISHED = "published"
    MIRRORED = "mirrored"
    ADOPTED = "adopted"
    RESTORED = "restored"


class Structure(StrEnum):
    """What a format probe can say without any record."""

    OK = "ok"
    CUT = "cut"
    BROKEN = "broken"
    INCOMPLETE = "incomplete"
    SUSPECT = "suspect"
    UNKNOWN = "unknown"
