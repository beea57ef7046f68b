"""A model as `save_pretrained` leaves it: a description and, beside it, weights in one file or an adapter's.

A description alone is no fault, tokenizers have one too. One with a temporary file of safetensors, and no weights, is a
save that was killed (F2).
"""

from __future__ import annotations

import re

from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.hf_trainer import is_of_trainer
from ckptdeck.core.probes.reading import Damage
from ckptdeck.core.probes.trainer_files import has_engine_states, has_weights, is_weights
from ckptdeck.core.probes.tree import KindFinding, Tree, below, some
from ckptdeck.core.states import Structure

FORMAT = "pretrained"

_ADAPTER = "adapter_config.json"
_DESCRIPTIONS = ("config.json", _ADAPTER)
_WEIGHTS = re.compile(
    r"(?:model|pytorch_model|diffusion_pytorch_model|adapter_model)(?:\.[a-z0-9_]+)?\.(?:safetensors|bin)", re.ASCII
)
_TEMPORARY = re.compile(r"\.tmp[A-Za-z0-9]{6}", re.ASCII)
_ADAPTER_MESSAGE = 'peft says "Can\'t find weights for", and looks for them on the hub'
_MODEL_MESSAGE = 'from_pretrained says "does not appear to have a file named", for the weights'


def judge_pretrained(tree: Tree) -> KindFinding | None:
    """None where no directory has a description with weights, or a trainer answers for it. Raises the worst Damage."""
    damages = Damages()
    said: list[str] = []
    for directory, names in tree.directories.items():
        described = [name for name in _DESCRIPTIONS if name in names]
        weights = [name for name in names if _WEIGHTS.fullmatch(name)]
        if not described:
            continue
        with damages.heard():
            if not weights:
                _without_weights(tree, directory, names, described)
            elif not is_of_trainer(tree, directory):
                said.append(below(directory, weights[0]))
    damages.raise_worst(())
    return KindFinding(FORMAT, f"{some(said)} with its description") if said else None


def _without_weights(tree: Tree, directory: str, names: list[str], described: list[str]) -> None:
    """Raises Damage where weights have to be; those of another adapter, below this one, do not do."""
    temporary = [name for name in names if _TEMPORARY.fullmatch(name)]
    if temporary and not has_weights(tree, directory):
        raise Damage(
            Structure.INCOMPLETE,
            f"not there: any file with weights, only {below(directory, temporary[0])}, a temporary name: the "
            "save did not finish",
            loader_says=_MODEL_MESSAGE,
        )
    if _ADAPTER in described and not any(is_weights(name) for name in names) and not has_engine_states(tree, directory):
        raise Damage(
            Structure.INCOMPLETE,
            f"not there: {below(directory, 'adapter_model.safetensors')}, which {_ADAPTER} beside it describes",
            loader_says=_ADAPTER_MESSAGE,
        )
