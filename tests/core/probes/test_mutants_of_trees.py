"""Seeded damage to members of checkpoints of several files: a judge answers with a finding, whatever the bytes are."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ckptdeck.core.probes import ocdbt_format, ocdbt_sequence, sstable, zarr_chunks, zstd_content
from ckptdeck.core.states import Structure
from tests.core.probes.looking import CountingFileSystem
from tests.core.probes.ocdbt_made import ocdbt_step
from tests.core.probes.test_mutants import mutate
from tests.core.probes.trees import copied, made, probe_directory

MUTANTS_EACH = 120
PLAIN_NODES = "made of plain nodes"
CASES = [
    ("dcp", "checked"),
    *((layout, how) for layout in ("tf_checkpoint", "tf_savedmodel") for how in ("checked", "unchecked")),
    *(
        (layout, how)
        for layout in ("orbax_ocdbt/100", "orbax_zarr/100", PLAIN_NODES)
        for how in ("checked", "unchecked", "without zstd")
    ),
]


class Agreeing(int):
    """A checksum that is always the right one, so that damage is met by what follows the check."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__


@pytest.mark.parametrize(("layout", "how"), CASES)
def test_mutants_give_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str, how: str) -> None:
    if how == "without zstd":
        monkeypatch.setattr(zstd_content, "_module", lambda name: None)
    if how == "unchecked":
        monkeypatch.setattr(sstable, "masked", lambda crc: Agreeing())
        for module in (ocdbt_format, ocdbt_sequence, zarr_chunks):
            monkeypatch.setattr(module, "crc32c", lambda data, crc=0: Agreeing())
    if layout == PLAIN_NODES:
        files = ocdbt_step({"a": bytes(range(200)), "b": b"1234" * 100}, packed=False, versions=True)
        root = made(files, tmp_path / "1")
    else:
        root = copied(layout, tmp_path)
    whole = {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
    assert probe_directory(root).structure is Structure.OK
    size = sum(map(len, whole.values()))
    values = random.Random(layout + how)
    for number in range(MUTANTS_EACH):
        path = values.choice([*whole])
        path.write_bytes(mutate(whole[path], values))
        fs = CountingFileSystem()
        finding = probe_directory(root, fs)
        assert isinstance(finding.structure, Structure), number
        assert finding.text, number
        assert fs.bytes_read < 20 * size + 1_000_000, number
        path.write_bytes(whole[path])
