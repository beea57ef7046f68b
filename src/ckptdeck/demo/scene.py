"""Two checkpoint sets with the troubles of a real run, made of real files: what `ckptdeck demo` shows.

The past is built as it would have happened: a trainer that saved directly, then one that publishes, a mirror that
was copied by this program; and only then what disks, crashes and people do.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import replace

from ckptdeck.core.apply import apply
from ckptdeck.core.checkpoint_set import Pair, find_pair
from ckptdeck.core.errors import ItemFailed
from ckptdeck.core.host import Host
from ckptdeck.core.initialise import initialise
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.progress import Clock
from ckptdeck.core.publish import Intent, publish
from ckptdeck.core.survey import take_survey
from ckptdeck.core.values import dataclass
from ckptdeck.demo.safetensors_file import write_safetensors_file
from ckptdeck.demo.torch_file import Sink, write_torch_file
from ckptdeck.demo.training import ROLLING_NAME, checkpoint_name, loss_at
from ckptdeck.demo.weights import make_weights

RUN_ID = "llama-ft-07"
STEP_INTERVAL = 50
NEWEST_STEP = 700

DIRECT_STEPS = (50, 100, 150)
"""Saved before anybody kept records."""
SAFETENSORS_STEP = 100
PUBLISHED_STEPS = tuple(range(200, NEWEST_STEP + 1, STEP_INTERVAL))
MIRRORED_STEPS = PUBLISHED_STEPS[:-1]
"""The newest is on the primary alone, read back when it was saved."""
CUT_STEP = 350
"""Its copy on the mirror lost its end."""
FLIPPED_STEP = 450
"""One bit of it on the primary is another; size and mtime tell nothing."""
ORPHAN_STEP = 680
"""The machine went down while it was written."""
FOREIGN_NAME = "notes.md"

_SECONDS_PER_SAVE = 660.0
_NEWEST_AGE = 540.0  # older than the age guard: it may be mirrored at once
_SEED = "demo"


@dataclass(frozen=True, slots=True)
class Scene:
    """What was built where. `size` is what was asked for, in bytes."""

    primary: str
    mirror: str
    newest_step: int
    size: int


def build_scene(host: Host, directory: str, size: int) -> Scene:
    """Fills the empty `directory` with the sets `ckpt` and `mirror`; the same files for the same size.

    Raises CkptdeckError or OSError, mostly when there is no room: it takes about 25 times `size`.
    """
    scene = Scene(os.path.join(directory, "ckpt"), os.path.join(directory, "mirror"), NEWEST_STEP, size)
    os.mkdir(scene.primary)
    os.mkdir(scene.mirror)
    past = _Past(host, size)
    for step in DIRECT_STEPS:
        past.save_directly(scene.primary, step)
    initialise(host, scene.primary, scene.mirror, run_id=RUN_ID)
    pair = find_pair(host.fs, scene.primary, scene.mirror)
    for step in PUBLISHED_STEPS:
        past.publish(pair, checkpoint_name(step), step)
    past.publish(pair, ROLLING_NAME, NEWEST_STEP)
    _mirror(host, pair, [checkpoint_name(step) for step in MIRRORED_STEPS])
    _cut(os.path.join(scene.mirror, checkpoint_name(CUT_STEP)))
    _flip_a_bit(os.path.join(scene.primary, checkpoint_name(FLIPPED_STEP)))
    past.die_while_writing(scene.primary, ORPHAN_STEP)
    past.take_notes(scene.primary)
    return scene


class _Past:
    """Writes files as they were written then: the clock of the records and the times of the files are of that day."""

    def __init__(self, host: Host, size: int) -> None:
        self._host = host
        self._size = size
        self._now = host.clock.now()

    def save_directly(self, root: str, step: int) -> None:
        name = checkpoint_name(step)
        if step == SAFETENSORS_STEP:
            name = os.path.splitext(name)[0] + ".safetensors"
        with open(os.path.join(root, name), "xb") as stream:
            self._write(stream, name, step)
        self._date_back(os.path.join(root, name), step)

    def publish(self, pair: Pair, name: str, step: int) -> None:
        host = replace(self._host, clock=_ClockThen(self._host.clock, self._age(step)))
        intent = Intent(
            name,
            step=None if name == ROLLING_NAME else step,
            metrics={"loss": loss_at(step)},
            readback=name == checkpoint_name(NEWEST_STEP),  # so that there is a proven one to resume from
            mtime_ns=self._time_ns(step),
        )
        with publish(host, pair.primary, intent) as (stream, _):
            self._write(stream, name, step)

    def die_while_writing(self, root: str, step: int) -> None:
        name = checkpoint_name(step)
        whole = io.BytesIO()
        self._write(whole, name, step)
        path = os.path.join(root, name + ".part")
        with open(path, "xb") as stream:
            stream.write(whole.getbuffer()[: int(self._size * 0.61)])
        self._date_back(path, step)

    def take_notes(self, root: str) -> None:
        path = os.path.join(root, FOREIGN_NAME)
        with open(path, "x", encoding="utf-8") as stream:
            stream.write("lr 3e-4 until step 400, then 1e-4\n")
        self._date_back(path, 400)

    def _write(self, sink: Sink, name: str, step: int) -> None:
        weights = make_weights(self._size, f"{_SEED}/{step}")
        stem, extension = os.path.splitext(name)
        if extension == ".safetensors":
            write_safetensors_file(sink, weights)
        else:
            write_torch_file(sink, weights, archive=stem, step=step, loss=loss_at(step))

    def _age(self, step: int) -> float:
        return _NEWEST_AGE + (NEWEST_STEP - step) / STEP_INTERVAL * _SECONDS_PER_SAVE

    def _time_ns(self, step: int) -> int:
        return int((self._now - self._age(step)) * 1e9)

    def _date_back(self, path: str, step: int) -> None:
        os.utime(path, ns=(self._time_ns(step), self._time_ns(step)))


@dataclass(frozen=True, slots=True)
class _ClockThen:
    """A clock that is `behind` seconds slow."""

    clock: Clock
    behind: float

    def now(self) -> float:
        return self.clock.now() - self.behind

    def monotonic(self) -> float:
        return self.clock.monotonic()

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)


def _mirror(host: Host, pair: Pair, names: Sequence[str]) -> None:
    plan = plan_mirror(take_survey(host, pair, DEFAULT_POLICY), names)
    result = apply(host, pair, DEFAULT_POLICY, plan)
    for item in result.results:
        if item.exit_code != 0:
            raise ItemFailed(f"The demo's mirror could not be made: {item.text}")


# --- what happened to the files since; none of it changes a modification time


def _cut(path: str) -> None:
    status = os.stat(path)
    os.truncate(path, int(status.st_size * 0.73))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _flip_a_bit(path: str) -> None:
    status = os.stat(path)
    with open(path, "r+b") as stream:
        stream.seek(int(status.st_size * 0.6))
        byte = stream.read(1)[0]
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte ^ 0x04]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
