"""Collects power cuts of a volume while something works on it, and judges each afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.crash.volumes import Bench, Volume

Judge = Callable[[Path], list[str]]


@dataclass(frozen=True, slots=True)
class Cut:
    """The device as it was when the power went, and the judge of that moment."""

    label: str
    image: Path
    judge: Judge


class PowerCuts:
    """Cuts the power of `volume` as often as asked; the work itself goes on.

    A cut that finds the device as the last one left it replaces that one: the image is the same, and the later
    judge knows more acknowledged checkpoints, so it is the stricter one.
    """

    def __init__(self, bench: Bench, volume: Volume) -> None:
        self._bench = bench
        self._volume = volume
        self._cuts: list[Cut] = []
        self._written: tuple[str, ...] | None = None
        self.asked = 0

    def cut(self, label: str, judge: Judge) -> None:
        self.asked += 1
        written = self._volume.written()
        if self._cuts and written == self._written and written[-1] == "0":
            self._cuts[-1] = Cut(label, self._cuts[-1].image, judge)
            return
        image = self._bench.path(f"cut-{self._volume.fs_type}.img")
        self._volume.snapshot(image)
        self._written = written
        self._cuts.append(Cut(label, image, judge))

    def judge_all(self) -> tuple[int, list[str]]:
        """Mounts every cut (the volume itself must be unmounted by now); how many, and what was wrong."""
        violations = []
        for cut in self._cuts:
            with self._bench.mounted(cut.image, self._volume.fs_type) as volume:
                violations += [f"{volume.fs_type}, power cut {cut.label}: {v}" for v in cut.judge(volume.root)]
            cut.image.unlink()
        return len(self._cuts), violations
