"""Prints what is said of every damage of every layout: `python -m tests.damage_report`.

Each real checkpoint is damaged, member by member, and judged by structure alone (quick), by the checksums inside it
(deep) and, for the rows of expectations.json, against a record made while it was good (manifest). A cell holds the
quick verdict and, where it says more, the deep one. Exit code 1 when anything is below its floor, or a healthy one is
accused.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ckptdeck.core.apply import apply
from ckptdeck.core.plans.adopt import plan_adopt
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Role, State, Structure
from ckptdeck.core.survey import take_survey
from ckptdeck.core.verify import verify_one
from tests.core.probes import damage
from tests.core.probes.damage import Damaged
from tests.core.probes.deep_looking import deep_bytes, deep_directory
from tests.core.probes.looking import FIXTURES, probe_bytes
from tests.core.probes.trees import (
    BY_CONTENT,
    MISSING,
    STALE,
    TORN_MIX,
    at_least,
    copied,
    damaged,
    damaged_copy,
    members_of,
    probe_directory,
)
from tests.core.workbench import Workbench

ONE, ANOTHER = FIXTURES / "one_save", FIXTURES / "another_save"
TREES = (
    "hf_trainer",
    "accelerate",
    "hf_sharded",
    "dcp",
    "tf_checkpoint",
    "tf_savedmodel",
    "orbax_ocdbt/100",
    "orbax_zarr/100",
)
FILES = tuple(
    path.name
    for path in sorted(ONE.iterdir())
    if path.name not in {tree.partition("/")[0] for tree in TREES} and len(list(path.iterdir())) == 1
)
DAMAGES = (*BY_CONTENT, TORN_MIX, STALE, MISSING)
_LETTERS = {
    Structure.OK: ".",
    Structure.UNKNOWN: "?",
    Structure.CUT: "T",
    Structure.BROKEN: "C",
    Structure.INCOMPLETE: "I",
    Structure.SUSPECT: "S",
}
_STATE_WORDS = {
    State.TRUNCATED: Structure.CUT,
    State.CORRUPT: Structure.BROKEN,
    State.INCOMPLETE: Structure.INCOMPLETE,
    State.MISSING: Structure.INCOMPLETE,
    State.SUSPECT: Structure.SUSPECT,
}


@dataclass(slots=True)
class Report:
    """What came up."""

    judged: int = 0
    healthy: int = 0
    floors: int = 0
    offences: list[str] = field(default_factory=list)


def main() -> int:
    report = Report()
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        _healthy(base / "healthy", report)
        for layout in FILES:
            _print_table(layout, [(_only_file(layout).name, _file_cells(layout))], report)
        for layout in TREES:
            rows = [(member, _tree_cells(layout, member, base)) for member in members_of(layout)]
            _print_table(layout, rows, report)
        _against_records(base / "recorded", report)
    _say(f"{report.healthy} healthy checkpoints: {_count(report, 'accused')} accused")
    _say(
        f"{report.judged} damaged ones judged; {report.floors} floors of expectations.json: "
        f"{_count(report, 'below')} below"
    )
    for offence in report.offences:
        _say(offence)
    return 1 if report.offences else 0


Cells = dict[str, tuple[StructureFinding, StructureFinding]]


def _only_file(layout: str, which: Path = ONE) -> Path:
    (path,) = (which / layout).iterdir()
    return path


def _file_cells(layout: str) -> Cells:
    """Damage -> (quick, deep) of a layout that is one file."""
    path = _only_file(layout)
    content = path.read_bytes()
    spoilt: dict[str, Damaged] = {kind: damaged(content, kind) for kind in BY_CONTENT}
    if (ANOTHER / layout).is_dir():
        spoilt[TORN_MIX] = damage.torn_mix(content, _only_file(layout, ANOTHER).read_bytes())
    return {kind: _judge_bytes(one, path.name) for kind, one in spoilt.items() if _differs(one, content)}


def _differs(one: Damaged, content: bytes) -> bool:
    """A damage may leave a file as it was: zeros where zeros were. That is none."""
    return one.content != content


def _judge_bytes(one: Damaged, name: str) -> tuple[StructureFinding, StructureFinding]:
    return probe_bytes(one.content, name, holes=one.holes), deep_bytes(one.content, name, holes=one.holes)


def _tree_cells(layout: str, member: str, base: Path) -> Cells:
    """Damage of one member -> (quick, deep)."""
    content = (ONE / layout / member).read_bytes()
    cells: Cells = {}
    for kind in DAMAGES:
        if kind in (STALE, TORN_MIX) and not (ANOTHER / layout / member).is_file():
            continue
        place = base / f"{len(list(base.iterdir()))}"
        root = damaged_copy(layout, place, member, kind)
        if kind == MISSING or (root / member).read_bytes() != content:
            cells[kind] = probe_directory(root), deep_directory(root)
    return cells


def _print_table(layout: str, rows: list[tuple[str, Cells]], report: Report) -> None:
    _say(
        f"{layout}   (T cut, C broken, I incomplete, S suspect, . fits, ? unknown; quick, then deep where it says more)"
    )
    width = max(len(member) for member, _ in rows)
    for kind in DAMAGES:
        shown = [_cell(cells.get(kind)) for _, cells in rows]
        if any(shown):
            _say(f"  {kind:15} " + " ".join(f"{cell or '-':>2}" for cell in shown))
    for number, (member, cells) in enumerate(rows, start=1):
        report.judged += len(cells)
        if len(rows) > 1:
            _say(f"  column {number}: {member:{width}}")
        for kind, (quick, deep) in cells.items():
            _hold_against_floor(layout, member, kind, {"quick": quick.structure, "deep": deep.structure}, report)


def _cell(pair: tuple[StructureFinding, StructureFinding] | None) -> str:
    if pair is None:
        return ""
    quick, deep = (_LETTERS[one.structure] for one in pair)
    return quick if quick == deep else quick + deep


def _healthy(base: Path, report: Report) -> None:
    for which in (ONE, ANOTHER):
        for layout in FILES:
            if (which / layout).is_dir():
                path = _only_file(layout, which)
                _hold_healthy(layout, _judge_bytes(Damaged(path.read_bytes()), path.name), report)
        for layout in TREES:
            root = copied(layout, base / which.name / layout.partition("/")[0], which=which.name)
            _hold_healthy(layout, (probe_directory(root), deep_directory(root)), report)


def _hold_healthy(layout: str, findings: tuple[StructureFinding, StructureFinding], report: Report) -> None:
    report.healthy += 1
    for finding in findings:
        if finding.structure not in (Structure.OK, Structure.UNKNOWN):
            report.offences.append(f"accused: healthy {layout} is {finding.structure}: {finding.text}")


# --- the floor


def _floors() -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """(layout, member, damage, word by tier) of expectations.json."""
    for key, row in json.loads((FIXTURES / "expectations.json").read_text()).items():
        layout, _, rest = key.partition("/")
        member, _, kind = rest.rpartition("__")
        if not member:
            yield layout, _only_file(layout).name, kind, row
            continue
        if member.startswith("100~"):
            layout, member = f"{layout}/100", member.removeprefix("100~")
        member = member.replace("~", "/")
        if member.endswith("/hex0"):
            directory = member.removesuffix("/hex0")
            member = next(path for path in members_of(layout) if path.rpartition("/")[0] == directory)
        yield layout, member, kind, row


_FLOORS = {(layout, member, kind): row for layout, member, kind, row in _floors()}


def _hold_against_floor(layout: str, member: str, kind: str, said: dict[str, Structure], report: Report) -> None:
    row = _FLOORS.get((layout, member, kind))
    if row is None:
        return
    for tier, structure in said.items():
        report.floors += 1
        if structure not in at_least(row[tier]):
            report.offences.append(
                f"below the floor: {layout} {member} {kind}: {tier} says {structure}, the least is {row[tier]}"
            )


def _against_records(base: Path, report: Report) -> None:
    """The manifest tier: recorded while it was good, then damaged where it lies."""
    for number, (layout, member, kind, _) in enumerate(_floors()):
        place = base / str(number)
        place.mkdir(parents=True)
        bench = Workbench.fresh(place)
        if layout in TREES:
            name = "checkpoint-2" if layout == "hf_trainer" else "100" if "orbax" in layout else "step-8"
            copied(layout, bench.primary, name=name)
            path = bench.primary / name / member
        else:
            path = bench.primary / f"step_0100{_only_file(layout).suffix}"
            path.write_bytes(_only_file(layout).read_bytes())
            name = path.name
        _age(bench.primary, bench.host.clock.now() - 86_400)
        survey = take_survey(bench.host, bench.pair, DEFAULT_POLICY)
        apply(bench.host, bench.pair, DEFAULT_POLICY, plan_adopt(survey))
        _damage_in_place(layout, member, kind, path)
        _age(bench.primary, bench.host.clock.now() - 86_400)
        state = verify_one(bench.host, bench.on(Role.PRIMARY), name).state
        said = _STATE_WORDS.get(state, Structure.OK)
        _hold_against_floor(layout, member, kind, {"manifest": said}, report)


def _damage_in_place(layout: str, member: str, kind: str, path: Path) -> None:
    content = path.read_bytes()
    if kind == MISSING:
        path.unlink()
        return
    source = ANOTHER / layout / member if layout in TREES else None
    if kind == STALE and source is not None:
        path.write_bytes(source.read_bytes())
    elif kind == TORN_MIX:
        other = source if source is not None else _only_file(layout, ANOTHER)
        path.write_bytes(damage.torn_mix(content, other.read_bytes()).content)
    else:
        path.write_bytes(damaged(content, kind).content)


def _age(root: Path, when: float) -> None:
    for path in (root, *root.rglob("*")):
        os.utime(path, (when, when))


def _count(report: Report, word: str) -> int:
    return sum(offence.startswith(word) for offence in report.offences)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
