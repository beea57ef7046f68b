from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ckptdeck.monitor.watch_work import Duties
from tests.monitor.pretended import directories
from tests.monitor.world import World, WorldMaker


@pytest.fixture
def make(tmp_path: Path) -> Iterator[WorldMaker]:
    made: list[World] = []

    def make(*, mirror: bool = True, prune: bool = True, policy: str = "", paired: bool = True) -> World:
        world = World(directories(tmp_path), duties=Duties(mirror, prune), paired=paired)
        if policy:
            (Path(world.control) / "ckptdeck.toml").write_text(policy)
        made.append(world)
        return world

    yield make
    for world in made:
        world.end()
