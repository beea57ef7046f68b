"""Whole checkpoints that real libraries wrote in odd ways: none of them may alarm anybody."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.probes import probe_file
from ckptdeck.core.probes.deep import probe_deep
from ckptdeck.core.probes.deep_tree import deep_tree
from ckptdeck.core.progress import UNHURRIED
from ckptdeck.core.states import State, Structure
from ckptdeck.core.survey import take_survey
from tests.core.probes.trees import tree_of
from tests.core.workbench import Workbench
from tests.crash.sandbox import machine
from tests.integrations.extra import require_extra

require_extra()

from tests.integrations.healthy.composed_directories import COMPOSED_DIRECTORIES  # noqa: E402
from tests.integrations.healthy.dcp_directories import DCP_DIRECTORIES  # noqa: E402
from tests.integrations.healthy.orbax_directories import ORBAX_DIRECTORIES  # noqa: E402
from tests.integrations.healthy.torch_files import TORCH_FILES  # noqa: E402
from tests.integrations.healthy.trainer_directories import TRAINER_DIRECTORIES  # noqa: E402

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]
DIRECTORIES = {**DCP_DIRECTORIES, **ORBAX_DIRECTORIES, **TRAINER_DIRECTORIES, **COMPOSED_DIRECTORIES}
NOT_JUDGED = {"packaged.pt"}
"""A zip of another kind."""
Write = Callable[[Path], object]


@pytest.mark.parametrize(("name", "write"), TORCH_FILES.items(), ids=TORCH_FILES)
def test_a_whole_file_is_called_whole(tmp_path: Path, name: str, write: Write) -> None:
    write(tmp_path / name)
    sparse = tmp_path / "sparse" / name
    sparse.parent.mkdir()
    subprocess.run(["cp", "--sparse=always", tmp_path / name, sparse], check=True)
    allowed = {Structure.OK, Structure.UNKNOWN} if name in NOT_JUDGED else {Structure.OK}
    for path in (tmp_path / name, sparse):
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            quick = probe_file(FileSystem(), file.fileno(), size, name)
            deep = probe_deep(machine(FileSystem()), file.fileno(), size, name=name, side="primary", effort=UNHURRIED)
        assert quick.structure in allowed, quick.text
        assert deep.structure in allowed, deep.text


@pytest.mark.parametrize(("what", "write"), DIRECTORIES.items(), ids=DIRECTORIES)
def test_a_whole_directory_is_called_whole(tmp_path: Path, what: str, write: Write) -> None:
    bench, name = Workbench.fresh(tmp_path), what.partition(":")[0]
    write(bench.primary / name)
    subprocess.run(["cp", "-r", "--sparse=always", bench.primary / name, bench.mirror], check=True)
    survey = take_survey(bench.host, bench.pair, DEFAULT_POLICY)
    for side in survey.sides:
        found = side.find(name)
        assert found is not None
        assert found.state is State.STRUCTURE_OK, found.reason
        deep = deep_tree(bench.host, tree_of(bench.directory(side.role) / name), side.role)
        assert deep.structure is Structure.OK, deep.text
