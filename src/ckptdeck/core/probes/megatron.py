"""Megatron-LM's `iter_NNNNNNN` and `release`: a file for each rank, or the parts of a distributed checkpoint.

The latter has `common.pt`, the parts of torch DCP, which are judged as such, and `metadata.json`, which is written last
and says how to read it.
"""

from __future__ import annotations

import re

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.rank_grid import Place, missing_places
from ckptdeck.core.probes.reading import Damage
from ckptdeck.core.probes.trainer_files import directories_in
from ckptdeck.core.probes.tree import KindFinding, Tree, below, some
from ckptdeck.core.states import MemberKind, Structure

FORMAT = "megatron"

_RANK = re.compile(
    r"mp_rank_(?P<tensor>[0-9]{2,9})(?:_(?P<pipeline>[0-9]{3,9}))?(?:_(?P<expert>[0-9]{3,9}))?", re.ASCII
)
_MODELS = ("model_optim_rng.pt", "model_rng.pt")
_OPTIMIZERS = ("distrib_optim.pt", "optim.pt")
_COMMON = "common.pt"
_METADATA = "metadata.json"
_PARTS_METADATA = ".metadata"
_ZARR = ".zarray"
_PART_EXTENSION = ".distcp"

_RANK_MESSAGE = 'Megatron says "FileNotFoundError" on the rank whose file it is, and the others wait for it'
_OPTIMIZER_MESSAGE = 'Megatron says "FileNotFoundError" unless that rank trains nothing, where there is no such file'
_METADATA_MESSAGE = 'Megatron says "is not a distributed checkpoint": the save did not finish'
_COMMON_MESSAGE = 'Megatron says "Common file ... does not exist"'


def judge_megatron(tree: Tree) -> KindFinding | None:
    """None where there is nothing of Megatron's. Raises the worst Damage of every directory."""
    damages = Damages()
    said: list[str] = []
    judged: set[str] = set()
    for parent, ranks in _by_parent(tree).items():
        with damages.heard():
            said.append(_judge_ranks(tree, parent, ranks, damages))
    for directory in tree.directories:
        with damages.heard():
            if text := _judge_distributed(tree, directory):
                said.append(text)
                judged.add(below(directory, _METADATA))
    damages.raise_worst(judged)
    return KindFinding(FORMAT, some(said, 2), frozenset(judged)) if said else None


def _by_parent(tree: Tree) -> dict[str, dict[Place, str]]:
    """The directories of ranks by what they lie in; empty ones count, as they were made for something."""
    found: dict[str, dict[Place, str]] = {}
    empty = [member.path for member in tree.members if member.kind is MemberKind.DIRECTORY]
    for directory in (*tree.directories, *empty):
        parent, _, name = directory.rpartition("/")
        if match := _RANK.fullmatch(name):
            place = tuple(int(number) for number in match.groups() if number is not None)
            found.setdefault(parent, {})[place] = directory
    return {
        parent: ranks
        for parent, ranks in found.items()
        if any(name in tree.beside(directory) for directory in ranks.values() for name in _MODELS)
    }


def _judge_ranks(tree: Tree, parent: str, ranks: dict[Place, str], damages: Damages) -> str:
    """Every combination of ranks has its file. Raises Damage."""
    by_axes = {len(place) for place in ranks}
    for axes in by_axes:
        places = [place for place in ranks if len(place) == axes]
        count, first = missing_places(places)
        if count:
            names = some([below(parent, _directory_name(place)) for place in first])
            more = f" and {count - len(first):,} more" if count > len(first) else ""
            damages.add(
                Damage(
                    Structure.INCOMPLETE,
                    f"not there: {names}{more}, by the ranks of the {len(places):,} that are",
                    loader_says=_RANK_MESSAGE,
                )
            )
    for name in _MODELS:
        _check_everywhere(tree, ranks, name, Structure.INCOMPLETE, _RANK_MESSAGE, damages)
    for name in _OPTIMIZERS:
        _check_everywhere(tree, ranks, name, Structure.SUSPECT, _OPTIMIZER_MESSAGE, damages)
    where = f"{parent}: " if parent else ""
    return f"{where}the files of {counted(len(ranks), 'rank')}"


def _check_everywhere(
    tree: Tree, ranks: dict[Place, str], name: str, structure: Structure, message: str, damages: Damages
) -> None:
    """A file that one rank has, the others have too."""
    lacking = [directory for directory in ranks.values() if not tree.has(below(directory, name))]
    if lacking and len(lacking) < len(ranks):
        damages.add(
            Damage(
                structure,
                f"not there: {some([below(directory, name) for directory in sorted(lacking)])}, which "
                f"{len(ranks) - len(lacking):,} of {counted(len(ranks), 'rank')} have",
                loader_says=message,
            )
        )


def _directory_name(place: Place) -> str:
    tensor, *others = place
    return f"mp_rank_{tensor:02d}" + "".join(f"_{number:03d}" for number in others)


def _judge_distributed(tree: Tree, directory: str) -> str | None:
    """What was shown of a distributed checkpoint, None where there is none. Raises Damage."""
    names = tree.beside(directory)
    path = below(directory, _METADATA)
    if _COMMON not in names and not _has_parts(tree, directory):
        return None
    if _METADATA not in names:
        if _COMMON in names and _has_parts(tree, directory):
            raise Damage(
                Structure.INCOMPLETE,
                f"not there: {path}, which is written last: the save did not finish",
                loader_says=_METADATA_MESSAGE,
            )
        return None
    match tree.json(path):
        case {"sharded_backend": str() as backend}:
            pass
        case _:
            return None
    missing = [] if _COMMON in names else [_COMMON]
    if not _has_parts(tree, directory):
        missing.append(".metadata and every part")
    if missing:
        raise Damage(
            Structure.INCOMPLETE,
            f"not there: {' and '.join(below(directory, name) for name in missing)}, beside {path}",
            loader_says=_COMMON_MESSAGE,
        )
    where = f"{directory}: " if directory else ""
    return f"{where}common state and description of a checkpoint by {backend}"


def _has_parts(tree: Tree, directory: str) -> bool:
    """Of torch DCP, or directories of zarr."""
    names = tree.beside(directory)
    if _PARTS_METADATA in names or any(name.endswith(_PART_EXTENSION) for name in names):
        return True
    return any(tree.has(below(directory, f"{name}/{_ZARR}")) for name in directories_in(tree, directory))
