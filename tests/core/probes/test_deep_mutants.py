"""Seeded damage of every kind: a full read answers with a finding, whatever the bytes are, in a bounded amount."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random

import pytest

from ckptdeck.core.states import Structure
from tests.core.probes.deep_looking import deep_bytes
from tests.core.probes.looking import FIXTURES, CountingFileSystem
from tests.core.probes.test_deep_streams import lz4_frame, zstd_of
from tests.core.probes.test_mutants import SEEDS, mutate

SOME = random.Random(2).randbytes(6_000) + bytes(6_000)
STREAMS = {
    "gzip.joblib": gzip.compress(SOME),
    "bzip2.joblib": bz2.compress(SOME),
    "xz.joblib": lzma.compress(SOME),
    "lzma.joblib": lzma.compress(SOME, lzma.FORMAT_ALONE),
    "zstd.joblib": zstd_of(SOME),
    "lz4.joblib": lz4_frame(flags=0x7C),
}
MUTANTS_EACH = 250


@pytest.mark.parametrize("name", [*SEEDS, *STREAMS])
def test_mutants_give_findings(name: str) -> None:
    content = STREAMS[name] if name in STREAMS else (FIXTURES / "one_save" / name).read_bytes()
    random_values = random.Random(name)
    for number in range(MUTANTS_EACH):
        mutant = mutate(content, random_values)
        fs = CountingFileSystem()
        finding = deep_bytes(mutant, name.rpartition("/")[2], fs=fs)
        assert isinstance(finding.structure, Structure), number
        assert finding.text, number
        assert fs.bytes_read < 40 * len(content) + 2_000_000, number
        if finding.proof == "checksums":
            assert finding.structure in (Structure.OK, Structure.SUSPECT), number
