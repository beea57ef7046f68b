"""npy and npz: headers that numpy writes are understood, headers that contradict the file are damage."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from collections.abc import Mapping

import numpy as np
import pytest

from ckptdeck.core.states import Structure
from tests.core.probes.looking import FIXTURES, PAGE, probe_bytes

ARRAYS: Mapping[str, np.ndarray] = {
    "scalar": np.array(3.5),
    "objects": np.array([1, None, "x", (2, 3)], dtype=object),
    "fields": np.ones(3, dtype=[("a", "<f4"), ("b", ">i2", (2, 3)), ("c", [("d", "U3")])]),
    "titles": np.ones(2, dtype=[(("Title", "n"), "<f4")]),
    "quotes": np.ones(2, dtype=[("it's", "<f4"), ('a"b\\', "<f4")]),
    "unicode": np.ones(2, dtype=[("ключ", "<f4")]),
    "aligned": np.ones(2, dtype=np.dtype([("a", "i1"), ("b", "f8")], align=True)),
    "long_header": np.ones(1, dtype=[(f"field_{index}", "<f4") for index in range(9000)]),
    "big_endian": np.arange(3, dtype=">f8"),
    "columns": np.asfortranarray(np.ones((2, 3))),
    "dates": np.array(["2026-01-01"], dtype="M8[ns]"),
    "text": np.array(["é", "ab"]),
    "raw": np.ones(2, dtype="V5"),
    "flags": np.array([True]),
    "none": np.ones((0, 3)),
    "zeros": np.zeros(100_000),
    "zeros_at_the_end": np.concatenate([np.arange(1.0, 1000.0), np.zeros(5_000)]),
}


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # numpy says which version of the format it needs
        np.save(file, array)
    return file.getvalue()


def archive(arrays: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as target:
        for name, content in arrays.items():
            with target.open(name + ".npy", "w", force_zip64=True) as member:
                member.write(content)
    return file.getvalue()


def written(header: bytes, data: bytes = bytes(range(1, 13)), version: int = 1) -> bytes:
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(header)) + header + data


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("sparse", [False, True])
def test_what_numpy_writes_is_whole(name: str, sparse: bool) -> None:
    content = npy(ARRAYS[name])
    zeros = [
        at for at in range(0, len(content), PAGE) if len(content) >= at + PAGE and not any(content[at : at + PAGE])
    ]
    holes = ((zeros[0], zeros[-1] + PAGE),) if sparse and zeros else ()
    finding = probe_bytes(content, name + ".npy", holes=holes)
    assert (finding.structure, finding.expected_size) == (Structure.OK, len(content)), finding


@pytest.mark.parametrize("name", ARRAYS)
def test_one_byte_less_is_a_cut(name: str) -> None:
    content = npy(ARRAYS[name])
    assert probe_bytes(content[:-1], name + ".npy").structure is Structure.CUT


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_archives_of_them_are_whole(compression: int) -> None:
    content = archive({name: npy(array) for name, array in ARRAYS.items()}, compression)
    finding = probe_bytes(content, "weights.npz")
    assert (finding.structure, finding.expected_size) == (Structure.OK, len(content)), finding
    assert f"{len(ARRAYS)} of {len(ARRAYS)} members" in finding.text


def test_an_archive_of_no_arrays_is_whole() -> None:
    finding = probe_bytes(archive({}), "weights.npz")
    assert (finding.structure, finding.format) == (Structure.OK, "npz")


def test_an_archive_written_without_checksums_is_whole_and_says_so() -> None:
    content = bytearray(archive({"a": npy(np.arange(9)), "b": npy(np.arange(3))}))
    for magic, place in ((b"PK\x03\x04", 14), (b"PK\x01\x02", 16)):
        start = -1
        while (start := content.find(magic, start + 1)) >= 0:
            content[start + place : start + place + 4] = bytes(4)
    finding = probe_bytes(bytes(content), "weights.npz")
    assert finding.structure is Structure.OK, finding
    assert "without checksums" in finding.text


def test_an_array_of_another_length_than_its_header_says_is_named() -> None:
    content = archive({"good": npy(np.arange(9)), "short": npy(np.arange(9))[:-8]})
    finding = probe_bytes(content, "weights.npz")
    assert finding.structure is Structure.BROKEN
    assert "'short.npy' holds 192 bytes, its header asks for 200" in finding.text


def test_a_member_that_is_no_array_is_named() -> None:
    finding = probe_bytes(archive({"lost": bytes(200)}), "weights.npz")
    assert finding.structure is Structure.BROKEN
    assert "lost.npy" in finding.text
    assert "zeros" in finding.text


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (b"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "impossible shape"),
        (b"{'descr': '<f4', 'fortran_order': False, 'shape': 3}", "impossible shape"),
        (b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"9999999999999999999," * 100 + b")}", "impossible"),
        (b"{'descr': '<f4', 'shape': (3,)}", "no type, order and shape"),
        (b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", "cannot be read"),
        (b"[" * 60_000, "cannot be read"),
        (b"\0" * 100, "cannot be read"),
    ],
)
def test_a_header_that_makes_no_sense_is_broken(header: bytes, says: str) -> None:
    finding = probe_bytes(written(header), "weights.npy")
    assert finding.structure is Structure.BROKEN
    assert says in finding.text


@pytest.mark.parametrize("descr", [b"'<f'", b"'unheard of'", b"[('a',)]", b"None"])
def test_a_type_that_is_not_known_is_no_finding(descr: bytes) -> None:
    header = b"{'descr': " + descr + b", 'fortran_order': False, 'shape': (3,)}"
    assert probe_bytes(written(header), "weights.npy").structure is Structure.UNKNOWN


def test_a_version_of_the_future_is_no_finding() -> None:
    assert probe_bytes(written(b"{}", version=9), "weights.npy").structure is Structure.UNKNOWN


def test_a_shape_that_claims_exabytes_sizes_no_buffer() -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (9000000000000000000, 9000000000000000000)}"
    finding = probe_bytes(written(header), "weights.npy")
    assert finding.structure is Structure.CUT


def test_the_progress_of_a_cut_array_is_told() -> None:
    content = (FIXTURES / "one_save" / "npy" / "weights.npy").read_bytes()
    finding = probe_bytes(content[:3128], "weights.npy")
    assert "3,128 of 6,128 bytes, 3,000 missing (50% of the data are there)" in finding.text
    assert "Failed to read all data for array" in finding.loader_says
