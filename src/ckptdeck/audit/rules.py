"""The rules: what each finds, how bad it is, and what can happen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding. `severity` as in Finding."""

    name: str
    severity: str
    can_happen: str


COPY = Rule(
    "copy-to-final",
    "high",
    "A kill, a crash, a full disk or an I/O error in the middle leaves half a copy under the final name, and a resume "
    "takes it for a whole one; a finished copy, too, may be lost in a power cut, since nothing is synced",
)
SAVE = Rule(
    "save-to-final",
    "high",
    "A kill, a crash or a full disk in the middle leaves half a file under the final name, over the last good one if "
    "there was one; a resume finds it, and takes it or fails on it",
)
RENAME = Rule(
    "rename-without-fsync",
    "medium",
    "After a power cut the new name can be there with nothing, or zeros, behind it: the rename may reach the disk "
    "before the bytes do",
)
DIRECTORY = Rule(
    "rename-without-directory-fsync",
    "low",
    "After a power cut the rename itself may be undone: the old file is back, or none, although the save was reported",
)
ELSEWHERE = Rule(
    "temp-elsewhere",
    "high",
    "The system's temporary directory is often another file system (and a small one): `os.rename` then fails, "
    "`shutil.move` copies straight to the final name, and the disk that fills up is the wrong one",
)
BY_TIME = Rule(
    "retention-by-mtime",
    "high",
    "A copy, a restore, a touch, a clock that jumped or a file system that reports 0 puts the newest checkpoint first "
    "in line for deletion",
)
BY_TEXT = Rule(
    "retention-by-text",
    "high",
    "As text `step_10000` comes before `step_9000`: the newest checkpoint is the first one deleted",
)
FLOOR = Rule(
    "size-floor",
    "high",
    "A floor finds rubbish, not truncation: 1.8 of 2.4 GB pass, and so does a file of the right size with lost bytes",
)
BARE = Rule(
    "ok-without-reason",
    "low",
    "Nobody can tell later why this place was thought to be right; without a reason the comment silences nothing",
)
RULES = (COPY, SAVE, RENAME, DIRECTORY, ELSEWHERE, BY_TIME, BY_TEXT, FLOOR, BARE)
