"""What a directory or a group says about itself when all of its files are read: the checksums inside them.

First the quick look, which proves most damage for next to nothing. Then what a layout lists checksums of, and every
other file that can prove itself. A file that a layout has answered for is not judged again by its looks, only by its
checksums.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from ckptdeck.core.amounts import counted
from ckptdeck.core.host import Host
from ckptdeck.core.probes import probe_open_file
from ckptdeck.core.probes.deep import PHASE, holds_checksums, read_deep
from ckptdeck.core.probes.deep_listed import check_digest, check_tensors, what_is_listed
from ckptdeck.core.probes.directory import Heard, hear, sum_up
from ckptdeck.core.probes.integrity import HASHES_LEFT
from ckptdeck.core.probes.long_reading import LongReader
from ckptdeck.core.probes.reading import Damage, Reader
from ckptdeck.core.probes.tree import Tree, some
from ckptdeck.core.progress import Pacer, Progress
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

_PROOF = "checksums"
_NOT_CHECKED = "values not checked"
_FAULTS = (Structure.BROKEN, Structure.CUT)
_DESCRIBES = (".json", ".txt", ".yaml", ".yml", ".md", ".index", ".metadata", "/checkpoint", "/latest")
"""Ends of the paths, behind a "/", of files that hold no values: without them a tree is proven just as well."""


def deep_tree(host: Host, tree: Tree, side: str) -> StructureFinding:
    """The finding for a whole tree, every file of it read at the rate of the tree's effort.

    OSError, Cancelled, LostInTree and SourceChanged pass through. The result holds only if nothing in the tree changed
    meanwhile, which the caller checks by a second look.
    """
    heard = hear(tree)
    quick = sum_up(tree, heard)
    if quick.structure in _FAULTS:
        return quick
    full_read = _FullRead(host, tree, side, heard)
    full_read.run()
    finding = sum_up(tree, heard)
    return finding if finding.structure in _FAULTS else full_read.told(finding)


class _FullRead:
    """One pass over the files of a tree. What is wrong goes to `heard`."""

    def __init__(self, host: Host, tree: Tree, side: str, heard: Heard) -> None:
        self._host = host
        self._tree = tree
        self._side = side
        self._heard = heard
        self._listed = what_is_listed(tree)
        self._pacer = Pacer(host.clock, tree.effort)
        self._total = sum(member.size for member in tree.files.values())
        self._before = 0
        """Bytes of the files that are done."""
        self._proven: dict[str, int] = {}
        """Bytes that checksums proved, by path."""

    def run(self) -> None:
        for path in self._tree.files:
            with self._opened(path) as reader:
                self._read(path, reader)
                reader.close()
            self._before += self._tree.size(path)
            self._tell(0)

    def told(self, finding: StructureFinding) -> StructureFinding:
        """`finding` with what was proven of the tree and what nothing inside can prove."""
        files = self._tree.files
        unproven = [path for path in files if path not in self._proven and not f"/{path}".endswith(_DESCRIBES)]
        whole = not unproven and not self._listed.too_long and bool(self._proven)
        said = _said(len(self._proven), len(files), sum(self._proven.values()), self._total)
        if unproven and self._proven:
            said += f"; nothing inside proves {some(unproven, 2)}"
        if self._listed.too_long:
            said += (
                f"; {sum(self._listed.too_long.values()):,} bytes of tensors were not looked at: CRC-32C is slow here"
            )
        text = finding.text.removesuffix(f"; {_NOT_CHECKED}")
        if self._listed.digests:
            text = text.replace(HASHES_LEFT, "their hashes agree")
        text = f"{text}; {said}"
        return replace(finding, text=text, proof=_PROOF if whole else finding.proof)

    def _read(self, path: str, reader: LongReader) -> None:
        try:
            if path in self._listed.digests:
                check_digest(reader, self._listed.digests[path])
                self._proven[path] = reader.size
            elif path in self._listed.tensors:
                check_tensors(reader, self._listed.tensors[path])
                self._proven[path] = sum(place.size for place in self._listed.tensors[path])
            else:
                self._read_by_format(path, reader)
        except Damage as damage:
            self._heard.files[path] = damage.finding("")

    def _read_by_format(self, path: str, reader: LongReader) -> None:
        name = path.rpartition("/")[2]
        quick = self._heard.files.get(path)
        if quick is not None:
            finding = self._heard.files[path] = read_deep(reader, quick, name)
        else:  # a layout has answered for it
            finding = probe_open_file(Reader(reader.fs, reader.fd, reader.size, reader.effort), name)
            if finding.structure in _FAULTS or not holds_checksums(finding):
                return
            finding = read_deep(reader, finding, name)
            if finding.structure in _FAULTS:
                self._heard.files[path] = finding
        if finding.proof == _PROOF:
            self._proven[path] = reader.size

    @contextlib.contextmanager
    def _opened(self, path: str) -> Iterator[LongReader]:
        effort = self._tree.effort
        with self._tree.descriptor(path) as fd:
            size = self._tree.size(path)
            yield LongReader(self._tree.fs, fd, size, effort, pacer=self._pacer, tell=self._tell)

    def _tell(self, done: int) -> None:
        self._tree.effort.report(Progress(PHASE, self._tree.name, self._side, self._before + done, self._total))


def _said(proven: int, files: int, bytes_proven: int, total: int) -> str:
    if not proven:
        return f"no checksum inside proves the values of its {counted(files, 'file')}"
    return f"checksums inside agree for {proven:,} of {counted(files, 'file')}, {bytes_proven:,} of {total:,} bytes"
