"""The sentences an outlook comes to."""

from __future__ import annotations

from dataclasses import replace

from ckptdeck.core.outlook import WhatIf, look_ahead
from ckptdeck.core.samples import Sample
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import Quarantined
from ckptdeck.core.space_advice import advice, answer
from ckptdeck.core.states import Role
from tests.core.looks import DAY, GB, LOCAL, NOW
from tests.core.plans.scenes import pair
from tests.core.test_outlook import growing, run_of


def told(
    survey: Survey, what_if: WhatIf | None = None, samples: dict[Role, tuple[Sample, ...]] | None = None
) -> tuple[str, str]:
    """(The answer, the advice in one text)."""
    outlooks = look_ahead(survey, samples or {}, what_if)
    return answer(survey, outlooks), "\n".join(advice(survey, outlooks))


def test_the_volume_that_fills_first_is_the_answer() -> None:
    first, then = told(pair(run_of(46), run_of(46), free=27 * GB))
    assert first == "6 more saves fit on the mirror: full in 3h20m (2026-09-21 17:33 UTC)"
    assert then.splitlines() == [
        "`ckptdeck prune` frees 84.0 GB on the primary and 84.0 GB on the mirror: then 232 and 40 more fit",
        "keep 12 after every save (`ckptdeck watch --auto-prune`) fits, and its own saves never fill it",
    ]


def test_one_device_is_one_answer() -> None:
    first, then = told(pair(run_of(46), run_of(46), free=30 * GB, shared=True))
    assert first.startswith("4 more saves fit on both sides together: full in 2h20m")
    assert "frees 168 GB on both sides together: then 38 more fit" in then


def test_a_save_that_does_not_fit_and_what_gives_room() -> None:
    survey = pair(run_of(46), run_of(46), free=12 * GB)
    assert survey.mirror is not None
    entry = Quarantined("id", "step_0010.pt", "cut", 3 * GB, NOW - DAY)
    mirror = replace(survey.mirror, inventory=replace(survey.mirror.inventory, quarantine=(entry,)))
    first, then = told(replace(survey, mirror=mirror))
    assert first == "The next save does not fit on the mirror: it takes 2.47 GB, 2.00 GB are left"
    assert "`ckptdeck purge` gives back 3.00 GB of quarantine on the mirror" in then


def test_a_retention_that_does_not_fit_names_the_one_that_does() -> None:
    _, then = told(pair(run_of(3), run_of(3), free=15 * GB))
    assert then.splitlines() == [
        "keep 12 does not fit on the mirror: 19.7 GB short at its peak of 32.1 GB",
        "keep 4 is the most that fits: `keep_last = 4` in the policy, or `ckptdeck prune --keep-last 4`",
    ]
    _, then = told(pair(run_of(1), run_of(1), free=11 * GB))
    assert "no retention fits" in then


def test_what_guards_hold_back_is_said_with_the_way_to_see_why() -> None:
    unproven = [replace(one, receipt=None) for one in run_of(46)]
    _, then = told(pair(unproven, None), WhatIf(keep_last=20))
    assert then.startswith(
        "nothing on the primary may go yet: `ckptdeck prune --keep-last 20 --dry-run` says what is held back, and why"
    )


def test_the_rest_of_the_run() -> None:
    survey = pair(run_of(46), run_of(46), free=27 * GB)
    _, then = told(survey, WhatIf(steps_left=1000))
    assert "(20 saves) does not fit on the mirror as things are; it does with keep 12" in then
    _, then = told(survey, WhatIf(steps_left=1000, keep_last=60))
    assert "as things are; nor with keep 60" in then
    _, then = told(survey, WhatIf(steps_left=100))
    assert "the rest of the run" not in then


def test_what_others_add_is_not_called_never() -> None:
    _, then = told(pair(run_of(46), None), None, {Role.PRIMARY: growing(10 * GB / DAY)})
    assert "keep 12 after every save fits for" in then
    assert "what others add fills the volume then" in then


def test_where_files_share_blocks_it_says_up_to() -> None:
    survey = pair(run_of(14), None)
    on_xfs = replace(survey.primary.inventory, volume=replace(LOCAL, fs_type="xfs"))
    _, then = told(replace(survey, primary=replace(survey.primary, inventory=on_xfs)))
    assert "frees up to 4.94 GB on the primary" in then


def test_nothing_is_claimed_without_ground() -> None:
    first, then = told(pair([], []))
    assert first.startswith("Nothing can be foretold")
    assert then == ""
    first, _ = told(pair(run_of(2), None))
    assert first == "198 more saves fit on the primary; when it is full cannot be told"
