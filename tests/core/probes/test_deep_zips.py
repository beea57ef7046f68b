"""The checksums of every member: which one is wrong, which archives have none, and archives one after another."""

from __future__ import annotations

import io
import random
import zipfile

import pytest

from ckptdeck.core.probes.reading import PAGE
from ckptdeck.core.states import Structure
from ckptdeck.demo.torch_file import write_torch_file
from ckptdeck.demo.weights import Tensor
from tests.core.probes.damage import Damaged, hole_gap
from tests.core.probes.deep_looking import deep_bytes, deep_damaged
from tests.core.probes.looking import CountingFileSystem, probe_bytes, save

VALUES = random.Random(8)
LARGE = VALUES.randbytes(2_500_000)


def archive(method: int, *contents: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as target:
        for number, content in enumerate(contents):
            target.writestr(f"part{number}", content)
    return file.getvalue()


def torch_file(*contents: bytes) -> bytes:
    file = io.BytesIO()
    tensors = [Tensor(f"layer.{n}", (len(content) // 4,), content) for n, content in enumerate(contents)]
    write_torch_file(file, tensors, archive="model", step=1, loss=0.5)
    return file.getvalue()


def flipped(content: bytes, *places: int) -> bytes:
    mutant = bytearray(content)
    for place in places:
        mutant[place] ^= 1
    return bytes(mutant)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_any_zip_proves_itself(method: int) -> None:
    content = archive(method, LARGE, b"small", bytes(3_000_000))
    finding = deep_bytes(content, "archive.zip")
    assert (finding.structure, finding.format, finding.proof) == (Structure.OK, "zip", "checksums"), finding
    assert "all 3 checksums" in finding.text


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_member_that_is_wrong_is_named(method: int) -> None:
    content = archive(method, b"small", LARGE, b"last")
    finding = deep_bytes(flipped(content, len(content) // 2), "archive.zip")
    assert finding.structure is Structure.BROKEN
    assert "1 of 3 checksums" in finding.text
    assert "'part1'" in finding.text


def test_how_many_members_are_wrong_is_told() -> None:
    content = torch_file(LARGE[:40_000], LARGE[40_000:80_000], LARGE[80_000:200_000])
    places = [content.index(LARGE[start : start + 32]) for start in (100, 50_000)]
    finding = deep_bytes(flipped(content, *places), "model.pt")
    assert finding.structure is Structure.BROKEN
    assert "2 of 9 checksums inside do not agree: 'model/data/0' of 40,000 bytes" in finding.text
    assert "torch.load says nothing" in finding.loader_says


def test_a_checksum_settles_what_a_hole_made_suspect() -> None:
    """Real zeros that a sparse copy made a hole of, by chance at a page boundary inside a tensor."""
    content = torch_file(LARGE[:100_000])
    start = content.index(LARGE[:64])
    page = -(-start // PAGE) * PAGE + 4 * PAGE
    tensor = LARGE[: page - start] + bytes(2 * PAGE) + LARGE[page - start + 2 * PAGE : 100_000]
    sparse = Damaged(torch_file(tensor), ((page, page + 2 * PAGE),))
    assert probe_bytes(sparse.content, "model.pt", holes=sparse.holes).structure is Structure.SUSPECT
    finding = deep_damaged(sparse, "model.pt")
    assert (finding.structure, finding.proof) == (Structure.OK, "checksums")


def test_a_hole_that_was_values_is_proven() -> None:
    content = torch_file(LARGE[:600_000])
    assert deep_damaged(hole_gap(content), "model.pt").structure is Structure.BROKEN


def test_checksums_left_out_are_no_fault() -> None:
    finding = deep_bytes(save("torch_zip_nocrc/model.pt"), "model.pt")
    assert finding.structure is Structure.OK
    assert finding.proof == "exact-size"
    assert "written without checksums" in finding.text


def test_members_packed_otherwise_are_told_of() -> None:
    content = archive(zipfile.ZIP_BZIP2, LARGE[:10_000], b"small")
    finding = deep_bytes(content, "archive.zip")
    assert (finding.structure, finding.proof) == (Structure.UNKNOWN, "none")
    assert "2 members have none, or one that cannot be computed" in finding.text


def test_an_archive_of_nothing_proves_nothing() -> None:
    finding = deep_bytes(archive(zipfile.ZIP_STORED, b""), "archive.zip")
    assert finding.proof != "checksums"


def test_a_member_that_unpacks_to_more_than_it_should_is_stopped() -> None:
    content = archive(zipfile.ZIP_DEFLATED, bytes(200_000_000))
    lying = content.replace((200_000_000).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    finding = deep_bytes(lying, "archive.zip")
    assert finding.structure is Structure.BROKEN
    assert "longer than the 1,000 bytes" in finding.text


def test_every_byte_is_read_about_once() -> None:
    content = torch_file(*(LARGE[n * 20_000 : (n + 1) * 20_000] for n in range(120)))
    fs = CountingFileSystem()
    assert deep_bytes(content, "model.pt", fs=fs).proof == "checksums"
    assert fs.bytes_read < 1.3 * len(content)


# --- archives one after another


def chain(*archives: bytes) -> bytes:
    return b"".join(archives)


CHAIN = chain(torch_file(LARGE[:40_000]), torch_file(LARGE[:8_000]), torch_file(LARGE[8_000:80_000]))


@pytest.mark.parametrize("content", [CHAIN, save("dcp/__0_0.distcp"), save("dcp/__0_1.distcp", "another_save")])
def test_a_chain_of_archives_proves_itself(content: bytes) -> None:
    finding = deep_bytes(content, "__0_0.distcp")
    assert (finding.structure, finding.format, finding.proof) == (Structure.OK, "torch-dcp", "checksums"), finding


@pytest.mark.parametrize("values", [LARGE[100:132], LARGE[7_000:7_032], LARGE[70_000:70_032]])
def test_a_flipped_bit_in_any_archive_of_a_chain_is_found(values: bytes) -> None:
    finding = deep_bytes(flipped(CHAIN, CHAIN.rindex(values)), "__0_0.distcp")
    assert finding.structure is Structure.BROKEN
    assert "in the archive at byte" in finding.text
    assert "1 of 7 checksums" in finding.text


def test_zeros_that_break_a_chain_are_proven() -> None:
    first = len(torch_file(LARGE[:40_000]))
    for start, end in ((first - 200, first), (first, first + 200), (first - 5_000, first + 5_000)):
        spoilt = CHAIN[:start] + bytes(end - start) + CHAIN[end:]
        assert deep_bytes(spoilt, "__0_0.distcp").structure is Structure.BROKEN


def test_something_else_in_a_chain_is_suspect() -> None:
    first, second = torch_file(LARGE[:40_000]), torch_file(LARGE[:8_000])
    finding = deep_bytes(chain(first, b"no archive at all, 46 bytes of something else", second, second), "__0_0.distcp")
    assert finding.structure is Structure.SUSPECT
    assert "found something else" in finding.text
