"""Seeded damage to the members of a tree and to their names: a finding, whatever is there, and bounded reading."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from ckptdeck.core.states import Structure
from tests.core.probes.looking import FIXTURES, CountingFileSystem
from tests.core.probes.test_mutants import mutate
from tests.core.probes.trees import made, members_of, probe_directory

LAYOUTS = ("hf_trainer", "hf_sharded", "accelerate")
MUTANTS_EACH = 120
ONE_RANK = (FIXTURES / "one_save" / "hf_trainer" / "scheduler.pt").read_bytes()
OTHER_NAMES = (
    b"trainer_state.json",
    b"rng_state_99999999999999999999.pth",
    b"random_states_7.pkl",
    b"random_states_\xb2.pkl",
    b"model-00009-of-00003.safetensors",
    b"model-00000-of-00000.safetensors",
    b"model-99999-of-99999.gguf",
    b"x.safetensors.index.json",
    b"\xff\xfe.safetensors.index.json",
    b"adapter_config.json",
    b"integrity.json",
    b"metadata.json",
    b"common.pt",
    b"latest",
    b"global_step1/zero_pp_rank_3_mp_rank_07_optim_states.pt",
    b"global_step1/mp_rank_999999999_model_states.pt",
    b"mp_rank_07_003/model_optim_rng.pt",
    b"a_world_size_0_rank_0.pt",
    b"rank7-of-8-optimizer.pt",
    b"optimizer_0/.metadata",
    b".tmpAbCdEf",
    b"\n\x1b[31m.json",
    b"deep/" * 40 + b"trainer_state.json",
)


def spoil_a_tree(root: Path, values: random.Random) -> None:
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    for _ in range(values.randrange(1, 4)):
        path = values.choice(paths)
        match values.randrange(5):
            case 0:
                path.unlink(missing_ok=True)
            case 1 | 2 if path.exists():
                path.write_bytes(mutate(path.read_bytes(), values))
            case 3 if path.exists():
                other = os.fsencode(root) + b"/" + values.choice(OTHER_NAMES)
                os.makedirs(os.path.dirname(other), exist_ok=True)
                os.rename(os.fsencode(path), other)
            case _:
                other = os.fsencode(root) + b"/" + values.choice(OTHER_NAMES)
                os.makedirs(os.path.dirname(other), exist_ok=True)
                with open(other, "wb") as file:
                    file.write(values.choice((b"", b"{}", b'{"weight_map": {"a": "b"}}', ONE_RANK[:900], ONE_RANK)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_mutants_of_trees_give_findings(tmp_path: Path, layout: str) -> None:
    files = {name: (FIXTURES / "one_save" / layout / name).read_bytes() for name in members_of(layout)}
    size = sum(map(len, files.values()))
    values = random.Random(layout)
    seen = set()
    for number in range(MUTANTS_EACH):
        root = made(files, tmp_path / str(number) / "checkpoint-2")
        spoil_a_tree(root, values)
        fs = CountingFileSystem()
        finding = probe_directory(root, fs)
        assert finding.text, number
        assert fs.bytes_read < 40 * size + 1_000_000, number
        seen.add(finding.structure)
    assert seen >= {Structure.BROKEN, Structure.CUT, Structure.INCOMPLETE}
