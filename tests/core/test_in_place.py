"""Files written directly under their final names tell how far they are, by their own header where it says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.scan import scan
from ckptdeck.core.sighting import InFlight, Inventory
from tests.core.looks import Bench, make_bench
from tests.core.probes.looking import save

WHOLE = save("safetensors/model.safetensors")
NAME = "step_0810.safetensors"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = make_bench(tmp_path)
    bench.clock.time = os.stat(bench.root).st_ctime + 1  # what is made now is young
    return bench


def look(bench: Bench, previous: Inventory | None = None) -> tuple[Inventory, InFlight]:
    bench.clock.time += 2
    found = scan(bench.host, bench.found, DEFAULT_POLICY, previous)
    (flight,) = found.in_flight
    return found, flight


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (NAME, WHOLE),
        ("step_0810.gguf", save("gguf/model.gguf")),
        ("step_0810.npy", save("npy/weights.npy")),
    ],
)
def test_the_header_says_how_far_there_is_to_go(bench: Bench, name: str, content: bytes) -> None:
    bench.write(name.replace("0810", "0800"), b"x" * 900)
    with (bench.root / name).open("wb") as file:
        file.write(content[: len(content) * 9 // 10])
        file.flush()
        _, flight = look(bench)
    assert (flight.size, flight.expected_size) == (len(content) * 9 // 10, len(content))


def test_before_the_header_is_there_siblings_tell(bench: Bench) -> None:
    bench.write("step_0800.safetensors", b"x" * 900)
    with (bench.root / NAME).open("wb") as file:
        file.write(WHOLE[:100])
        file.flush()
        first, flight = look(bench)
        assert (flight.expected_size, flight.promised) == (900, None)
        file.write(WHOLE[100:4000])
        file.flush()
        _, flight = look(bench, first)
    assert flight.expected_size == len(WHOLE)


def test_what_is_written_counts_more_than_the_record_of_what_was(bench: Bench) -> None:
    bench.write(NAME, b"x" * 900)
    bench.record(NAME, 810)
    with (bench.root / NAME).open("wb") as file:
        file.write(WHOLE[:4000])
        file.flush()
        _, flight = look(bench)
    assert flight.expected_size == len(WHOLE)


def test_a_header_is_read_once_and_again_only_when_the_file_begins_anew(bench: Bench) -> None:
    with (bench.root / NAME).open("wb") as file:
        file.write(WHOLE[:4000])
        file.flush()
        found, _ = look(bench)
        opened = bench.fs.opened.count(str(bench.root / NAME))
        for number, length in enumerate((4100, 4200), 1):
            file.write(WHOLE[file.tell() : length])
            file.flush()
            found, flight = look(bench, found)
            assert flight.expected_size == len(WHOLE)
            assert bench.fs.opened.count(str(bench.root / NAME)) == opened + number  # to ask who writes it
        file.seek(0)
        file.truncate()
        file.write(b"something shorter")
        file.flush()
        found, flight = look(bench, found)
        assert (flight.promised, flight.expected_size) == (None, None)


def test_a_promise_that_was_outgrown_is_none(bench: Bench) -> None:
    with (bench.root / NAME).open("wb") as file:
        file.write(WHOLE + b"more than there should be")
        file.flush()
        _, flight = look(bench)
    assert (flight.promised, flight.expected_size) == (None, None)
