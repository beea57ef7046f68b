"""What the files in a trainer's directory are by their names: weights, or the state beside them.

Weights come under many names (adapters, projectors, experts, engines), so everything in a format of weights counts that
is not known to be something else: a rule that asks for weights must not cry over a name it never saw.
"""

from __future__ import annotations

import re

from ckptdeck.core.probes.tree import Tree

_OF_WEIGHTS = (
    ".safetensors",
    ".bin",
    ".pt",
    ".pth",
    ".ckpt",
    ".h5",
    ".msgpack",
    ".gguf",
    ".distcp",
    ".npz",
)
_STATE = re.compile(
    r"(?:training_args|(?:optimizer|scheduler|sampler|dl_state_dict)(?:_[0-9]+)?|optimizer_[0-9]+_rank[0-9]+)\.bin"
    r"|(?:optimizer|scheduler|scaler|train_state|common)\.pt"
    r"|rng_state(?:_[0-9]+)?\.pth"
    r"|rank[0-9]+-of-[0-9]+-optimizer\.pt"
    r"|.*_?optim_states\.pt"
    r"|optim_world_size_.*\.pt|extra_state_world_size_.*\.pt",
    re.ASCII,
)
_DIRECTORY_OF_STATE = re.compile(r"(?:optimizer|optim)(?:_[0-9]+)?", re.ASCII)
_OF_DEEPSPEED = re.compile(r".*_(?:model|optim)_states\.pt", re.ASCII)
_OF_MEGATRON = re.compile(r"model_optim_rng\.pt|model_rng\.pt|distrib_optim\.pt", re.ASCII)


def has_weights(tree: Tree, directory: str) -> bool:
    """Any file below `directory` that may hold weights."""
    return any(is_weights(path) for path in tree.inside(directory))


def has_engine_states(tree: Tree, directory: str) -> bool:
    """DeepSpeed or Megatron keep the optimizer in files of their own somewhere below."""
    names = (path.rpartition("/")[2] for path in tree.inside(directory))
    return any(_OF_DEEPSPEED.fullmatch(name) or _OF_MEGATRON.fullmatch(name) for name in names)


def directories_in(tree: Tree, directory: str) -> set[str]:
    """Names of the directories in `directory` that hold files, at any depth."""
    start = len(directory) + 1 if directory else 0
    ends = ((path, path.find("/", start)) for path in tree.inside(directory))
    return {path[start:end] for path, end in ends if end >= 0}


def is_weights(path: str) -> bool:
    """By its name and that of its directory."""
    if not path.endswith(_OF_WEIGHTS):
        return False
    directory, _, name = path.rpartition("/")
    return not (_STATE.fullmatch(name) or _DIRECTORY_OF_STATE.fullmatch(directory.rpartition("/")[2]))
