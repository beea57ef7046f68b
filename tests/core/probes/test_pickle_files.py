"""Pickles and joblib's: every protocol, several in one file, arrays among the opcodes."""

from __future__ import annotations

import datetime
import pickle
import random
from pathlib import Path

import numpy as np
import pytest

from ckptdeck.core.probes import probe_file
from ckptdeck.core.states import Structure
from tests.core.probes.looking import FIXTURES, CountingFileSystem, memory_file, probe_bytes, probe_fixture

STATE: dict[str, object] = {
    "weights": {"dense": np.arange(3000, dtype="f4"), "empty": np.ones((0, 2))},
    "step": 2**80,
    "texts": ["é\n'\"", b"\0bytes", None, True, 1.5, {1, 2}, datetime.date(2026, 1, 1)],
}
OBJECTS = np.array(["a", None, (1, 2)], dtype=object)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", ["model.pkl", "model.pickle", "random_states_0.pkl"])
def test_every_protocol_is_whole_and_a_byte_less_is_cut(protocol: int, name: str) -> None:
    content = pickle.dumps(STATE | {"objects": OBJECTS}, protocol)
    finding = probe_bytes(content, name)
    assert (finding.structure, finding.format, finding.expected_size) == (Structure.OK, "pickle", len(content))
    assert probe_bytes(content[:-1], name).structure is Structure.CUT
    assert probe_bytes(content + b"\0\0", name).structure is Structure.SUSPECT


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_with_a_magic_needs_no_name(protocol: int) -> None:
    assert probe_bytes(pickle.dumps(STATE, protocol), "state").structure is Structure.OK


def test_buffers_kept_elsewhere_are_no_damage() -> None:
    buffers: list[pickle.PickleBuffer] = []
    content = pickle.dumps(STATE, 5, buffer_callback=buffers.append)
    assert buffers
    assert probe_bytes(content, "model.pkl").structure is Structure.OK


def test_several_pickles_in_one_file_are_whole_and_counted() -> None:
    content = b"".join(pickle.dumps(STATE, protocol) for protocol in (2, 4, 5))
    finding = probe_bytes(content, "log.pkl")
    assert finding.structure is Structure.OK
    assert finding.expected_size == len(content)
    assert "3 pickles" in finding.text
    assert probe_bytes(content[:-1], "log.pkl").structure is Structure.SUSPECT


@pytest.mark.parametrize(
    "content",
    [
        b'{"this": "is JSON"}' * 10,
        b"plain text, somebody's notes\n" * 10,
        b"I am text that begins as a number of protocol 0 would\n" * 10,
        b"]\n" + b"Two lines" * 30,
        bytes(range(255, 0, -1)) * 4,
    ],
)
def test_a_file_that_is_only_named_as_a_pickle_is_no_finding(content: bytes) -> None:
    assert probe_bytes(content, "model.pkl").structure is Structure.UNKNOWN


def test_lost_random_states_tell_that_nobody_will_complain() -> None:
    content = pickle.dumps(STATE, 4)
    assert "accelerate says nothing" in probe_bytes(content[:900], "random_states_0.pkl").loader_says


def test_a_cut_pickle_says_what_is_missing() -> None:
    content = pickle.dumps({"w": b"x" * 100_000}, 2)
    finding = probe_bytes(content[:70_000], "model.pkl")
    assert "asks for 100,000 bytes" in finding.text
    assert "truncated" in finding.loader_says


def test_payloads_are_stepped_over_unread() -> None:
    content = pickle.dumps([random.Random(index).randbytes(1_000_000) for index in range(20)], 4)
    fs = CountingFileSystem()
    with memory_file(content) as fd:
        assert probe_file(fs, fd, len(content), "model.pkl").structure is Structure.OK
    assert fs.bytes_read < 40_000


def test_a_length_of_exabytes_sizes_no_buffer() -> None:
    content = b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7f" + b"x" * 100
    assert probe_bytes(content, "model.pkl").structure is Structure.CUT


def test_a_pickle_that_would_run_a_program_is_only_read() -> None:
    content = b"\x80\x02cno_such_module\nexplode\n(X\x01\0\0\0atR."
    assert probe_bytes(content, "model.pkl").structure is Structure.OK


# --- joblib

JOBLIB = sorted((FIXTURES / "healthy_joblib").iterdir())


@pytest.mark.parametrize("path", JOBLIB, ids=lambda path: path.stem)
def test_what_joblib_writes_is_whole(path: Path) -> None:
    finding = probe_fixture(path)
    assert (finding.structure, finding.format) == (Structure.OK, "joblib"), finding
    assert finding.expected_size == path.stat().st_size


def test_the_arrays_of_joblib_are_counted() -> None:
    found = {path.stem: probe_fixture(path).text for path in JOBLIB}
    assert "5 arrays" in found["dates"]
    assert "2 arrays" in found["objects"]


@pytest.mark.parametrize("path", JOBLIB, ids=lambda path: path.stem)
def test_a_joblib_file_cut_anywhere_is_cut(path: Path) -> None:
    content = path.read_bytes()
    for length in range(64, len(content), 7):
        assert probe_bytes(content[:length], "model.joblib").structure is Structure.CUT, length


def test_filler_that_joblib_did_not_write_is_damage() -> None:
    content = (FIXTURES / "one_save" / "joblib" / "model.joblib").read_bytes()
    place = content.index(b"K\x10ub") + 4
    assert content[place + 1 : place + 1 + content[place]].strip(b"\xff") == b""
    finding = probe_bytes(content[: place + 1] + b"\0" + content[place + 2 :], "model.joblib")
    assert finding.structure is Structure.BROKEN
    assert "filler" in finding.text


def test_an_array_of_a_type_nobody_knows_is_no_finding() -> None:
    content = (FIXTURES / "one_save" / "joblib" / "model.joblib").read_bytes()
    finding = probe_bytes(content.replace(b"\x8c\x02f4", b"\x8c\x02qq", 1), "model.joblib")
    assert finding.structure is Structure.UNKNOWN


@pytest.mark.parametrize("magic", [b"\x1f\x8b\x08", b"BZh9", b"\x5d\0\0\x80\0", b"\x78\x9c", b"\x04\x22\x4d\x18"])
def test_compressed_files_prove_nothing(magic: bytes) -> None:
    finding = probe_bytes(magic + random.Random(1).randbytes(20_000), "model.joblib")
    assert (finding.structure, finding.proof) == (Structure.UNKNOWN, "magic")


def test_zeros_that_a_compressor_wrote_are_no_loss() -> None:
    stream = b"\x78\x9c" + b"v" * 3000 + bytes(3 * 4096) + b"checksum"
    assert probe_bytes(stream, "model.joblib", holes=((4096, 3 * 4096),)).structure is Structure.UNKNOWN
