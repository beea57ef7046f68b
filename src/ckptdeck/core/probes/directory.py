"""What a directory or a group says about itself: the rules of its layout, then every other file by its own format.

A missing member that a trainer would resume without is worth more than any byte (formats.md F8). The worst of
everything found is the finding, with the file it was found in and how many more there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ckptdeck.core.probes import probe_open_file
from ckptdeck.core.probes.damages import WORST_FIRST
from ckptdeck.core.probes.dcp import judge_dcp
from ckptdeck.core.probes.reading import Damage, TooLarge
from ckptdeck.core.probes.saved_model import judge_saved_model
from ckptdeck.core.probes.tensorflow import judge_tensorflow
from ckptdeck.core.probes.tree import KindFinding, Tree
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

_Judge = Callable[[Tree], KindFinding | None]
"""None: not of this layout. Raises Damage for what its rules find wrong, TooLarge when its tables are."""

_LAYOUTS: tuple[tuple[str, _Judge], ...] = (
    ("dcp", judge_dcp),
    ("tensorflow", judge_tensorflow),
    ("savedmodel", judge_saved_model),
)
"""Format and judge of each layout."""
"""All that fit are heard: a trainer's directory may hold an engine's."""


@dataclass(slots=True)
class Heard:
    """What came up so far."""

    damages: list[StructureFinding] = field(default_factory=list)
    """Of the layouts."""
    layouts: list[KindFinding] = field(default_factory=list)
    judged: set[str] = field(default_factory=set)
    further: int = 0
    """Damages that a layout found besides the one it told of."""
    files: dict[str, StructureFinding] = field(default_factory=dict)
    """Of every other file."""


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
            continue
        else:
            if layout is not None:
                heard.layouts.append(layout)
                heard.judged |= layout.judged
    for path in tree.files:
        if path not in heard.judged:
            heard.files[path] = _look_at(tree, path)
    return heard


def _look_at(tree: Tree, path: str) -> StructureFinding:
    try:
        with tree.reader(path) as reader:
            return probe_open_file(reader, path.rpartition("/")[2])
    except TooLarge:
        return StructureFinding(Structure.UNKNOWN, "", "a quick look at so many files goes no further")


def sum_up(tree: Tree, heard: Heard) -> StructureFinding:
    """The worst of it, or which layouts fit."""
    if not tree.files:
        return StructureFinding(Structure.INCOMPLETE, "", "an empty directory")
    damages = heard.damages + [
        replace(finding, text=f"{path}: {finding.text}", expected_size=None)
        for path, finding in heard.files.items()
        if finding.structure in WORST_FIRST
    ]
    for structure in WORST_FIRST:
        of_it = [finding for finding in damages if finding.structure is structure]
        if of_it:
            more = len(damages) - 1 + heard.further
            text = of_it[0].text + (f" (and {more:,} more findings)" if more else "")
            return StructureFinding(structure, of_it[0].format, text, loader_says=of_it[0].loader_says)
    if not heard.layouts:
        return StructureFinding(
            Structure.UNKNOWN, "", f"{len(tree.files):,} files of no known layout; nothing says which belong to it"
        )
    return StructureFinding(
        Structure.OK,
        "+".join(layout.format for layout in heard.layouts),
        "; ".join(layout.text for layout in heard.layouts) + "; values not checked",
    )
