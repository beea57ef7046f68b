"""ckptdeck: keeps a primary and a mirror set of training checkpoints whole, proven and within their disks.

Public names are resolved when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ckptdeck.core.checkpoint_set import CheckpointSet, find_set
    from ckptdeck.core.errors import CkptdeckError
    from ckptdeck.saving import publish, publish_directory, publish_file

__version__ = "0.1.0"
__all__ = ["CheckpointSet", "CkptdeckError", "__version__", "find_set", "publish", "publish_directory", "publish_file"]

_HOMES = {
    "CheckpointSet": "ckptdeck.core.checkpoint_set",
    "find_set": "ckptdeck.core.checkpoint_set",
    "CkptdeckError": "ckptdeck.core.errors",
    "publish": "ckptdeck.saving",
    "publish_directory": "ckptdeck.saving",
    "publish_file": "ckptdeck.saving",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
