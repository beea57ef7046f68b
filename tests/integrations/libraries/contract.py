"""What the tests ask of a library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tests.integrations.values import Values

NAMES = ("hf_trainer", "pretrained", "accelerate", "dcp", "orbax", "orbax_manager", "lightning")
"""Modules beside this one; importing one imports its library."""


@dataclass(frozen=True, slots=True)
class Library:
    """One way in which one library saves. What is saved is the same each time."""

    checkpoint: str
    """Its name in a set."""
    publish: Callable[[Path], Values]
    """Saves through ckptdeck into the set at this path, as a user of the library would write it."""
    save: Callable[[Path], Values]
    """Saves into the set at this path as the library does by itself."""
    load: Callable[[Path], Values]
    """What the library reads of the checkpoint in the set at this path."""
    lost: str = ""
    """A file of it that matters, relative to it; "" where the checkpoint is a single file."""
    fill: Callable[[Path], Values] | None = None
    """Saves into a directory that is there and empty, as `publish_directory` yields it."""

    @property
    def is_directory(self) -> bool:
        return bool(self.lost)


def library(name: str) -> Library:
    """The one of that name in NAMES."""
    found = import_module(f"tests.integrations.libraries.{name}").LIBRARY
    assert isinstance(found, Library)
    return found
