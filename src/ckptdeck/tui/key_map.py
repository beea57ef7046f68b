"""Which keys an operator put in the place of those the console comes with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ckptdeck.core.values import dataclass


@dataclass(frozen=True, slots=True)
class KeyMap:
    """What is not named here has the keys of the registry. Made from a file by `rebinding.key_map_of`, which checks."""

    rebound: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Id of a binding (`overview.mirror`) → at least one key, by Textual's names."""


AS_BUILT = KeyMap()
