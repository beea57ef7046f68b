"""D3: what `Accelerator.save_state` leaves, with the diffusers scripts' checkpoints among it.

The first of several optimizers, schedules and models has no number in its name. Every process writes its random
numbers, the main one last of all, and the loader goes on in silence without them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import partial

from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.hf_trainer import is_of_trainer
from ckptdeck.core.probes.ranks import find_gap
from ckptdeck.core.probes.reading import Damage
from ckptdeck.core.probes.trainer_files import directories_in, has_engine_states, has_weights
from ckptdeck.core.probes.tree import KindFinding, Tree, some
from ckptdeck.core.states import Structure

FORMAT = "accelerate"

_RANDOM = re.compile(r"random_states_(?P<rank>[0-9]{1,9})\.pkl", re.ASCII)
_SERIES = re.compile(
    r"(?P<what>model|pytorch_model|optimizer|scheduler)(?:_(?P<number>[0-9]{1,9}))?(?P<end>\.safetensors|\.bin)",
    re.ASCII,
)
_CUSTOM = re.compile(r"custom_checkpoint_(?P<number>[0-9]{1,9})\.pkl", re.ASCII)
_OPTIMIZER_DIRECTORY = re.compile(r"optimizer(?:_[0-9]{1,9})?", re.ASCII)
_OPTIMIZER = re.compile(r"optimizer(?:_[0-9]{1,9})?(?:_rank[0-9]{1,9})?\.bin", re.ASCII)

RANDOM_MESSAGE = (
    'accelerate says nothing but "Could not load random states", among its notes, and goes on with other random numbers'
)
_MISSING_MESSAGE = 'accelerate says "FileNotFoundError: No such file or directory" at load_state'


def judge_accelerate(tree: Tree) -> KindFinding | None:
    """None where no directory is one of accelerate's. Raises the worst Damage of those that are."""
    damages = Damages()
    said: list[str] = []
    for directory in tree.directories:
        if _is_of_accelerate(tree, directory):
            with damages.heard():
                said.append(_judge(tree, directory))
    damages.raise_worst(())
    return KindFinding(FORMAT, some(said, 2)) if said else None


def loader_is_silent_about(name: str) -> bool:
    """Whatever is wrong with a file of this name, the loader swallows it."""
    return _RANDOM.fullmatch(name) is not None


def _is_of_accelerate(tree: Tree, directory: str) -> bool:
    names = tree.beside(directory)
    if any(_RANDOM.fullmatch(name) for name in names):
        return True
    return "optimizer.bin" in names and "scheduler.bin" in names and not is_of_trainer(tree, directory)


def _judge(tree: Tree, directory: str) -> str:
    """What was shown. Raises Damage with everything that is missing."""
    names = tree.beside(directory)
    missing: list[tuple[str, str]] = []
    if not has_weights(tree, directory):
        missing.append(("any file with weights", _MISSING_MESSAGE))
    if not _has_optimizer(tree, directory):
        missing.append(("optimizer.bin", _MISSING_MESSAGE))
    missing += [(text, _MISSING_MESSAGE) for text in _gaps(names)]
    ranks = {int(match["rank"]) for name in names if (match := _RANDOM.fullmatch(name))}
    if not ranks:
        missing.append(("random_states_0.pkl, which is written last", RANDOM_MESSAGE))
    elif gap := find_gap(ranks):
        missing.append((gap.names("random_states_{}.pkl".format), RANDOM_MESSAGE))
    where = f"{directory}: " if directory else ""
    if missing:
        raise Damage(
            Structure.INCOMPLETE,
            f"{where}not there: {'; '.join(text for text, _ in missing)}",
            loader_says=missing[0][1],
        )
    of = "one process" if len(ranks) == 1 else f"{len(ranks):,} processes"
    return f"{where}weights, optimizer and the random numbers of {of}"


def _has_optimizer(tree: Tree, directory: str) -> bool:
    return (
        any(_OPTIMIZER.fullmatch(name) for name in tree.beside(directory))
        or any(_OPTIMIZER_DIRECTORY.fullmatch(name) for name in directories_in(tree, directory))
        or has_engine_states(tree, directory)
    )


def _gaps(names: list[str]) -> list[str]:
    """The first ones that are missing of each series, such as "optimizer.bin" beside "optimizer_1.bin"."""
    series: dict[tuple[str, str], set[int]] = defaultdict(set)
    for name in names:
        if match := _SERIES.fullmatch(name):
            series[match["what"], match["end"]].add(int(match["number"] or 0))
        elif match := _CUSTOM.fullmatch(name):
            series["custom_checkpoint", ".pkl"].add(int(match["number"]))
    found = {key: find_gap(numbers, max(numbers) + 1) for key, numbers in series.items()}
    return [gap.names(partial(_numbered, *key)) for key, gap in found.items() if gap]


def _numbered(what: str, end: str, number: int) -> str:
    return f"{what}_{number}{end}" if number or what == "custom_checkpoint" else what + end
