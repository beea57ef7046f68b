"""DeepSpeed's `global_stepN` and other tags: no marker says that one is whole, so the ranks in its names have to.

Every rank of data and of model parallelism wrote its optimizer; the model states lie in one file for each rank of
model parallelism, or with ZeRO 3 beside each optimizer. `latest`, written last, names the tag.
"""

from __future__ import annotations

import re
from collections import defaultdict
from statistics import median

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.hf_trainer import is_of_trainer
from ckptdeck.core.probes.rank_grid import Place, missing_places
from ckptdeck.core.probes.ranks import find_gap
from ckptdeck.core.probes.reading import MIB, Damage
from ckptdeck.core.probes.tree import KindFinding, Tree, below, some
from ckptdeck.core.states import Structure

FORMAT = "deepspeed"

_MODEL = re.compile(r"mp_rank_(?P<model>[0-9]{1,9})(?:_[0-9]+)?_model_states\.pt", re.ASCII)
_ZERO = re.compile(
    r"(?P<start>(?:bf16_|fp16_)?zero_pp_rank_)(?P<data>[0-9]{1,9})_mp_rank_(?P<model>[0-9]{1,9})_?(?P<kind>model|optim)_states\.pt",
    re.ASCII,
)
_LAYER = re.compile(r"layer_(?P<layer>[0-9]{1,9})-model_(?P<model>[0-9]{1,9})-model_states\.pt", re.ASCII)
_EXPERT = re.compile(
    r"(?P<series>(?:layer_[0-9]+_)?expert_)(?P<expert>[0-9]{1,9})(?P<end>_mp_rank_[0-9]+_model_states\.pt)", re.ASCII
)
_LATEST = "latest"
_LONGEST_TAG = 4096
_TOO_SMALL_TO_COMPARE = MIB

_RANKS_MESSAGE = 'DeepSpeed says "FileNotFoundError: No such file or directory" for the file of that rank'
_LATEST_MESSAGE = 'Trainer says "[deepspeed] failed to resume from checkpoint", or "Unable to find latest file"'
_SIZE_MESSAGE = "DeepSpeed may say nothing, or that a tensor has another size"


def judge_deepspeed(tree: Tree) -> KindFinding | None:
    """None where no directory holds a tag. Raises the worst Damage of those that do."""
    damages = Damages()
    said: list[str] = []
    for directory, names in tree.directories.items():
        if any(_MODEL.fullmatch(name) or _ZERO.fullmatch(name) for name in names):
            tag = _Tag(tree, directory, damages)
            tag.judge()
            said.append(tag.text())
    damages.raise_worst(())
    return KindFinding(FORMAT, some(said, 2)) if said else None


class _Tag:
    """One directory of states; damages go to the list."""

    def __init__(self, tree: Tree, directory: str, damages: Damages) -> None:
        self.tree = tree
        self.directory = directory
        self.damages = damages
        self.names = tree.beside(directory)
        self.models = {int(match["model"]) for name in self.names if (match := _MODEL.fullmatch(name))}
        self.zero: dict[str, dict[Place, str]] = {"model": {}, "optim": {}}
        for name in self.names:
            if match := _ZERO.fullmatch(name):
                self.zero[match["kind"]][int(match["model"]), int(match["data"])] = name

    def text(self) -> str:
        ranks = len(self.zero["optim"]) or len(self.models)
        where = f"{self.directory}: " if self.directory else ""
        return f"{where}the states of {counted(ranks, 'rank')}"

    def judge(self) -> None:
        self._check_zero()
        self._check_models()
        self._check_layers()
        self._check_experts()
        self._check_sizes()
        self._check_latest()

    def _check_zero(self) -> None:
        """Each rank has its optimizer, and with ZeRO 3 its part of the model."""
        partitioned = bool(self.zero["model"])
        every = set(self.zero["model"]) | set(self.zero["optim"])
        count, first = missing_places(every)
        kinds = ("model", "optim") if partitioned else ("optim",)
        missing = [self._zero_name(kind, place) for place in first for kind in kinds]
        missing_count = count * len(kinds)
        for kind in kinds:
            lacking = sorted(every - set(self.zero[kind]))
            missing += [self._zero_name(kind, place) for place in lacking[:3]]
            missing_count += len(lacking)
        if missing_count:
            self._tell_missing(missing, missing_count)

    def _zero_name(self, kind: str, place: Place) -> str:
        start = "zero_pp_rank_"
        for name in self.zero[kind].values():
            match = _ZERO.fullmatch(name)
            start = match["start"] if match else start
            break
        model, data = place
        return f"{start}{data}_mp_rank_{model:02d}_{kind}_states.pt"

    def _check_models(self) -> None:
        if self.zero["model"]:
            return
        if not self.models:
            self._tell_missing(["mp_rank_00_model_states.pt"], 1)
            return
        gap = find_gap(self.models | {model for model, _ in self.zero["optim"]})
        missing = sorted({model for model, _ in self.zero["optim"]} - self.models)
        names = [f"mp_rank_{model:02d}_model_states.pt" for model in (*(gap.first if gap else ()), *missing[:3])]
        if names:
            self._tell_missing(names, (gap.count if gap else 0) + len(missing))

    def _check_layers(self) -> None:
        """With pipeline parallelism each layer lies in a file of its own, for each rank that shares it."""
        by_layer: dict[str, set[str]] = defaultdict(set)
        for name in self.names:
            if match := _LAYER.fullmatch(name):
                by_layer[match["layer"]].add(match["model"])
        every = set().union(*by_layer.values())
        missing = [
            f"layer_{layer}-model_{model}-model_states.pt"
            for layer, there in by_layer.items()
            for model in sorted(every - there)
        ]
        if missing:
            self._tell_missing(missing, len(missing))

    def _check_experts(self) -> None:
        experts: dict[tuple[str, str], set[int]] = defaultdict(set)
        for name in self.names:
            if match := _EXPERT.fullmatch(name):
                experts[match["series"], match["end"]].add(int(match["expert"]))
        for (series, end), numbers in experts.items():
            if gap := find_gap(numbers):
                self._tell_missing([f"{series}{number}{end}" for number in gap.first], gap.count)

    def _tell_missing(self, names: list[str], count: int) -> None:
        shown = some([below(self.directory, name) for name in names[:3]])
        more = f" and {count - 3:,} more" if count > 3 else ""
        self.damages.add(
            Damage(
                Structure.INCOMPLETE,
                f"not there: {shown}{more}, by the ranks of the others",
                loader_says=_RANKS_MESSAGE,
            )
        )

    def _check_sizes(self) -> None:
        """The optimizer is split evenly among the ranks of data parallelism."""
        by_model: dict[int, list[int]] = defaultdict(list)
        for (model, _), name in self.zero["optim"].items():
            by_model[model].append(self.tree.size(below(self.directory, name)))
        for (model, _), name in self.zero["optim"].items():
            size, usual = self.tree.size(below(self.directory, name)), median(by_model[model])
            if usual >= _TOO_SMALL_TO_COMPARE and not usual / 2 <= size <= usual * 2:
                self.damages.add(
                    Damage(
                        Structure.SUSPECT,
                        f"{below(self.directory, name)}: {size:,} bytes, where the files of the other ranks have about "
                        f"{int(usual):,}",
                        loader_says=_SIZE_MESSAGE,
                    )
                )

    def _check_latest(self) -> None:
        """Trainer finds its tag by `latest` alone; others are told the tag."""
        if not self.directory:
            return
        parent, _, tag = self.directory.rpartition("/")
        if not is_of_trainer(self.tree, parent):
            return
        path = below(parent, _LATEST)
        if not self.tree.has(path):
            text = f"not there: {path}, which names the tag {tag} and is written last: the save did not finish"
        else:
            named = (self.tree.read(path, _LONGEST_TAG) or b"").decode("utf-8", "surrogateescape").strip()
            if any(below(parent, named) == directory for directory in self.tree.directories):
                return
            text = f"{path} names {named!r}, which is not there"
        self.damages.add(Damage(Structure.INCOMPLETE, text, loader_says=_LATEST_MESSAGE))
