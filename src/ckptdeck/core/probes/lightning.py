"""A sharded checkpoint of Lightning: a directory named `.ckpt` with torch DCP in it, and `meta.pt`, written last."""

from __future__ import annotations

from ckptdeck.core.probes.reading import Damage
from ckptdeck.core.probes.tree import KindFinding, Tree
from ckptdeck.core.states import Structure

FORMAT = "lightning"

_EXTENSION = ".ckpt"
_META = "meta.pt"
_PARTS = ".metadata"
_OF_NEMO = ("metadata.json", "common.pt")


def judge_lightning(tree: Tree) -> KindFinding | None:
    """None for anything but such a directory itself. Raises Damage."""
    if not (tree.name.endswith(_EXTENSION) and tree.has(_PARTS)) or any(tree.has(name) for name in _OF_NEMO):
        return None
    if not tree.has(_META):
        raise Damage(
            Structure.INCOMPLETE,
            f"not there: {_META}, which is written last and holds the step and the schedules",
            loader_says='Lightning says "does not point to a valid checkpoint", of a directory that nearly is one',
        )
    return KindFinding(FORMAT, "the parts of torch DCP and the state beside them")
