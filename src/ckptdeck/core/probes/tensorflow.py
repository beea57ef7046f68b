"""P17: TensorFlow checkpoints. Every data file that an index names, with the exact size, and `checkpoint` beside them.

Blind to large tensors. Small ones are compared with their checksums: there are many of them in few bytes, and the one
that says how all the others belong together is among them.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.lost_pages import Span, find_lost_pages, zero_tail
from ckptdeck.core.probes.reading import Damage, Reader, TooLarge
from ckptdeck.core.probes.tensor_bundle import (
    DATA_NAME,
    INDEX,
    Bundle,
    Tensor,
    checksum_fits,
    find_prefixes,
    read_bundle,
)
from ckptdeck.core.probes.tensorflow_state import MISSING_MESSAGE, judge_state
from ckptdeck.core.probes.tree import KindFinding, Tree, some
from ckptdeck.core.states import Structure

FORMAT = "tensorflow"

_CHECKED = 512 * 1024
"""Bytes of tensors in one tree that are compared with their checksums."""

_SHORT_MESSAGE = 'TensorFlow says "IndexError: Read less bytes than requested": the data file is too short'
_VALUES_MESSAGE = 'TensorFlow says "DataLossError: TensorBundle: Checksum does not match" once it comes to that tensor'


def judge_tensorflow(tree: Tree) -> KindFinding | None:
    """None without an index or a data file of one. Raises the worst Damage."""
    prefixes = find_prefixes(tree)
    if not prefixes:
        return None
    judgement = _Judgement(tree)
    unknown: list[str] = []
    for prefix in prefixes:
        try:
            judgement.judge_bundle(prefix)
        except TooLarge:
            unknown.append(prefix + INDEX)
    with judgement.damages.heard():
        judgement.judged |= judge_state(tree, prefixes)
    judgement.damages.raise_worst(judgement.judged)
    if unknown:
        text = f"{some(unknown)}: more than a quick look reads, so the sizes of the data files are unknown"
    else:
        text = f"the data files have the bytes that the index gives {counted(judgement.tensors, 'tensor')}"
        text += f", {judgement.checked:,} of them small and as their checksum says" if judgement.checked else ""
    return KindFinding(FORMAT, text, frozenset(judgement.judged))


class _Judgement:
    """What came up about the bundles of one tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.damages = Damages()
        self.tensors = 0
        self.data_files: dict[str, list[str]] = defaultdict(list)
        for path in tree.files:
            if match := DATA_NAME.fullmatch(path):
                self.data_files[match["prefix"]].append(path)
        self.judged = set(itertools.chain.from_iterable(self.data_files.values()))
        self._unchecked = _CHECKED
        self._checked: set[tuple[str, int]] = set()

    @property
    def checked(self) -> int:
        """Tensors that are as they were written."""
        return len(self._checked)

    def judge_bundle(self, prefix: str) -> None:
        """Raises TooLarge."""
        with self.damages.heard():
            if not self.tree.has(prefix + INDEX):
                raise Damage(
                    Structure.INCOMPLETE,
                    f"{prefix + INDEX} is not there, which says where in {some(self.data_files[prefix])} "
                    "the tensors are",
                    loader_says=MISSING_MESSAGE,
                )
            self.judged.add(prefix + INDEX)
            bundle = read_bundle(self.tree, prefix)
            self.tensors += len(bundle.tensors)
            for shard, tensors in _by_shard(bundle):
                with self.damages.heard():
                    self._judge_data(bundle.data_file(shard), tensors)
            self._check_members(bundle)

    def _check_members(self, bundle: Bundle) -> None:
        """Data files in which no tensor lies may be left away. Raises Damage."""
        needed = sorted({tensor.shard for tensor in bundle.tensors if tensor.size})
        if missing := [path for path in map(bundle.data_file, needed) if not self.tree.has(path)]:
            raise Damage(
                Structure.INCOMPLETE,
                f"{some(missing)}: not there, of {counted(bundle.shards, 'data file')} "
                f"that {bundle.prefix + INDEX} names",
                loader_says=MISSING_MESSAGE,
            )

    def _judge_data(self, path: str, tensors: list[Tensor]) -> None:
        if not self.tree.has(path):
            return
        expected = max((tensor.end for tensor in tensors), default=0)
        size = self.tree.size(path)
        if size < expected:
            raise Damage(
                Structure.CUT,
                f"{path}: cut off: {size:,} of {expected:,} bytes, {expected - size:,} missing",
                loader_says=_SHORT_MESSAGE,
            )
        with self.tree.reader(path) as reader:
            for tensor in sorted(tensors, key=lambda tensor: tensor.size):
                if not self._proven(reader, path, tensor):
                    break
            self._check_pages(reader, path, tensors, expected)
        if size > expected:
            raise Damage(
                Structure.SUSPECT,
                f"{path}: {size - expected:,} bytes too many: its last tensor ends at byte {expected:,}, "
                f"the file at {size:,}",
                loader_says="TensorFlow says nothing and loads the right values; something else was appended",
            )

    def _check_pages(self, reader: Reader, path: str, tensors: list[Tensor], end: int) -> None:
        """Pages that look lost, in tensors that were not proven. Zeros all over are real when one tensor is proven."""
        begins = [tensor.offset for tensor in tensors]

        def span_at(offset: int) -> Span | None:
            index = bisect_right(begins, offset) - 1
            if index < 0 or offset >= tensors[index].end or self._proven(reader, path, tensors[index]):
                return None
            return Span(tensors[index].name, tensors[index].offset, tensors[index].end)

        if not tensors or (zero_tail(reader, 0, end) == 0 and self._checked):
            return
        if lost := find_lost_pages(reader, 0, end, span_at):
            raise Damage(Structure.SUSPECT, f"{path}: {lost}", loader_says=_VALUES_MESSAGE)

    def _proven(self, reader: Reader, path: str, tensor: Tensor) -> bool:
        """Whether its bytes are those that were written; False where there are too many to tell. Raises Damage."""
        if (path, tensor.offset) in self._checked:
            return True
        if tensor.size > self._unchecked:
            return False
        self._unchecked -= tensor.size
        if not checksum_fits(reader, tensor):
            raise Damage(
                Structure.BROKEN,
                f"{path}: {tensor.name!r}, {tensor.size:,} bytes at byte {tensor.offset:,}, has not the checksum "
                f"{tensor.checksum:08x} that the index says",
                loader_says=_VALUES_MESSAGE,
            )
        self._checked.add((path, tensor.offset))
        return True


def _by_shard(bundle: Bundle) -> Iterator[tuple[int, list[Tensor]]]:
    for shard, tensors in itertools.groupby(bundle.tensors, key=lambda tensor: tensor.shard):
        yield shard, [tensor for tensor in tensors if tensor.size]
