"""A `step_NNNNNNNN` of axlearn: arrays in `gda/`, and `index`, written last, without which it takes no step for one."""

from __future__ import annotations

import re

from ckptdeck.core.probes.reading import Damage
from ckptdeck.core.probes.trainer_files import directories_in
from ckptdeck.core.probes.tree import KindFinding, Tree
from ckptdeck.core.states import Structure

FORMAT = "axlearn"

_NAME = re.compile(r"step_[0-9]{8}", re.ASCII)
_INDEX = "index"
_ARRAYS = "gda"


def judge_axlearn(tree: Tree) -> KindFinding | None:
    """None for anything but such a directory itself. Raises Damage."""
    if not (_NAME.fullmatch(tree.name.rpartition("/")[2]) and _ARRAYS in directories_in(tree, "")):
        return None
    if not tree.has(_INDEX):
        raise Damage(
            Structure.INCOMPLETE,
            f"not there: {_INDEX}, which is written last: the save did not finish",
            loader_says="axlearn says nothing and takes an earlier step",
        )
    return KindFinding(FORMAT, f"arrays and their {_INDEX}")
