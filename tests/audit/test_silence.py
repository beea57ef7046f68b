"""A comment with a reason answers a finding; one without is told."""

from __future__ import annotations

import pytest

from ckptdeck.audit.finding import Silenced
from tests.audit.sources import report_of, rules_in

SAVE = "torch.save(model.state_dict(), 'model.pt')"


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(f"{SAVE}  # ckptdeck: ok (a scratch run)", id="on the line"),
        pytest.param(f"# ckptdeck: ok (a scratch run)\n{SAVE}", id="above"),
        pytest.param(f"#ckptdeck:ok(a scratch run)\n{SAVE}", id="without spaces"),
        pytest.param(f"# ckptdeck: ok (a scratch run (really))\n{SAVE}", id="brackets within"),
        pytest.param(
            "torch.save(\n    model.state_dict(),\n    'model.pt',\n)  # ckptdeck: ok (a scratch run)", id="after it"
        ),
    ],
)
def test_a_reason_silences(source: str) -> None:
    report = report_of(source)
    assert report.findings == ()
    assert [(one.rule, one.reason.partition(" (")[0]) for one in report.silenced] == [
        ("save-to-final", "a scratch run")
    ]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(f"{SAVE}\n# ckptdeck: ok (a scratch run)", id="below"),
        pytest.param(f"# ckptdeck: ok (a scratch run)\n\n{SAVE}", id="two lines above"),
        pytest.param(f"x = 1  # ckptdeck: ok (another line)\n{SAVE}", id="beside the code above"),
        pytest.param(f"'# ckptdeck: ok (a text)'\n{SAVE}", id="in a string"),
        pytest.param(f"# ckptdeck: okay (no)\n{SAVE}", id="another word"),
    ],
)
def test_a_comment_elsewhere_silences_nothing(source: str) -> None:
    assert rules_in(source) == ["save-to-final"]


@pytest.mark.parametrize("comment", ["# ckptdeck: ok", "# ckptdeck: ok ()", "# ckptdeck: ok ( ... )"])
def test_a_comment_without_a_reason_is_told_and_silences_nothing(comment: str) -> None:
    assert sorted(rules_in(f"{SAVE}  {comment}")) == ["ok-without-reason", "save-to-final"]


def test_a_comment_where_nothing_is_found_is_quiet_but_needs_its_reason() -> None:
    assert rules_in("x = 1  # ckptdeck: ok (nothing here)") == []
    assert rules_in("x = 1  # ckptdeck: ok") == ["ok-without-reason"]


def test_each_finding_needs_its_own() -> None:
    report = report_of(f"{SAVE}  # ckptdeck: ok (the first)\n{SAVE}")
    assert [finding.line for finding in report.findings] == [6]
    assert report.silenced == (Silenced(5, "save-to-final", "the first"),)
