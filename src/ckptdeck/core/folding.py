"""Which names a volume takes for one: it may not tell upper from lower case, or how an accent is composed (R31)."""

from __future__ import annotations

import os
import unicodedata

from ckptdeck.core.checkpoint_set import SET, CheckpointSet
from ckptdeck.core.filesystem import FileSystem, is_there
from ckptdeck.core.sighting import Volume
from ckptdeck.core.states import NameFolding

_FOLDS_CASE = frozenset({"vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk", "hfsplus", "apfs"})
_MAY_COMPOSE = frozenset({"zfs"})
"""Local ones that can be told to compose names; the others keep every byte."""


def folding_of(fs: FileSystem, checkpoint_set: CheckpointSet, volume: Volume) -> NameFolding:
    """Asked without writing anything: whether a file of our own answers to its name in capitals too.

    Where nothing of ours is there yet the kind of file system decides. Whether accents are composed cannot be asked
    so: of servers, and wherever case is folded, it is assumed.
    """
    if _folds_case(fs, checkpoint_set, volume):
        return NameFolding.CASE
    if volume.fs_class == "local" and volume.fs_type not in _MAY_COMPOSE:
        return NameFolding.NONE
    return NameFolding.UNICODE


def _folds_case(fs: FileSystem, checkpoint_set: CheckpointSet, volume: Volume) -> bool:
    if checkpoint_set.control is not None:
        try:
            return is_there(fs, os.path.join(checkpoint_set.control, SET.upper()))
        except OSError:
            pass  # it will not say: the kind must do
    return volume.fs_type in _FOLDS_CASE or volume.fs_class in ("smb", "win")


def folded(name: str, folding: NameFolding) -> str:
    """Equal for names that are one there. Pure."""
    if folding is NameFolding.NONE:
        return name
    composed = unicodedata.normalize("NFC", name)
    return unicodedata.normalize("NFC", composed.casefold()) if folding is NameFolding.CASE else composed
