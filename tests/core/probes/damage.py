"""The damages of a file that kept, or lost, its size: what a reboot, a full disk or a lost write-back leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ckptdeck.core.sighting import StructureFinding
from tests.core.probes.looking import PAGE, probe_bytes


@dataclass(frozen=True, slots=True)
class Damaged:
    content: bytes
    holes: tuple[tuple[int, int], ...] = ()


def _page(position: float) -> int:
    return int(position) // PAGE * PAGE


def _zeroed(content: bytes, start: int, end: int) -> bytes:
    return content[:start] + bytes(min(end, len(content)) - start) + content[end:]


def _tail_start(content: bytes) -> int:
    return max(PAGE, _page(len(content) * 0.73))


def cut_to(share: float) -> Callable[[bytes], Damaged]:
    return lambda content: Damaged(content[: int(len(content) * share)])


def cut_by(count: int) -> Callable[[bytes], Damaged]:
    return lambda content: Damaged(content[:-count])


def zero_tail(content: bytes) -> Damaged:
    return Damaged(_zeroed(content, _tail_start(content), len(content)))


def zero_last_page(content: bytes) -> Damaged:
    return Damaged(_zeroed(content, _page(len(content) - 1), len(content)))


def hole_tail(content: bytes) -> Damaged:
    return Damaged(zero_tail(content).content, ((_tail_start(content), len(content)),))


def zero_gap(content: bytes) -> Damaged:
    return Damaged(_zeroed(content, int(len(content) * 0.25), int(len(content) * 0.4)))


def hole_gap(content: bytes) -> Damaged:
    start, end = _page(len(content) * 0.25), _page(len(content) * 0.4)
    return Damaged(_zeroed(content, start, end), ((start, end),))


def zero_page_head(content: bytes) -> Damaged:
    return Damaged(_zeroed(content, 0, PAGE))


def zero_page_middle(content: bytes) -> Damaged:
    return Damaged(_zeroed(content, _page(len(content) / 2), _page(len(content) / 2) + PAGE))


def flip_bit_in_the_middle(content: bytes) -> Damaged:
    middle = len(content) // 2
    return Damaged(content[:middle] + bytes([content[middle] ^ 16]) + content[middle + 1 :])


def all_zero(content: bytes) -> Damaged:
    return Damaged(bytes(len(content)))


def all_hole(content: bytes) -> Damaged:
    return Damaged(bytes(len(content)), ((0, len(content)),))


def extra(tail: bytes) -> Callable[[bytes], Damaged]:
    return lambda content: Damaged(content + tail)


LOST_BYTES = {
    "trunc_0": lambda _: Damaged(b""),
    "trunc_1B": lambda content: Damaged(content[:1]),
    **{f"trunc_{percent}": cut_to(percent / 100) for percent in (10, 50, 73, 90, 99)},
    "trunc_m1": cut_by(1),
    "trunc_m4096": cut_by(4096),
}
WHOLE_PAGES = {
    "zero_page_head": zero_page_head,
    "all_zero": all_zero,
    "all_hole": all_hole,
}
ZERO_TAILS = {"zero_tail": zero_tail, "zero_tail_4k": zero_last_page, "hole_tail": hole_tail}
INSIDE_VALUES = {"zero_page_mid": zero_page_middle, "bitflip_mid": flip_bit_in_the_middle}
TOO_LONG = {
    "extra_16": extra(b"sixteen bytes ..."[:16]),
    "extra_4k_zero": extra(bytes(4096)),
}


def torn_mix(one: bytes, another: bytes) -> Damaged:
    """The first half of another save, the rest of this one."""
    middle = len(one) // 2
    return Damaged(another[:middle] + one[middle:])


def probe_damaged(damaged: Damaged, name: str) -> StructureFinding:
    """What is said of the damaged file under its own name."""
    return probe_bytes(damaged.content, name.rpartition("/")[2], holes=damaged.holes)
