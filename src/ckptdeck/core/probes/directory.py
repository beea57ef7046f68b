"""What a directory or a group says about itself: the rules of its layout, then every other file by its own format.

A missing member that a trainer would resume without is worth more than any byte (formats.md F8). The worst of
everything found is the finding, with the file it was found in and how many more there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

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
class _Heard:
    """What came up so far."""

    damages: list[StructureFinding] = field(default_factory=list)
    layouts: list[KindFinding] = field(default_factory=list)
    judged: set[str] = field(default_factory=set)
    further: int = 0
    """Damages that a layout found besides the one it told of."""
    unknown: int = 0
    whole: int = 0


def probe_tree(tree: Tree) -> StructureFinding:
    """The finding for a whole tree. OSError, Cancelled and LostInTree pass through."""
    heard = _Heard()
    if not tree.files:
        return StructureFinding(Structure.INCOMPLETE, "", "an empty directory")
    for kind, judge in _LAYOUTS:
        try:
            layout = judge(tree)
        except Damage as damage:
            heard.damages.append(damage.finding(kind))
            heard.further += damage.further
            heard.judged |= damage.judged
        except TooLarge:
            heard.unknown += 1
        else:
            if layout is not None:
                heard.layouts.append(layout)
                heard.judged |= layout.judged
    for path in tree.files:
        if path not in heard.judged:
            _hear_file(tree, path, heard)
    return _sum_up(tree, heard)


def _hear_file(tree: Tree, path: str, heard: _Heard) -> None:
    with tree.reader(path) as reader:
        finding = probe_open_file(reader, path.rpartition("/")[2])
    if finding.structure is Structure.UNKNOWN:
        heard.unknown += 1
    elif finding.structure is Structure.OK:
        heard.whole += 1
    else:
        heard.damages.append(
            StructureFinding(
                finding.structure,
                finding.format,
                f"{path}: {finding.text}",
                proof=finding.proof,
                loader_says=finding.loader_says,
            )
        )


def _sum_up(tree: Tree, heard: _Heard) -> StructureFinding:
    for structure in WORST_FIRST:
        of_it = [finding for finding in heard.damages if finding.structure is structure]
        if of_it:
            more = len(heard.damages) - 1 + heard.further
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
