"""Every way this program says no.

CkptdeckError                 exit  code in JSON
├── UsageError                   2  usage
├── PartlyDone                   3  partly-done
├── Refused                      4  refused         (a guard said no, or nobody confirmed)
│   └── InUse                    4  in-use          (a live writer owns the name)
├── LockHeld                     5  lock-held
├── NoSpace                      6  no-space        (also: quota)
├── VolumeSuspect                7  volume-suspect  (I/O error, not mounted, not the expected set)
├── NothingWhole                 8  nothing-whole   (checkpoints exist, none can be trusted)
├── FreshRun                     9  fresh-run       (no checkpoint, no record)
├── ItemFailed                   3  item-failed     (one item of a plan; the rest goes on)
│   ├── SourceChanged            3  source-changed
│   ├── ContentMismatch          3  content-mismatch
│   └── RottenSource             3  rotten-source
└── Cancelled                  130  cancelled

Each carries one paragraph: what happened and where, why, and what to do next.
"""

from __future__ import annotations

import errno
import os
from typing import ClassVar

from ckptdeck.core.safe_text import visible


class CkptdeckError(Exception):
    """Base of all errors that are meant for the user. `str(error)` is the whole paragraph."""

    exit_code: ClassVar[int] = 3
    code: ClassVar[str] = "error"

    def __init__(self, what: str, *, why: str = "", next_step: str = "") -> None:
        self.what = what
        self.why = why
        self.next_step = next_step
        super().__init__(" ".join(_sentence(part) for part in (what, why, next_step) if part))


class UsageError(CkptdeckError):
    """The call or the configuration cannot mean what was asked."""

    exit_code = 2
    code = "usage"


class PartlyDone(CkptdeckError):
    """Some items of a plan were done, others were not."""

    exit_code = 3
    code = "partly-done"


class ItemFailed(CkptdeckError):
    """One item of a plan could not be done; nothing of it is left under a final name."""

    exit_code = 3
    code = "item-failed"


class SourceChanged(ItemFailed):
    """A source did not hold still while it was read (R3)."""

    code = "source-changed"


class ContentMismatch(ItemFailed):
    """The device gave back other bytes than were written to it."""

    code = "content-mismatch"


class RottenSource(ItemFailed):
    """The source of a copy or an adoption is not what its record, or its twin, says: a finding about data."""

    code = "rotten-source"


class Refused(CkptdeckError):
    """A guard said no. `guard` is its stable name."""

    exit_code = 4
    code = "refused"

    def __init__(self, what: str, *, guard: str, why: str = "", next_step: str = "") -> None:
        self.guard = guard
        super().__init__(what, why=why, next_step=next_step)


class InUse(Refused):
    """A live writer owns the name."""

    code = "in-use"

    def __init__(self, what: str, *, why: str = "", next_step: str = "") -> None:
        super().__init__(what, guard="live-writer", why=why, next_step=next_step)


class LockHeld(CkptdeckError):
    """Another process is removing or replacing something in the same set."""

    exit_code = 5
    code = "lock-held"


class NoSpace(CkptdeckError):
    """The volume or the quota is full. Nothing was left under a final name."""

    exit_code = 6
    code = "no-space"


class VolumeSuspect(CkptdeckError):
    """The volume failed, is not mounted, cannot be read, or is not the set it should be."""

    exit_code = 7
    code = "volume-suspect"


class NothingWhole(CkptdeckError):
    """Checkpoints exist and none of them is whole."""

    exit_code = 8
    code = "nothing-whole"


class FreshRun(CkptdeckError):
    """No checkpoint and no record anywhere: the run has not saved yet."""

    exit_code = 9
    code = "fresh-run"


class Cancelled(CkptdeckError):
    """The operator stopped the work; it ended at a safe point."""

    exit_code = 130
    code = "cancelled"


NO_SPACE_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
VOLUME_ERRNOS = frozenset(
    {
        errno.EIO,
        errno.ENXIO,
        errno.EROFS,
        errno.EUCLEAN,
        errno.ESTALE,
        errno.ENOTCONN,
        errno.EHOSTDOWN,
        errno.ETIMEDOUT,
        errno.ENODEV,
    }
)


def from_os_error(error: OSError, doing: str) -> CkptdeckError:
    """Turns an OSError met while `doing` ("writing /data/x.pt.part") into the error a user is told (R28)."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    name = errno.errorcode.get(error.errno or 0, "")
    what = f"{doing} failed: {reason}" + (f" ({name})" if name else "")
    if error.errno in NO_SPACE_ERRNOS:
        quota = error.errno == errno.EDQUOT
        return NoSpace(
            what,
            why="The quota is used up" if quota else "The volume has no room left",
            next_step="Free space there, then run the command again",
        )
    if error.errno in VOLUME_ERRNOS:
        return VolumeSuspect(
            what,
            why="The volume is read-only" if error.errno == errno.EROFS else "The volume or its server failed",
            next_step="Check the mount and the kernel log (dmesg) before anything is written there again",
        )
    return ItemFailed(what, next_step="Check the path and its permissions, then run the command again")


def describe_os_error(error: OSError, path: str) -> str:
    """'Permission denied (EACCES): <path>' with the path made safe to show."""
    name = errno.errorcode.get(error.errno or 0, "")
    reason = os.strerror(error.errno) if error.errno else str(error)
    return f"{reason} ({name}): {visible(path)}" if name else f"{reason}: {visible(path)}"


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?", ":")) else text + "."
