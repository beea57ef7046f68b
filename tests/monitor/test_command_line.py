"""Lines that can be pasted, and mean the same to `ckptdeck` as the plan they were made from."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from ckptdeck.core.plans.plan import Plan
from ckptdeck.monitor.command_line import action_line, command_line


def test_directories_names_and_options() -> None:
    plan = Plan("mirror", (), names=("step_1.pt",), options={"all": "true", "replace": "false"})
    assert command_line(plan, "/data/ckpt", "/mnt/d/ckpt") == "ckptdeck mirror /data/ckpt /mnt/d/ckpt --all step_1.pt"


def test_a_value_follows_its_option_and_underscores_become_dashes() -> None:
    assert action_line("verify", "/a", None, options={"older_than": "7d"}) == "ckptdeck verify /a --older-than 7d"


def test_a_bare_directory_gets_a_slash_and_dots_stay() -> None:
    assert action_line("status", "ckpt", "..") == "ckptdeck status ./ckpt .."


def test_a_name_with_a_leading_dash_comes_after_two_dashes() -> None:
    assert action_line("pin", "/a", None, ("-x.pt", "y.pt")) == "ckptdeck pin /a -- -x.pt y.pt"


@pytest.mark.parametrize("name", ["my run.pt", "it's.pt", "$(rm).pt", "two\nlines.pt", "esc\x1b.pt", "*?.pt"])
def test_a_shell_reads_hostile_names_back_exactly(name: str) -> None:
    line = action_line("pin", "/a b", None, (name,))
    assert line.isprintable()
    script = f"ckptdeck() {{ printf '%s\\0' \"$@\"; }}; {line}"
    printed = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.split("\0")[:-1] == ["pin", "/a b", name]


def test_plain_words_are_not_quoted() -> None:
    assert shlex.split(action_line("adopt", "/a", "/b")) == ["ckptdeck", "adopt", "/a", "/b"]
