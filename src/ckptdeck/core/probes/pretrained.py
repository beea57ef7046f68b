"""A model as `save_pretrained` leaves it: a description and, beside it, weights in one file or an adapter's."""

from __future__ import annotations

import re

from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.hf_trainer import is_of_trainer
from ckptdeck.core.probes.reading import Damage
from ckptdeck.core.probes.trainer_files import has_weights
from ckptdeck.core.probes.tree import KindFinding, Tree, below, some
from ckptdeck.core.states import Structure

FORMAT = "pretrained"

_ADAPTER = "adapter_config.json"
_DESCRIPTIONS = ("config.json", _ADAPTER)
_WEIGHTS = re.compile(
    r"(?:model|pytorch_model|diffusion_pytorch_model|adapter_model)(?:\.[a-z0-9_]+)?\.(?:safetensors|bin)", re.ASCII
)
_MISSING_MESSAGE = 'peft says "Can\'t find weights for", and looks for them on the hub'


def judge_pretrained(tree: Tree) -> KindFinding | None:
    """None where no directory has a description with weights, or a trainer answers for it. Raises the worst Damage."""
    damages = Damages()
    said: list[str] = []
    for directory, names in tree.directories.items():
        weights = [name for name in names if _WEIGHTS.fullmatch(name)]
        if weights and any(name in names for name in _DESCRIPTIONS) and not is_of_trainer(tree, directory):
            said.append(below(directory, weights[0]))
        elif not weights and _ADAPTER in names and not has_weights(tree, directory):
            damages.add(
                Damage(
                    Structure.INCOMPLETE,
                    f"not there: adapter_model.safetensors, which {below(directory, _ADAPTER)} describes",
                    loader_says=_MISSING_MESSAGE,
                )
            )
    damages.raise_worst(())
    return KindFinding(FORMAT, f"{some(said)} with its description") if said else None
