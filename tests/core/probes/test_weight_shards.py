"""Weights in several files against the fact table, and the names that other writers give them."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ckptdeck.core.states import Structure
from ckptdeck.demo.safetensors_file import write_safetensors_file
from ckptdeck.demo.weights import Tensor
from tests.core.probes.fact_table import cells
from tests.core.probes.looking import FIXTURES, CountingFileSystem, save
from tests.core.probes.trees import copied, damaged_copy, made, members_of, probe_directory

LAYOUT = "hf_sharded"
INDEX = "model.safetensors.index.json"
SHARDS = tuple(f"model-{number:05d}-of-00003.safetensors" for number in (1, 2, 3))
TABLE_1E = """
trunc_0         C C C
trunc_1B        C C C
trunc_10        C C C
trunc_50        C C C
trunc_73        C C C
trunc_90        C C C
trunc_99        C C C
trunc_m1        C C .
trunc_m4096     C - -
zero_tail       S . C
zero_tail_4k    . S C
hole_tail       S . C
zero_gap        . . C
hole_gap        . . C
zero_page_mid   . C C
zero_page_head  C C C
bitflip_mid     . . C
all_zero        C C C
all_hole        C C C
torn_mix        . . -
extra_16        C C C
extra_4k_zero   C C C
stale           . . -
missing         I I I
"""


@pytest.mark.parametrize(
    ("layout", "member", "kind", "enough"),
    cells(TABLE_1E, [(LAYOUT, SHARDS[0]), (LAYOUT, SHARDS[2]), (LAYOUT, INDEX)]),
)
def test_every_damage_is_told(
    tmp_path: Path, layout: str, member: str, kind: str, enough: frozenset[Structure]
) -> None:
    finding = probe_directory(damaged_copy(layout, tmp_path, member, kind))
    assert finding.structure in enough, finding
    if Structure.OK not in enough:
        assert member in finding.text
        assert finding.loader_says


@pytest.mark.parametrize("which", ["one_save", "another_save"])
def test_whole_ones_raise_no_alarm(which: str) -> None:
    fs = CountingFileSystem()
    finding = probe_directory(FIXTURES / which / LAYOUT, fs)
    assert (finding.structure, finding.format) == (Structure.OK, "sharded-weights")
    assert f"3 shards with the tensors that {INDEX} lists;" in finding.text
    assert fs.bytes_read < 30_000


@pytest.mark.parametrize("member", [name for name in members_of(LAYOUT) if name.endswith("config.json")])
def test_a_description_is_no_member_to_miss(tmp_path: Path, member: str) -> None:
    assert probe_directory(damaged_copy(LAYOUT, tmp_path, member, "missing")).structure is Structure.OK


def index_of(root: Path, name: str = INDEX) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((root / name).read_text())
    return document


def rewrite(root: Path, document: Mapping[str, Any], name: str = INDEX) -> None:
    (root / name).write_text(json.dumps(document))


def test_a_save_that_was_killed_says_so(tmp_path: Path) -> None:
    root = damaged_copy(LAYOUT, tmp_path, INDEX, "missing")
    (root / SHARDS[2]).unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert f"{INDEX} is not there, which is written last" in finding.text
    assert "2 of 3 shards" in finding.text


def test_shards_without_an_index_are_seen_at_any_depth(tmp_path: Path) -> None:
    root = tmp_path / "epoch_0_step_7"
    copied(LAYOUT, root / "model", name="weights")
    assert probe_directory(root).structure is Structure.OK
    (root / "model" / "weights" / INDEX).unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert f"model/weights/{INDEX}" in finding.text


def test_a_tensor_that_is_not_in_its_shard_breaks_it(tmp_path: Path) -> None:
    root = copied(LAYOUT, tmp_path)
    document = index_of(root)
    document["weight_map"]["mtp.fc.weight"] = SHARDS[1]
    rewrite(root, document)
    finding = probe_directory(root)
    assert finding.structure is Structure.BROKEN
    assert "1 tensor that" in finding.text
    assert "mtp.fc.weight" in finding.text


def test_a_tensor_that_the_index_does_not_list_is_suspect(tmp_path: Path) -> None:
    root = copied(LAYOUT, tmp_path)
    document = index_of(root)
    document["weight_map"].pop(next(key for key, shard in document["weight_map"].items() if shard == SHARDS[1]))
    rewrite(root, document)
    assert probe_directory(root).structure is Structure.SUSPECT


def test_shards_of_another_model_break_it(tmp_path: Path) -> None:
    root = copied(LAYOUT, tmp_path)
    (root / SHARDS[0]).write_bytes((root / SHARDS[1]).read_bytes())
    assert probe_directory(root).structure is Structure.BROKEN


@pytest.mark.parametrize("total", [1, 1.5, 10**30, None, "many"])
def test_a_total_size_of_another_model_is_no_alarm(tmp_path: Path, total: object) -> None:
    root = copied(LAYOUT, tmp_path)
    document = index_of(root)
    document["metadata"]["total_size"] = total
    rewrite(root, document)
    finding = probe_directory(root)
    assert finding.structure is Structure.OK
    assert ("total_size" in finding.text) == (total in (1, 1.5))


@pytest.mark.parametrize(
    "document", [[], {}, {"weight_map": []}, {"weight_map": {"a": 1}}, {"weight_map": {"a": None}}]
)
def test_an_index_without_a_map_is_broken(tmp_path: Path, document: Any) -> None:
    root = copied(LAYOUT, tmp_path)
    rewrite(root, document)
    assert probe_directory(root).structure is Structure.BROKEN


@pytest.mark.parametrize("name", ["../outside.safetensors", "/etc/passwd", "", ".", "a\0b", "\ud800", "x" * 5000])
def test_a_shard_of_an_odd_name_is_only_not_there(tmp_path: Path, name: str) -> None:
    root = copied(LAYOUT, tmp_path)
    document = index_of(root)
    document["weight_map"]["odd"] = name
    rewrite(root, document)
    assert probe_directory(root).structure is Structure.INCOMPLETE


def test_an_index_that_knows_too_few_shards_is_suspect(tmp_path: Path) -> None:
    root = copied(LAYOUT, tmp_path)
    document = index_of(root)
    document["weight_map"] = {key: shard for key, shard in document["weight_map"].items() if shard != SHARDS[2]}
    rewrite(root, document)
    finding = probe_directory(root)
    assert finding.structure is Structure.SUSPECT
    assert SHARDS[2] in finding.text


def weights(*names: str) -> bytes:
    file = io.BytesIO()
    write_safetensors_file(file, tuple(Tensor(name, (64,), bytes(range(256))) for name in names))
    return file.getvalue()


TORCH = save("hf_trainer/optimizer.pt")
MAP = {"weight_map": {"a": "model.fp16-00001-of-00002.safetensors", "b": "model.fp16-00002-of-00002.safetensors"}}
BINARY_MAP = {"weight_map": {str(n): f"pytorch_model-0000{n}-of-00002.bin" for n in (1, 2)}}
HEALTHY = {
    "a variant": {name: weights(key) for key, name in MAP["weight_map"].items()}
    | {"model.safetensors.index.fp16.json": json.dumps(MAP).encode()},
    "saved by torch": dict.fromkeys(BINARY_MAP["weight_map"].values(), TORCH)
    | {"pytorch_model.bin.index.json": json.dumps(BINARY_MAP).encode()},
    "one of one": {"model-00001-of-00001.safetensors": weights("a")},
    "counted from 0": {f"model-0000{number}-of-00002.safetensors": weights(str(number)) for number in (0, 1)}
    | {
        INDEX: json.dumps({"weight_map": {str(n): f"model-0000{n}-of-00002.safetensors" for n in (0, 1)}}).encode(),
    },
    "left of an earlier save": {name: weights(key) for key, name in MAP["weight_map"].items()}
    | {"model.safetensors.index.fp16.json": json.dumps(MAP).encode()}
    | {"model.fp16-00002-of-00003.safetensors": weights("c")},
    "of every rank": {f"sharded/shard-0000{n}-model-00001-of-00002.safetensors": weights(str(n)) for n in (1, 2)},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_writers_really_leave_raises_no_alarm(tmp_path: Path, name: str) -> None:
    finding = probe_directory(made(HEALTHY[name], tmp_path / "step-10"))
    assert finding.structure in (Structure.OK, Structure.UNKNOWN), finding


def test_a_shard_saved_by_torch_is_missed(tmp_path: Path) -> None:
    root = made(HEALTHY["saved by torch"], tmp_path / "step-10")
    (root / "pytorch_model-00001-of-00002.bin").unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "not there: pytorch_model-00001-of-00002.bin, of 2 shards" in finding.text


def test_split_gguf_files_count_themselves(tmp_path: Path) -> None:
    gguf = save("gguf/model.gguf")
    root = made({f"m-0000{number}-of-00003.gguf": gguf for number in (1, 2, 3)}, tmp_path / "export")
    assert probe_directory(root).structure is Structure.OK
    (root / "m-00003-of-00003.gguf").unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "m-00003-of-00003.gguf" in finding.text
