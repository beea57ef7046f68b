"""A run with a primary and a mirror whose clock stands still, driven through the command line as its operator would."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from ckptdeck.cli.main import main
from ckptdeck.core.apply import apply
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.host import FindWriters, Host, nobody
from ckptdeck.core.plans.plan import Plan, PlanResult
from ckptdeck.core.policy import DEFAULT_POLICY, Policy
from ckptdeck.core.publish import Intent, Published, publish
from ckptdeck.core.states import Role, State
from ckptdeck.core.survey import Survey, take_survey
from ckptdeck.demo.safetensors_file import write_safetensors_file
from ckptdeck.demo.torch_file import write_torch_file
from ckptdeck.demo.weights import make_weights
from ckptdeck.monitor.core_calls import PLANNERS
from tests.core.workbench import Workbench
from tests.crash.faults import FaultyFileSystem, Hook
from tests.crash.sandbox import StillClock

PRIMARY, MIRROR = Role.PRIMARY, Role.MIRROR
DAY = 86_400.0


class Disk(FileSystem):
    """A real one that is not waited for: nothing here cuts the power, so nothing has to reach the platter."""

    def fsync(self, fd: int) -> None:
        os.fstat(fd)

    def resident_pages(self, fd: int, size: int, offset: int = 0) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class Ran:
    """What one command line did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        loaded = json.loads(self.out)
        assert isinstance(loaded, dict)
        return loaded

    @property
    def items(self) -> list[dict[str, Any]]:
        """Of a plan or its result."""
        return list(self.document["items"])

    @property
    def told(self) -> str:
        """Everything a person sees."""
        return f"{self.out}\n{self.err}"


@dataclass
class Run:
    """Two sets below `base` and the machine they are on; `fs` may be exchanged for one that fails."""

    base: Path
    capsys: pytest.CaptureFixture[str]
    clock: StillClock = field(default_factory=StillClock)
    fs: FileSystem = field(default_factory=Disk)
    writers: FindWriters = nobody
    policy: Policy = DEFAULT_POLICY

    @property
    def primary(self) -> Path:
        return self.base / "ckpt"

    @property
    def mirror(self) -> Path:
        return self.base / "mirror"

    @property
    def bench(self) -> Workbench:
        return Workbench(self.host, self.primary, self.mirror)

    @property
    def host(self) -> Host:
        return Host(self.fs, self.clock, "box", "boot-1", 4242, "1", "ckptdeck", self.writers)

    def directory(self, side: Role) -> Path:
        return self.primary if side is PRIMARY else self.mirror

    # --- the trainer, and other people

    def save(
        self,
        step: int,
        data: bytes | None = None,
        *,
        name: str | None = None,
        replacing: bool = False,
        metrics: dict[str, float] | None = None,
    ) -> Published:
        """Through the library, read back, a minute after the one before."""
        self.clock.sleep(60)
        intent = Intent(name or name_of(step), step=step, replace=replacing, readback=True, metrics=metrics or {})
        intent = replace(intent, mtime_ns=int(self.clock.now() * 1e9))
        with publish(self.host, self.bench.on(PRIMARY), intent) as (stream, result):
            stream.write(content_of(step) if data is None else data)
        return result

    def saved(self, *steps: int) -> None:
        """A day ago."""
        for step in steps:
            self.save(step)
        self.clock.sleep(DAY)

    def mirrored(self, *steps: int) -> None:
        """The same, whole on both sides."""
        self.saved(*steps)
        for _ in steps:
            self.clock.sleep(60)
        assert self.do("mirror", all="true").exit_code == 0
        self.clock.sleep(DAY)

    def put(self, name: str, data: bytes, side: Role = PRIMARY, *, age: float = DAY) -> Path:
        """Written by somebody who knows nothing of us."""
        path = self.directory(side) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.set_age(path, age)
        return path

    def put_tree(self, name: str, files: dict[str, bytes], side: Role = PRIMARY, *, age: float = DAY) -> Path:
        for path, data in files.items():
            self.put(f"{name}/{path}", data, side, age=age)
        self.set_age(self.directory(side) / name, age)
        return self.directory(side) / name

    def set_age(self, path: Path, age: float) -> None:
        moment = int((self.clock.now() - age) * 1e9)
        os.utime(path, ns=(moment, moment))

    def rot(self, name: str, side: Role = PRIMARY) -> None:
        """One bit, and the times as they were."""
        path = self.directory(side) / name
        before = path.stat()
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def cut(self, name: str, size: int, side: Role = PRIMARY) -> None:
        path = self.directory(side) / name
        before = path.stat()
        os.truncate(path, size)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    # --- the operator

    def ckptdeck(self, command: str, *words: str) -> Ran:
        """`ckptdeck COMMAND PRIMARY ...` of the pair."""
        return self.line(command, str(self.primary), *words)

    def line(self, *words: str) -> Ran:
        self.capsys.readouterr()
        code = main(list(words))
        captured = self.capsys.readouterr()
        assert "Traceback" not in captured.err
        assert "This is a bug" not in captured.err
        return Ran(code, captured.out, captured.err)

    def look(self, previous: Survey | None = None) -> Survey:
        return take_survey(self.host, self.bench.pair, self.policy, previous)

    def plan(self, action: str, *names: str, **options: str) -> Plan:
        return PLANNERS[action](self.look(), names, {key.replace("_", "-"): text for key, text in options.items()})

    def do(self, action: str, *names: str, **options: str) -> PlanResult:
        """Look, plan, apply."""
        plan = self.plan(action, *names, **options)
        return apply(self.host, self.bench.pair, self.policy, plan, confirmed_count=plan.count)

    def verify(self, *names: str) -> Ran:
        return self.ckptdeck("verify", *names)

    def watched(self, *, before: Hook = lambda _call: None, after: Hook = lambda _call: None) -> FaultyFileSystem:
        """From here on every call goes through the two hooks."""
        fs = FaultyFileSystem(before=before, after=after, largest_write=64_000, real=Disk())
        self.fs = fs
        return fs

    # --- what is there

    def state(self, name: str, side: Role = PRIMARY) -> State | None:
        found = self.look().side(side)
        assert found is not None
        copy = found.find(name)
        return None if copy is None else copy.state

    def names(self, side: Role = PRIMARY) -> list[str]:
        return sorted(self.bench.names(side))

    def steps(self, side: Role = PRIMARY) -> list[int]:
        return sorted(step_of(name) for name in self.bench.names(side) if name.endswith(".pt"))

    def control(self, side: Role, *parts: str) -> Path:
        return Path(self.bench.on(side).control_path(*parts))


def name_of(step: int) -> str:
    return f"step_{step:04d}.pt"


def step_of(name: str) -> int:
    return int(name.removeprefix("step_").removesuffix(".pt"))


def content_of(step: int) -> bytes:
    return f"weights of step {step} ".encode() * 500


def guards(items: Iterable[Any]) -> dict[str, str | None]:
    """Name → guard of the items of a plan."""
    return {item.name: item.guard for item in items}


def torch_file(step: int, size: int = 60_000) -> bytes:
    """A whole file as `torch.save` writes it."""
    sink = io.BytesIO()
    write_torch_file(sink, make_weights(size, str(step)), archive="archive", step=step, loss=0.5)
    return sink.getvalue()


def safetensors_file(step: int, size: int = 60_000) -> bytes:
    sink = io.BytesIO()
    write_safetensors_file(sink, make_weights(size, str(step)))
    return sink.getvalue()


def hf_checkpoint(step: int) -> dict[str, bytes]:
    """What an HF Trainer leaves: everything it resumes from."""
    return {
        "config.json": b'{"model_type": "llama"}',
        "model.safetensors": safetensors_file(step),
        "optimizer.pt": torch_file(step),
        "scheduler.pt": torch_file(step, 20_000),
        "rng_state.pth": torch_file(step, 20_000),
        "training_args.bin": torch_file(step, 20_000),
        "trainer_state.json": json.dumps({"global_step": step, "log_history": []}).encode(),
    }


def left_by(library: str) -> dict[str, bytes]:
    """The files that a library left of one save."""
    top = Path(__file__).parents[1] / "fixtures" / "one_save" / library
    return {path.relative_to(top).as_posix(): path.read_bytes() for path in top.rglob("*") if path.is_file()}
