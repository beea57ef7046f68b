"""Metrics as Prometheus reads them: its own parser is the judge."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from ckptdeck.core.sides import Survey
from ckptdeck.core.states import Condition, Role, State
from ckptdeck.monitor.prometheus import metrics_text
from tests.core.looks import DAY, NOW
from tests.core.plans.scenes import pair, seen

V = State.VERIFIED


def samples_of(survey: Survey) -> dict[tuple[str, str, str], float]:
    """(metric, side, state) -> value."""
    found = {}
    for family in text_string_to_metric_families(metrics_text(survey)):
        assert family.type == "gauge"
        assert family.documentation
        for sample in family.samples:
            key = sample.name, sample.labels.get("side", ""), sample.labels.get("state", "")
            assert key not in found
            found[key] = sample.value
    return found


def test_the_figures_are_those_of_the_survey() -> None:
    survey = pair([seen(800, V), seen(810, V, age=60)], [seen(800, V), seen(700, State.TRUNCATED)])
    found = samples_of(survey)
    assert found["ckptdeck_survey_timestamp_seconds", "", ""] == NOW
    assert found["ckptdeck_newest_whole_step", "primary", ""] == 810
    assert found["ckptdeck_newest_whole_step", "mirror", ""] == 800
    assert found["ckptdeck_newest_whole_age_seconds", "primary", ""] == 60
    assert found["ckptdeck_newest_whole_age_seconds", "mirror", ""] == DAY
    assert found["ckptdeck_mirror_lag_steps", "", ""] == 1
    assert found["ckptdeck_resume_step", "", ""] == 810
    assert found["ckptdeck_checkpoints", "mirror", "truncated"] == 1
    assert found["ckptdeck_checkpoints", "primary", "truncated"] == 0
    assert found["ckptdeck_free_bytes", "mirror", ""] == 500e9
    assert all(math.isfinite(value) for value in found.values())


def test_a_side_that_is_not_there_is_told_and_claims_nothing() -> None:
    survey = pair([seen(800, V)], [], conditions={Role.MIRROR: Condition.NOT_MOUNTED})
    found = samples_of(survey)
    assert found["ckptdeck_side_ok", "primary", ""] == 1
    assert found["ckptdeck_side_ok", "mirror", ""] == 0
    assert ("ckptdeck_newest_whole_step", "mirror", "") not in found


def test_an_empty_set_has_no_newest() -> None:
    found = samples_of(pair([], None))
    assert ("ckptdeck_newest_whole_step", "primary", "") not in found
    assert ("ckptdeck_resume_step", "", "") not in found


@given(st.text())
def test_any_run_id_is_a_label(run_id: str) -> None:
    survey = replace(pair([seen(800, V)], None), run_id=run_id)
    for family in text_string_to_metric_families(metrics_text(survey)):
        for sample in family.samples:
            assert sample.labels.get("run", "") == run_id.encode("utf-8", "replace").decode()
