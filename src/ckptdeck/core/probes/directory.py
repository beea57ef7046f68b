"""What a directory or a group says about itself: the rules of its layout, then every other file by its own format.

A missing member that a trainer would resume without is worth more than any byte (formats.md F8). The worst of
everything found is the finding, with the file it was found in and how many more there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.accelerate import judge_accelerate
from ckptdeck.core.probes.axlearn import judge_axlearn
from ckptdeck.core.probes.damages import WORST_FIRST
from ckptdeck.core.probes.dcp import judge_dcp
from ckptdeck.core.probes.deepspeed import judge_deepspeed
from ckptdeck.core.probes.hf_trainer import judge_hf_trainer
from ckptdeck.core.probes.integrity import judge_integrity
from ckptdeck.core.probes.lightning import judge_lightning
from ckptdeck.core.probes.megatron import judge_megatron
from ckptdeck.core.probes.orbax import judge_orbax
from ckptdeck.core.probes.pretrained import judge_pretrained
from ckptdeck.core.probes.reading import Damage, TooLarge
from ckptdeck.core.probes.saved_model import judge_saved_model
from ckptdeck.core.probes.stated_ranks import judge_stated_ranks
from ckptdeck.core.probes.tensorflow import judge_tensorflow
from ckptdeck.core.probes.tree import KindFinding, Tree, some
from ckptdeck.core.probes.tree_files import is_left_over, look_at
from ckptdeck.core.probes.weight_shards import judge_weight_shards
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import MemberKind, Structure

_Judge = Callable[[Tree], KindFinding | None]
"""None: not of this layout. Raises Damage for what its rules find wrong, TooLarge when its tables are."""

_LAYOUTS: tuple[tuple[str, _Judge], ...] = (
    ("hf-trainer", judge_hf_trainer),
    ("accelerate", judge_accelerate),
    ("lightning", judge_lightning),
    ("axlearn", judge_axlearn),
    ("deepspeed", judge_deepspeed),
    ("megatron", judge_megatron),
    ("dcp", judge_dcp),
    ("orbax", judge_orbax),
    ("tensorflow", judge_tensorflow),
    ("savedmodel", judge_saved_model),
    ("ranks", judge_stated_ranks),
    ("sharded-weights", judge_weight_shards),
    ("pretrained", judge_pretrained),
    ("integrity", judge_integrity),
)
"""Format and judge of each layout, trainers before the engines and the weights that their directories hold.

All that fit are heard, and of two findings as bad the first is told."""


@dataclass(slots=True)
class Heard:
    """What came up so far."""

    damages: list[StructureFinding] = field(default_factory=list)
    """Of the layouts."""
    layouts: list[KindFinding] = field(default_factory=list)
    too_large: list[str] = field(default_factory=list)
    """Layouts whose tables are beyond a quick look."""
    judged: set[str] = field(default_factory=set)
    further: int = 0
    """Damages that a layout found besides the one it told of."""
    files: dict[str, StructureFinding] = field(default_factory=dict)
    """Of every other file."""
    unseen: list[str] = field(default_factory=list)
    """Files that were not opened any more."""


def probe_tree(tree: Tree) -> StructureFinding:
    """The finding for a whole tree. OSError, Cancelled and LostInTree pass through."""
    return sum_up(tree, hear(tree))


def hear(tree: Tree) -> Heard:
    """What the layouts and each file's own format say."""
    heard = Heard()
    for kind, judge in _LAYOUTS if tree.files else ():
        try:
            layout = judge(tree)
        except Damage as damage:
            heard.damages.append(damage.finding(kind))
            heard.further += damage.further
            heard.judged |= damage.judged
        except TooLarge:
            heard.too_large.append(kind)
        else:
            if layout is not None:
                heard.layouts.append(layout)
                heard.judged |= layout.judged
    known_layout = bool(heard.layouts or heard.damages or heard.too_large)
    for path in tree.files:
        if path not in heard.judged:
            try:
                heard.files[path] = look_at(tree, path, known_layout=known_layout)
            except TooLarge:
                heard.unseen.append(path)
    return heard


def sum_up(tree: Tree, heard: Heard) -> StructureFinding:
    """The worst of it, or which layouts fit."""
    if not tree.files:
        return _without_files(tree)
    damages = heard.damages + [
        replace(finding, text=f"{path}: {finding.text}", expected_size=None)
        for path, finding in heard.files.items()
        if finding.structure in WORST_FIRST
    ]
    if damages:
        return _worst(tree, damages, heard.further)
    kind = "+".join(layout.format for layout in heard.layouts)
    said = [layout.text for layout in heard.layouts]
    if whole := sum(finding.structure is Structure.OK for finding in heard.files.values()):
        said.append(f"{counted(whole, 'file')} whole by {'its' if whole == 1 else 'their'} own format")
    if left_over := [path for path in tree.files if is_left_over(path)]:
        said.append(f"{some(left_over, 1)} left of a save that was interrupted")
    if heard.too_large or heard.unseen:
        said.append(_not_seen(heard))
    elif heard.layouts:
        return StructureFinding(Structure.OK, kind, "; ".join([*said, "values not checked"]))
    else:
        said.insert(0, f"{counted(len(tree.files), 'file')} of no known layout")
        said.append("nothing says which belong to it")
    return StructureFinding(Structure.UNKNOWN, kind, "; ".join(said))


def _worst(tree: Tree, damages: list[StructureFinding], further: int) -> StructureFinding:
    """The first of the worst kind and how many others there are. Links are not followed, so nothing is missing then."""
    worst = min(damages, key=lambda finding: WORST_FIRST.index(finding.structure))
    more = len(damages) - 1 + further
    text = worst.text + (f" (and {counted(more, 'more finding')})" if more else "")
    links = [member.path for member in tree.members if member.kind is MemberKind.LINK]
    if worst.structure is Structure.INCOMPLETE and links:
        return StructureFinding(
            Structure.UNKNOWN, worst.format, f"{text}; perhaps behind a link, none is followed: {some(links)}"
        )
    return StructureFinding(worst.structure, worst.format, text, loader_says=worst.loader_says)


def _not_seen(heard: Heard) -> str:
    """Why no more can be said."""
    parts = [f"the tables of {some(heard.too_large)}"] if heard.too_large else []
    parts += [counted(len(heard.unseen), "file")] if heard.unseen else []
    return f"{' and '.join(parts)} not looked at: too much for a quick look, only a hash can tell"


def _without_files(tree: Tree) -> StructureFinding:
    links = [member.path for member in tree.members if member.kind is MemberKind.LINK]
    if links:
        return StructureFinding(Structure.UNKNOWN, "", f"no file, only links, which are not followed: {some(links)}")
    return StructureFinding(
        Structure.INCOMPLETE,
        "",
        "an empty directory",
        loader_says="a trainer that resumes from the highest number takes it for the last checkpoint, empty as it is",
    )
