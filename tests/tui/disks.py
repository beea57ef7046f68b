"""Disks that fill: a primary whose trainer keeps fourteen, a mirror that nobody prunes, and what was seen of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ckptdeck.core.samples import SPACING, Sample
from ckptdeck.core.sides import Survey
from ckptdeck.core.states import Role, State, Verdict
from ckptdeck.monitor.snapshot import Snapshot
from tests.tui import scenes
from tests.tui.scenes import DAY, MINUTE, NOW, WHOLE

EVERY = 11 * MINUTE
STEPS = range(2500, 200, -50)
"""46 of them, newest first."""
ON_PRIMARY = 14
RESERVE = 0.01


def age_of(back: int) -> float:
    return 4 * MINUTE + EVERY * back


def filling_survey() -> Survey:
    """Free: 131 of 500 GB on the primary, 17 of 240 GB on the mirror."""
    rows = []
    for back, step in enumerate(STEPS):
        kept = scenes.verified(step, age_of(back), age_of(back) - MINUTE)
        gone = scenes.checkpoint(
            scenes.name_of(step), State.REMOVED, step=step, age=age_of(back), size=None, reason="recorded and gone"
        )
        primary, verdict = (kept, Verdict.SAFE) if back < ON_PRIMARY else (gone, Verdict.MIRROR_ONLY)
        rows.append(scenes.step_row(primary, kept, verdict, "as it is"))
    made = scenes.survey(rows)
    quiet = replace(made.primary, inventory=replace(made.primary.inventory, in_flight=()))
    return replace(made, primary=quiet)


def filling_samples() -> Mapping[Role, tuple[Sample, ...]]:
    """Two days, ten minutes apart: others add 12 GB a day to the primary and nothing to the mirror."""
    moments = [NOW - SPACING * number for number in range(288, 0, -1)]
    saved = [NOW - age_of(back) for back in range(len(STEPS))]
    primary, mirror = [], []
    for at in moments:
        later = sum(one > at for one in saved)
        held = WHOLE * ON_PRIMARY
        primary.append(Sample(at, round(131e9 + 12e9 * (NOW - at) / DAY), held))
        mirror.append(Sample(at, 17_000_000_000 + WHOLE * later, WHOLE * (len(STEPS) - later)))
    return {Role.PRIMARY: tuple(primary), Role.MIRROR: tuple(mirror)}


def filling() -> Snapshot:
    """What the Space screen is for."""
    return scenes.snapshot(survey=filling_survey(), samples=filling_samples(), trouble=())
