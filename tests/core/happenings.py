"""Real changes of a real set, one after the other by chance, each with the names a kernel would tell of it."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tests.core.looks import Bench

INSIDE = frozenset({"_tree_member", "_lose_tree_member"})
"""What happens inside of a directory, which nobody tells."""
STEPS = range(1, 7)
AGES = (0.0, 60.0, 86_400.0)


class Happenings:
    """`happen` changes something and gives the paths that changed, in the set and in its bookkeeping, as far as a
    kernel that watches those directories and nothing below them would tell."""

    def __init__(self, bench: Bench, chance: random.Random, *, recorded: bool = False) -> None:
        """With `recorded` every checkpoint has a record, as in a set that the library writes."""
        self._bench = bench
        self._chance = chance
        self._all: tuple[Callable[[], Iterator[Path]], ...] = (
            *(self._save_verified, self._save_verified, self._save, self._damage, self._touch, self._remove),
            *(self._part, self._grow, self._drop_part, self._receipt, self._pin, self._unpin, self._retire),
            *(self._foreign, self._point, self._number, self._half_removed_both, self._announce),
        )
        if not recorded:
            self._all += (
                *(self._replace, self._rename_part, self._forget, self._rolling, self._link, self._young),
                *(self._group, self._tree, self._tree_member, self._lose_tree_member),
                *(self._mark, self._unmark, self._stage),
                *(self._drop_record_of_gone, self._set_aside, self._half_removed),
            )

    def happen(self) -> tuple[str, list[str]]:
        """(What it was, the paths.)"""
        what = self._chance.choice(self._all)
        return what.__name__, [str(path) for path in what()]

    # --- names

    @property
    def _name(self) -> str:
        return f"step_{self._chance.choice(STEPS):04d}.pt"

    @property
    def _root(self) -> Path:
        return self._bench.root

    def _record_path(self, name: str, suffix: str = ".json") -> Path:
        return self._bench.control / "manifest" / f"{name}{suffix}"

    def _write(self, name: str, size: int | None = None) -> Path:
        size = size if size is not None else self._chance.choice((900, 1000, 1100))
        return self._bench.write(name, os.urandom(size), age=self._chance.choice(AGES))

    # --- what happens

    def _save(self) -> Iterator[Path]:
        name = self._name
        yield self._write(name)
        self._bench.record(name, int(name[5:9]))
        yield self._record_path(name)

    def _save_verified(self) -> Iterator[Path]:
        name = self._name
        yield self._bench.write(name)
        self._bench.record(name, int(name[5:9]))
        yield self._record_path(name)
        self._bench.receive(name)
        yield self._bench.control / "receipts" / f"{name}.json"

    def _damage(self) -> Iterator[Path]:
        path = self._root / self._name
        if path.is_file():
            os.truncate(path, self._chance.choice((10, 500, 2000)))
            yield path

    def _touch(self) -> Iterator[Path]:
        path = self._root / self._name
        if path.is_file():
            os.utime(path, ns=(10**9, self._chance.choice((1, 1_700_000_000)) * 10**9))
            yield path

    def _remove(self) -> Iterator[Path]:
        path = self._root / self._name
        path.unlink(missing_ok=True)
        yield path

    def _replace(self) -> Iterator[Path]:
        path = self._root / self._name
        if path.is_file():
            other = self._write("other.tmp-file")
            other.rename(path)
            yield from (other, path)

    def _young(self) -> Iterator[Path]:
        yield self._write(self._name)

    def _part(self) -> Iterator[Path]:
        yield self._write(f"{self._name}.part")

    def _grow(self) -> Iterator[Path]:
        for path in self._root.glob("*.part"):
            with path.open("ab") as file:
                file.write(b"x" * 100)  # nobody is told: it is a flood

        yield from ()

    def _drop_part(self) -> Iterator[Path]:
        for path in self._root.glob("*.part"):
            path.unlink()
            yield path

    def _rename_part(self) -> Iterator[Path]:
        for path in self._root.glob("*.part"):
            final = path.with_suffix("")
            path.rename(final)
            yield from (path, final)

    def _announce(self) -> Iterator[Path]:
        name = self._name
        if (self._root / name).is_file():
            made = self._bench.record(name, int(name[5:9]))
            self._bench.manifest.write_next_record(replace(made, size=made.size + self._chance.choice((0, 7))))
            yield from (self._record_path(name), self._record_path(name, ".json.next"))

    def _forget(self) -> Iterator[Path]:
        name = self._name
        for suffix in (".json", ".json.next"):
            path = self._record_path(name, suffix)
            path.unlink(missing_ok=True)
            yield path

    def _receipt(self) -> Iterator[Path]:
        name = self._name
        if (self._root / name).is_file():
            self._bench.receive(name, self._chance.choice(("1", "2")) * 32)
            yield self._bench.control / "receipts" / f"{name}.json"

    def _pin(self) -> Iterator[Path]:
        name = self._name
        self._bench.manifest.write_pin(name, "because")
        yield self._bench.control / "pins" / name

    def _unpin(self) -> Iterator[Path]:
        name = self._name
        self._bench.manifest.drop_pin(name)
        yield self._bench.control / "pins" / name

    def _retire(self) -> Iterator[Path]:
        name = self._name
        record = self._bench.manifest.record(name)
        if record is not None:
            self._bench.manifest.write_record(replace(record, retired=not record.retired))
            yield self._record_path(name)

    def _drop_record_of_gone(self) -> Iterator[Path]:
        for path in (self._bench.control / "manifest").glob("*.json"):
            if not (self._root / path.stem).exists():
                path.unlink()
                yield path

    def _foreign(self) -> Iterator[Path]:
        path = self._root / self._chance.choice(("notes.txt", "run.log"))
        if self._chance.random() < 0.3:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(b"text")
        yield path

    def _rolling(self) -> Iterator[Path]:
        yield self._write("last.ckpt")

    def _point(self) -> Iterator[Path]:
        path = self._root / "latest"
        path.write_text(self._name)
        yield path

    def _number(self) -> Iterator[Path]:
        path = self._root / "latest_checkpointed_iteration.txt"
        if self._chance.random() < 0.3:
            path.unlink(missing_ok=True)
        else:
            path.write_text(str(self._chance.choice(STEPS)))
        yield path

    def _link(self) -> Iterator[Path]:
        path = self._root / self._chance.choice(("best.pt", "newest.pt"))
        path.unlink(missing_ok=True)
        if self._chance.random() < 0.7:
            path.symlink_to(self._name)
        yield path

    def _group(self) -> Iterator[Path]:
        path = self._root / self._chance.choice(("model_000810.pt", "optim_000810_rank0.pt", "meta_000810.json"))
        if self._chance.random() < 0.3:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(os.urandom(self._chance.choice((100, 200))))
        yield path

    def _tree(self) -> Iterator[Path]:
        path = self._root / f"checkpoint-{self._chance.choice((500, 600))}"
        if path.is_dir():
            shutil.rmtree(path)
        if self._chance.random() < 0.7:
            path.mkdir()
            (path / "config.json").write_text("{}")
            best = f'{{"best_model_checkpoint": "out/checkpoint-{self._chance.choice((500, 600))}"}}'
            (path / "trainer_state.json").write_text(best)
        yield path

    def _tree_member(self) -> Iterator[Path]:
        for path in self._root.glob("checkpoint-*"):
            (path / self._chance.choice(("a.bin", "b.bin"))).write_bytes(os.urandom(50))
        yield from ()

    def _lose_tree_member(self) -> Iterator[Path]:
        for path in self._root.glob("checkpoint-*/?.bin"):
            path.unlink()
        yield from ()

    def _mark(self) -> Iterator[Path]:
        path = self._root / f"{self._name}-unfinished"
        path.touch()
        yield path

    def _unmark(self) -> Iterator[Path]:
        for path in self._root.glob("*-unfinished"):
            path.unlink()
            yield path

    def _stage(self) -> Iterator[Path]:
        tree = self._bench.control / "staging" / "checkpoint-700"
        if tree.exists():
            shutil.rmtree(tree)
        else:
            tree.mkdir()
            (tree / "a.bin").write_bytes(b"x" * 40)
        yield tree

    def _set_aside(self) -> Iterator[Path]:
        path = self._root / self._name
        with contextlib.suppress(FileNotFoundError):
            path.rename(self._bench.control / "quarantine" / f"{path.name}-{self._chance.random()}")
        yield path

    def _half_removed_both(self) -> Iterator[Path]:
        """As a prune does it."""
        name = self._name
        with contextlib.suppress(FileNotFoundError):
            self._record_path(name).rename(self._bench.control / "removing" / "y.json")
            (self._root / name).unlink()
        yield from (self._record_path(name), self._root / name)

    def _half_removed(self) -> Iterator[Path]:
        name = self._name
        with contextlib.suppress(FileNotFoundError):
            self._record_path(name).rename(self._bench.control / "removing" / "x.json")
        yield self._record_path(name)
