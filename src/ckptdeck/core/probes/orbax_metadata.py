"""The two documents of Orbax: `_CHECKPOINT_METADATA` of a step, and `_METADATA` of an item with arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ckptdeck.core.probes.reading import Damage
from ckptdeck.core.probes.tree import Tree
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

STEP, ITEM = "_CHECKPOINT_METADATA", "_METADATA"

_WITH_ARRAYS = frozenset({"jax.Array", "np.ndarray", "scalar"})
_TEXT = "string"
_SINCE_STEPS_HAVE_THEIR_OWN = frozenset({"custom_metadata", "store_array_data_equal_to_fill_value"})
"""Keys of an item that came after `_CHECKPOINT_METADATA` did."""

_STEP_MESSAGE = "Orbax says nothing and loads the values; without it no step counts as finished in later versions"
_ITEM_MESSAGE = 'Orbax says "JSONDecodeError", "KeyError" or that the tree structures do not match'
_UNFINISHED_MESSAGE = "Orbax takes a step that was not committed for one that is still being written"


@dataclass(frozen=True, slots=True)
class ItemMetadata:
    """What an item says of itself."""

    uses_ocdbt: bool
    stores_fill_values: bool
    """Chunks that hold nothing but the fill value are stored like others."""
    is_modern: bool
    """Written by an Orbax that gives each step a `_CHECKPOINT_METADATA`."""
    arrays: frozenset[str]
    """Names of the arrays that there must be."""
    has_strings: bool
    """There are texts, which are kept in a document of their own."""


def read_step(tree: Tree) -> dict[str, Any]:
    """`_CHECKPOINT_METADATA`, which must be there; {} when it is too large. Raises Damage, also for a step that was not
    committed.
    """
    try:
        document = tree.json(STEP)
    except Damage as damage:
        raise Damage(damage.structure, damage.text, loader_says=_STEP_MESSAGE) from damage
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise Damage(Structure.BROKEN, f"{STEP}: its JSON is no table", loader_says=_STEP_MESSAGE)
    if "commit_timestamp_nsecs" in document and document["commit_timestamp_nsecs"] is None:
        raise Damage(
            Structure.INCOMPLETE,
            f"{STEP}: begun at {document.get('init_timestamp_nsecs')} ns, and no time at which it was committed: "
            "the save did not finish",
            loader_says=_UNFINISHED_MESSAGE,
        )
    return document


def items_of(step: dict[str, Any]) -> list[str]:
    """Names of the items that a step says it has; none where the step is its own item."""
    handlers = step.get("item_handlers")
    if not isinstance(handlers, dict):
        return []
    return sorted(
        name for name, handler in handlers.items() if isinstance(handler, str) and handler and "/" not in name
    )


def read_item(tree: Tree, path: str) -> ItemMetadata | None:
    """`_METADATA` at `path`, which must be there; None when it is too large. Raises Damage."""
    try:
        document = tree.json(path)
    except Damage as damage:
        raise Damage(damage.structure, damage.text, loader_says=_ITEM_MESSAGE) from damage
    if document is None:
        return None
    leaves = document.get("tree_metadata") if isinstance(document, dict) else None
    if not isinstance(leaves, dict):
        raise Damage(Structure.BROKEN, f"{path}: its JSON describes no tree", loader_says=_ITEM_MESSAGE)
    return ItemMetadata(
        document.get("use_ocdbt") is True,
        document.get("store_array_data_equal_to_fill_value") is True,
        not _SINCE_STEPS_HAVE_THEIR_OWN.isdisjoint(document),
        frozenset(_arrays(path, leaves)),
        any(_kind(leaf) == _TEXT for leaf in leaves.values()),
    )


def _arrays(path: str, leaves: dict[str, Any]) -> Iterator[str]:
    """Raises Damage where a leaf and the keys on the way to it do not agree: each is written twice."""
    for shown, leaf in leaves.items():
        keys = _keys(leaf)
        if keys is None or shown != str(tuple(keys)):
            raise Damage(
                Structure.BROKEN,
                f"{path}: the leaf {shown} does not agree with its own keys",
                loader_says=_ITEM_MESSAGE,
            )
        if _kind(leaf) in _WITH_ARRAYS:
            yield ".".join(keys)


def _kind(leaf: object) -> str:
    """The type of its value; "" where nothing is stored for it."""
    value = leaf.get("value_metadata") if isinstance(leaf, dict) else None
    if not isinstance(value, dict) or value.get("skip_deserialize"):
        return ""
    return str(value.get("value_type"))


def _keys(leaf: object) -> list[str] | None:
    """None where a leaf has none."""
    entries = leaf.get("key_metadata") if isinstance(leaf, dict) else None
    if not isinstance(entries, list):
        return None
    keys = [entry.get("key") if isinstance(entry, dict) else None for entry in entries]
    return [str(key) for key in keys] if all(isinstance(key, str | int) for key in keys) else None
