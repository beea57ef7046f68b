"""What a survey says as metrics for Prometheus: the text that node_exporter's textfile collector reads. Pure.

Names, units and types follow the Prometheus conventions: base units, `_seconds` and `_bytes`, gauges throughout. A
figure without ground is left out; a state that no checkpoint is in is 0, so that an alert can tell it from silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from ckptdeck.core.sides import Side, Step, Survey
from ckptdeck.core.states import NOT_THERE, Condition, FlightState, Role, State
from ckptdeck.core.values import dataclass

_OfSide = Callable[[Side], float | None]
_SHOWN = tuple(state for state in State if state not in (State.ABSENT, State.FOREIGN))


@dataclass(frozen=True, slots=True)
class _Metric:
    name: str
    help: str
    samples: tuple[tuple[Mapping[str, str], float], ...]


def metrics_text(survey: Survey) -> str:
    """The whole file, ending with a newline."""
    lines = []
    for metric in _metrics(survey):
        if not metric.samples:
            continue
        lines.append(f"# HELP {metric.name} {_escaped(metric.help, quotes=False)}")
        lines.append(f"# TYPE {metric.name} gauge")
        lines.extend(f"{metric.name}{_labels(labels)} {_number(value)}" for labels, value in metric.samples)
    return "\n".join(lines) + "\n"


def _metrics(survey: Survey) -> Iterator[_Metric]:
    run = {"run": survey.run_id} if survey.run_id else {}
    yield _one("ckptdeck_survey_timestamp_seconds", "When both sides were looked at.", run, survey.taken_at)
    yield _per_side(survey, run, "ckptdeck_side_ok", "1 when the side is mounted, readable and the right one.", _is_ok)
    yield from _newest(survey, run)
    yield _states(survey, run)
    yield _per_side(survey, run, "ckptdeck_free_bytes", "Free bytes for an unprivileged writer.", _free)
    yield _per_side(survey, run, "ckptdeck_size_bytes", "Bytes of the side's volume.", _total)
    yield _per_side(survey, run, "ckptdeck_quarantine_bytes", "Bytes in quarantine, which purge frees.", _quarantined)
    yield _per_side(survey, run, "ckptdeck_parts", "Unfinished writes nobody is writing any more.", _left_behind)
    yield _projected(survey, run, "ckptdeck_saves_that_fit", "Saves that fit beside the reserve.", "fits")
    yield _time_to_full(survey, run)


def _newest(survey: Survey, run: Mapping[str, str]) -> Iterator[_Metric]:
    newest = {side.role: _newest_whole(survey, side.role) for side in survey.sides}
    steps = tuple(
        ({**run, "side": role.value}, float(row.step))
        for role, row in newest.items()
        if row is not None and row.step is not None
    )
    yield _Metric("ckptdeck_newest_whole_step", "The newest step that is verified on the side.", steps)
    ages = tuple(
        ({**run, "side": role.value}, survey.taken_at - saved)
        for role, row in newest.items()
        if row is not None and (saved := _saved_at(row, role)) is not None
    )
    yield _Metric("ckptdeck_newest_whole_age_seconds", "How long ago the newest verified step was saved.", ages)
    if survey.mirror is not None:
        behind = sum(_lacks_mirror(row) for row in survey.steps)
        yield _one("ckptdeck_mirror_lag_steps", "Steps on the primary that are not whole on the mirror.", run, behind)
    resume = survey.resume
    if resume is not None and resume.step is not None:
        yield _one("ckptdeck_resume_step", "The step a restart would go on from.", run, resume.step)


def _newest_whole(survey: Survey, role: Role) -> Step | None:
    for row in survey.steps:
        copy = row.on(role)
        if row.step is not None and copy is not None and copy.state is State.VERIFIED:
            return row
    return None


def _saved_at(row: Step, role: Role) -> float | None:
    copy = row.on(role)
    record = copy.sighting.record if copy is not None else None
    return record.mtime_ns / 1e9 if record is not None and record.mtime_ns > 0 else None


def _lacks_mirror(row: Step) -> bool:
    primary, mirror = row.primary, row.mirror
    if row.step is None or primary is None or primary.state in NOT_THERE | {State.RETIRED}:
        return False
    return mirror is None or mirror.state in NOT_THERE


def _states(survey: Survey, run: Mapping[str, str]) -> _Metric:
    samples = []
    for side in survey.sides:
        counts = Counter(copy.state for copy in side.checkpoints)
        labels = {**run, "side": side.role.value}
        samples += [({**labels, "state": state.value}, float(counts[state])) for state in _SHOWN]
    return _Metric("ckptdeck_checkpoints", "Checkpoints of each state.", tuple(samples))


def _is_ok(side: Side) -> float:
    return float(side.inventory.condition is Condition.OK)


def _free(side: Side) -> float | None:
    return None if side.inventory.volume is None else float(side.inventory.volume.free)


def _total(side: Side) -> float | None:
    return None if side.inventory.volume is None else float(side.inventory.volume.total)


def _quarantined(side: Side) -> float:
    return float(sum(entry.size for entry in side.inventory.quarantine))


def _left_behind(side: Side) -> float:
    return float(sum(f.state in (FlightState.STALE, FlightState.READY) for f in side.inventory.in_flight))


def _per_side(survey: Survey, run: Mapping[str, str], name: str, text: str, value: _OfSide) -> _Metric:
    found = ((side.role, value(side)) for side in survey.sides)
    return _Metric(name, text, tuple(({**run, "side": role.value}, one) for role, one in found if one is not None))


def _projected(survey: Survey, run: Mapping[str, str], name: str, text: str, field: str) -> _Metric:
    found = ((role, getattr(projection, field)) for role, projection in survey.space.items())
    samples = tuple(({**run, "side": role.value}, float(one)) for role, one in found if one is not None)
    return _Metric(name, text, samples)


def _time_to_full(survey: Survey, run: Mapping[str, str]) -> _Metric:
    samples = tuple(
        ({**run, "side": role.value}, max(0.0, projection.full_at - survey.taken_at))
        for role, projection in survey.space.items()
        if projection.full_at is not None
    )
    return _Metric("ckptdeck_full_in_seconds", "Until a save does not fit any more, nothing pruned.", samples)


def _one(name: str, text: str, labels: Mapping[str, str], value: float) -> _Metric:
    return _Metric(name, text, ((labels, float(value)),))


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items()) + "}"


def _escaped(text: str, *, quotes: bool = True) -> str:
    """As the exposition format wants it; bytes that are not UTF-8 become replacement characters."""
    text = text.encode("utf-8", "replace").decode().replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1 << 53 else repr(value)
