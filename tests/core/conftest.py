from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.workbench import Workbench


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench.fresh(tmp_path)
