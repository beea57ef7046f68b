"""D1: a `checkpoint-N` of the Hugging Face Trainer, whose loader goes on in silence without most of its members.

`trainer_state.json` is written last. An optimizer, a schedule and the random numbers are there all three, or none of
them is (`save_only_model`); DeepSpeed and FSDP keep the first in places of their own.
"""

from __future__ import annotations

import re

from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.ranks import find_gap
from ckptdeck.core.probes.reading import Damage
from ckptdeck.core.probes.trainer_files import directories_in, has_engine_states, has_weights
from ckptdeck.core.probes.tree import KindFinding, Tree, below, some
from ckptdeck.core.states import Structure

FORMAT = "hf-trainer"
STATE = "trainer_state.json"

_NAME = re.compile(r"(?:.*[-_])?checkpoint-(?P<step>[0-9]{1,18})", re.ASCII)
_HIGHEST_STEP = 10**18
_ARGUMENTS = "training_args.bin"
_RANDOM = re.compile(r"rng_state(?:_(?P<rank>[0-9]{1,9}))?\.pth", re.ASCII)
_OPTIMIZER = re.compile(
    r"optimizer\.(?:pt|bin)|optimizer\.pt_.+|optimizer_0_rank[0-9]+\.bin|rank[0-9]+-of-[0-9]+-optimizer\.pt", re.ASCII
)
_OPTIMIZER_DIRECTORY = re.compile(r"optimizer(?:_[0-9]+)?", re.ASCII)
_SCHEDULER = "scheduler.pt"
_ONLY_OF_DEEPSPEED = "zero_to_fp32.py"

_STATE_MESSAGE = f'Trainer says "FileNotFoundError: No such file or directory", for {STATE}; the save did not finish'
_WEIGHTS_MESSAGE = 'Trainer says "Can\'t find a valid checkpoint at", though the directory is there'
_RESUME_MESSAGE = "Trainer says nothing, and goes on with a fresh optimizer and a fresh schedule"
_RANDOM_MESSAGE = (
    'Trainer says no more than "Didn\'t find an RNG file", among its notes, and goes on with other numbers'
)
_STEP_MESSAGE = f"Trainer says nothing and goes on from the step in {STATE}"


def judge_hf_trainer(tree: Tree) -> KindFinding | None:
    """None where no directory is one of Trainer's. Raises the worst Damage of those that are."""
    damages = Damages()
    said: list[str] = []
    judged: set[str] = set()
    for directory in tree.directories:
        if not is_of_trainer(tree, directory):
            continue
        found = _Checkpoint(tree, directory)
        judged |= found.judged
        with damages.heard():
            said.append(found.judge())
    damages.raise_worst(judged)
    return KindFinding(FORMAT, some(said, 2), frozenset(judged)) if said else None


def is_of_trainer(tree: Tree, directory: str) -> bool:
    """Whether Trainer wrote into this directory, by what nobody else writes.

    `training_args.bin` is also in what `save_model` leaves, which is no checkpoint to resume from.
    """
    names = tree.beside(directory)
    if STATE in names or any(_RANDOM.fullmatch(name) for name in names):
        return True
    if _ARGUMENTS not in names:
        return False
    return _step_named(tree, directory) is not None or any(_OPTIMIZER.fullmatch(name) for name in names)


def _step_named(tree: Tree, directory: str) -> int | None:
    match = _NAME.fullmatch((directory or tree.name).rpartition("/")[2])
    return int(match["step"]) if match else None


class _Checkpoint:
    """One directory of the tree."""

    def __init__(self, tree: Tree, directory: str) -> None:
        self.tree = tree
        self.directory = directory
        self.names = tree.beside(directory)
        self.judged = {below(directory, STATE)} if STATE in self.names else set()
        self.random = any(_RANDOM.fullmatch(name) for name in self.names)
        by_engine = has_engine_states(tree, directory)
        self.by_deepspeed = by_engine or _ONLY_OF_DEEPSPEED in self.names
        self.optimizer = (
            by_engine
            or any(_OPTIMIZER.fullmatch(name) for name in self.names)
            or any(_OPTIMIZER_DIRECTORY.fullmatch(name) for name in directories_in(tree, directory))
        )
        self.resumable = self.optimizer or self.random or _SCHEDULER in self.names
        """Anything of what is there all three, or not at all."""

    def judge(self) -> str:
        """What was shown. Raises Damage."""
        step = self._step()
        self._check_members()
        named = _step_named(self.tree, self.directory)
        if None not in (step, named) and step != named:
            raise Damage(
                Structure.SUSPECT,
                f"{below(self.directory, STATE)} says step {step:,}, the name of the directory {named:,}: renamed, or "
                "a file of another save",
                loader_says=_STEP_MESSAGE,
            )
        if self._ranks() == {0}:
            raise Damage(
                Structure.SUSPECT,
                f"{below(self.directory, 'rng_state_0.pth')} is there alone, and its name is that of one process among "
                "several",
                loader_says=_RANDOM_MESSAGE,
            )
        where = f"{self.directory}: " if self.directory else ""
        what = "weights, optimizer, schedule and random numbers" if self.resumable else "weights alone"
        return f"{where}step {step:,} with {what}" if step is not None else f"{where}{what}"

    def _step(self) -> int | None:
        """None where the file is not there, or too large to look at. Raises Damage."""
        if STATE not in self.names:
            return None
        path = below(self.directory, STATE)
        state = self.tree.json(path)
        if state is None:
            return None
        match state:
            case {"global_step": int() as step} if not isinstance(step, bool) and 0 <= step < _HIGHEST_STEP:
                return step
        raise Damage(Structure.BROKEN, f"{path}: no table with a global_step", loader_says=_STEP_MESSAGE)

    def _check_members(self) -> None:
        """Raises Damage with everything that is missing, the first of it deciding what the loader says."""
        missing = [*self._end_missing(), *self._weights_missing(), *self._state_missing(), *self._ranks_missing()]
        if missing:
            raise Damage(
                Structure.INCOMPLETE,
                f"{self.directory + ': ' if self.directory else ''}not there: {'; '.join(text for text, _ in missing)}",
                loader_says=missing[0][1],
            )

    def _end_missing(self) -> list[tuple[str, str]]:
        if STATE in self.names:
            return []
        return [(f"{STATE}, which is written last: the save did not finish", _STATE_MESSAGE)]

    def _weights_missing(self) -> list[tuple[str, str]]:
        if has_weights(self.tree, self.directory):
            return []
        return [("any file with weights", _WEIGHTS_MESSAGE)]

    def _state_missing(self) -> list[tuple[str, str]]:
        if not self.resumable:
            return []
        missing = []
        if not self.optimizer:
            engine = ("global_stepN, with the optimizer", _WEIGHTS_MESSAGE)
            missing.append(engine if self.by_deepspeed else ("optimizer.pt", _RESUME_MESSAGE))
        if _SCHEDULER not in self.names and not self.by_deepspeed:
            missing.append((_SCHEDULER, _RESUME_MESSAGE))
        if not self.random:
            missing.append(("rng_state.pth", _RANDOM_MESSAGE))
        return missing

    def _ranks_missing(self) -> list[tuple[str, str]]:
        gap = find_gap(self._ranks())
        return [(gap.names("rng_state_{}.pth".format), _RANDOM_MESSAGE)] if gap else []

    def _ranks(self) -> set[int]:
        return {int(match["rank"]) for name in self.names if (match := _RANDOM.fullmatch(name)) and match["rank"]}
