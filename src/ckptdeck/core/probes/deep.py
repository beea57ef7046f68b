"""What a file says about itself when all of it is read: the checksums inside, without any record.

Where a format holds checksums they prove the content or refute it, and they settle what a quick look only suspected.
Where it holds none the finding says so, and looks for pages that seem lost: grounds for suspicion at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ckptdeck.core.hashing import Share
from ckptdeck.core.host import Host
from ckptdeck.core.probes import gguf, msgpack, npy, pickle_file, probe_open_file, safetensors, torch_legacy
from ckptdeck.core.probes.deep_streams import check_stream, is_stream
from ckptdeck.core.probes.deep_texts import proven, unprovable
from ckptdeck.core.probes.long_reading import LongReader
from ckptdeck.core.probes.lost_pages import Span
from ckptdeck.core.probes.lost_runs import find_lost_runs
from ckptdeck.core.probes.reading import Damage, Reader, TooLarge
from ckptdeck.core.probes.zip_chain import find_archives
from ckptdeck.core.probes.zip_checksums import Tally, check_archive
from ckptdeck.core.progress import Effort, Pacer, Progress
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

PHASE = "deep"
"""Of its progress."""

_ZIPS = frozenset({"torch-zip", "npz", "keras", "zip"})
_CHAIN = "torch-dcp"
_WITHOUT_CHECKSUMS: dict[str, Callable[[Reader], list[Span]]] = {
    safetensors.FORMAT: safetensors.tensor_spans,
    gguf.FORMAT: gguf.tensor_spans,
    npy.FORMAT: npy.value_spans,
    msgpack.FORMAT: msgpack.payload_spans,
    "pickle": pickle_file.payload_spans,
    "joblib": pickle_file.payload_spans,
    torch_legacy.FORMAT: torch_legacy.storage_spans,
}
"""Where each of them keeps its values."""
_NOT_LOOKED_THROUGH = "hdf5"
"""Leaves holes and pages of zeros of its own (formats.md X4)."""


def probe_deep(
    host: Host, fd: int, size: int, *, name: str, side: str, effort: Effort, share: Share | None = None
) -> StructureFinding:
    """The finding for the open regular file `fd` of `size` bytes, all of it read at the rate of `effort`.

    First what the quick look says; only a file that it finds no fault in is read. Never raises for content;
    SourceChanged when the file became shorter, Cancelled and OSError pass through. The result holds only if the file
    did not change meanwhile, which the caller checks by its stat. `name` is that of the checkpoint.
    """
    share = share or Share(0, size)

    def tell(done: int) -> None:
        effort.report(Progress(PHASE, name, side, share.before + done, share.total))

    reader = LongReader(host.fs, fd, size, effort, pacer=Pacer(host.clock, effort), tell=tell)
    finding = read_deep(reader, probe_open_file(Reader(host.fs, fd, size, effort), name), name)
    tell(size)
    return finding


def holds_checksums(quick: StructureFinding) -> bool:
    """Whether the checksums of the format prove a file whatever lies around it."""
    return quick.format in _ZIPS or quick.format == _CHAIN


def read_deep(reader: LongReader, quick: StructureFinding, name: str) -> StructureFinding:
    """`probe_deep` of a file that has its reader and its quick finding already; `name` is that of the file."""
    if quick.structure in (Structure.CUT, Structure.BROKEN, Structure.INCOMPLETE):
        return quick
    try:
        return _check(reader, quick, name)
    except Damage as damage:
        if damage.structure is not Structure.UNKNOWN:
            return damage.finding(quick.format)
        return replace(quick, text=f"{quick.text}; {damage.text}")
    except TooLarge:
        return quick
    finally:
        reader.close()


def _check(reader: LongReader, quick: StructureFinding, name: str) -> StructureFinding:
    """Raises Damage, TooLarge."""
    if is_stream(reader, quick):
        return check_stream(reader, quick, name)
    if quick.format in _ZIPS:
        return _check_zips(reader, quick, [(0, reader.size)])
    if quick.format == _CHAIN:
        return _check_zips(reader, quick, find_archives(reader))
    if quick.structure is not Structure.OK:
        return quick
    if quick.format in _WITHOUT_CHECKSUMS:
        spans = _WITHOUT_CHECKSUMS[quick.format](reader)
        return _look_through(reader, quick, spans, f"{quick.format} files hold no checksum")
    if quick.format == _NOT_LOOKED_THROUGH:
        return unprovable(quick, f"{quick.format} files hold no checksum of them")
    return quick


def _check_zips(reader: LongReader, quick: StructureFinding, archives: list[tuple[int, int]]) -> StructureFinding:
    tally = Tally()
    for begin, end in archives:
        try:
            check_archive(reader, begin, end, tally)
        except Damage as damage:
            if len(archives) == 1:
                raise
            text = f"in the archive at byte {begin:,}: {damage.text}"
            raise Damage(damage.structure, text, loader_says=damage.loader_says) from damage
    if tally.agree and not tally.without and not tally.unread:
        return proven(quick, reader.size, _all_agree(tally.agree))
    if quick.structure is Structure.SUSPECT:
        return quick
    if tally.without and not tally.agree and not tally.unread:
        return _look_through(reader, quick, tally.without, "it was written without checksums")
    if not tally.without and not tally.unread:
        return quick  # nothing is in it
    unproven = len(tally.without) + tally.unread
    text = (
        f"{tally.agree:,} checksums inside agree; {unproven:,} members have none, or one that cannot be computed here"
    )
    return replace(quick, text=f"{quick.text}; {text}")


def _look_through(reader: LongReader, quick: StructureFinding, spans: list[Span], why: str) -> StructureFinding:
    if lost := find_lost_runs(reader, spans):
        raise Damage(
            Structure.SUSPECT,
            lost,
            expected=quick.expected_size,
            loader_says="its library says nothing and loads the zeros; only a hash taken earlier could tell more",
        )
    return unprovable(quick, f"{why}; no page of them looks lost")


def _all_agree(count: int) -> str:
    return f"all {count:,} checksums inside agree" if count > 1 else "the checksum inside agrees"
