"""One file of a tree by its own format, and what its place among others changes about that.

Markers and notes may be empty, texts are never judged, JSON beside a checkpoint has to parse, and what is left of an
interrupted save under a temporary name is no member at all.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ckptdeck.core.probes import probe_open_file
from ckptdeck.core.probes.accelerate import RANDOM_MESSAGE, loader_is_silent_about
from ckptdeck.core.probes.json_text import check_json
from ckptdeck.core.probes.reading import Damage
from ckptdeck.core.probes.tree import Tree
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

_LEFT_OVER = re.compile(r"\.tmp[A-Za-z0-9]{6}|.+\.(?:tmp|temp|part|partial|incomplete|lock)", re.ASCII | re.DOTALL)
_TEXT = (
    ".cfg",
    ".csv",
    ".css",
    ".html",
    ".ini",
    ".jinja",
    ".jinja2",
    ".jsonl",
    ".log",
    ".md",
    ".py",
    ".sh",
    ".toml",
    ".tsv",
    ".txt",
    ".yaml",
    ".yml",
)
_DATA = re.compile(
    r".+\.(?:bin|ckpt|distcp|gguf|h5|hdf5|joblib|json|keras|msgpack|npy|npz|pickle|pkl|pt|pt2|pth|safetensors|th)",
    re.ASCII | re.DOTALL,
)
"""Names of files that hold something if they are there at all."""
_CHUNK = re.compile(r"[0-9]+(?:\.[0-9]+)*", re.ASCII)
"""Of an array in a directory of its own, as zarr stores it."""
_JSON = ".json"


def is_left_over(path: str) -> bool:
    """A temporary name: nobody loads it, so nothing in it counts."""
    return _LEFT_OVER.fullmatch(path.rpartition("/")[2]) is not None


def look_at(tree: Tree, path: str, *, known_layout: bool) -> StructureFinding:
    """What one file says by itself. JSON has to parse only where a layout is known; anything may call itself that.

    Raises TooLarge when the tree has had its share; OSError, Cancelled and LostInTree pass through.
    """
    name = path.rpartition("/")[2]
    if is_left_over(path):
        return StructureFinding(Structure.UNKNOWN, "", "a temporary name; not judged")
    if name.endswith(_TEXT):
        return StructureFinding(Structure.UNKNOWN, "", "text; not judged")
    is_data = _DATA.fullmatch(name) is not None
    if tree.size(path) <= 1 and not is_data:
        return StructureFinding(Structure.UNKNOWN, "", "a marker or a note; not judged")
    if name.endswith(_JSON):
        judged = known_layout or not tree.size(path)
        return _look_at_json(tree, path) if judged else StructureFinding(Structure.UNKNOWN, "json", "not judged")
    with tree.reader(path) as reader:
        finding = probe_open_file(reader, name)
    if finding.structure in (Structure.OK, Structure.UNKNOWN):
        return finding
    if finding.structure is Structure.BROKEN and not finding.format and not is_data:  # a raw array may be all zeros
        chunk = _CHUNK.fullmatch(name) is not None
        return replace(finding, structure=Structure.UNKNOWN if chunk else Structure.SUSPECT, loader_says="")
    return replace(finding, loader_says=RANDOM_MESSAGE) if loader_is_silent_about(name) else finding


def _look_at_json(tree: Tree, path: str) -> StructureFinding:
    try:
        with tree.reader(path) as reader:
            check_json(reader)
    except Damage as damage:
        return damage.finding("json")
    return StructureFinding(Structure.OK, "json", f"{tree.size(path):,} bytes of JSON")
