from __future__ import annotations

import re

import pytest

from ckptdeck.core.errors import UsageError
from ckptdeck.core.policy import (
    DEFAULT_POLICY,
    POLICY_TEMPLATE,
    KeepBest,
    Policy,
    parse_age,
    parse_fraction,
    parse_keep_best,
    parse_policy,
    parse_rate,
    parse_size,
    policy_in_force,
)

PATH = "/data/.ckpt.ckptdeck/ckptdeck.toml"

FULL = r"""
[checkpoints]
patterns = ['run1_(?P<step>\d+)\.pt']
ignore = ["scratch*"]
group = false
[prune]
keep_last = 5
keep_every = 1000
keep_best = "3:accuracy:max"
sides = ["mirror"]
min_age = "10m"
[verify]
max_age = "2d"
rate = "200MB/s"
readback = false
[space]
reserve = "2.5%"
[watch]
poll = "5s"
notify = "mail -s ckptdeck me"
[run]
resume_command = "python train.py --resume {path}"
"""


def test_every_key_is_read() -> None:
    assert parse_policy(FULL, PATH) == Policy(
        patterns=(re.compile(r"run1_(?P<step>\d+)\.pt", re.DOTALL),),
        ignore=("scratch*",),
        group=False,
        keep_last=5,
        keep_every=1000,
        keep_best=KeepBest(3, "accuracy", highest=True),
        prune_sides=("mirror",),
        min_age=600.0,
        max_receipt_age=2 * 86400.0,
        rate=200e6,
        readback=False,
        reserve_fraction=0.025,
        poll=5.0,
        notify="mail -s ckptdeck me",
        resume_command="python train.py --resume {path}",
    )


@pytest.mark.parametrize("text", ["", POLICY_TEMPLATE, "[prune]\n"])
def test_what_is_left_out_is_at_its_default(text: str) -> None:
    assert parse_policy(text, PATH) == DEFAULT_POLICY


def test_the_template_explains_every_key_with_a_value_that_is_allowed() -> None:
    text = re.sub(r"(?m)^# (\w+ = )", r"\1", POLICY_TEMPLATE)
    parse_policy(text, PATH)
    offered = set(re.findall(r"(?m)^(\w+) = ", text))
    assert offered == {key.partition(".")[2] for key, _, _ in policy_in_force(DEFAULT_POLICY)}


def test_defaults_in_the_template_are_the_defaults() -> None:
    text = re.sub(r"(?m)^# (\w+ = )", r"\1", POLICY_TEMPLATE)
    policy = parse_policy(text, PATH)
    for field in ("keep_last", "prune_sides", "min_age", "max_receipt_age", "readback", "reserve_fraction", "poll"):
        assert getattr(policy, field) == getattr(DEFAULT_POLICY, field)


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ("[prume]\nkeep_last = 3", "[prume]", "prune"),
        ("[prune]\nkeep_lats = 3", "prune.keep_lats", "keep_last"),
        ("prune = 3", "prune", "[prune]"),
        ("[prune]\nkeep_last = 0", "prune.keep_last", "1 or more"),
        ("[prune]\nkeep_last = -1", "prune.keep_last", "1 or more"),
        ("[prune]\nkeep_last = true", "prune.keep_last", "1 or more"),
        ('[prune]\nkeep_last = "12"', "prune.keep_last", "1 or more"),
        ("[prune]\nkeep_every = 0", "prune.keep_every", "1 or more"),
        ('[prune]\nkeep_best = "loss"', "prune.keep_best", "COUNT:METRIC"),
        ('[prune]\nmin_age = "4m"', "prune.min_age", "5m or more"),
        ('[prune]\nmin_age = "0s"', "prune.min_age", "5m or more"),
        ("[prune]\nmin_age = 300", "prune.min_age", "text"),
        ("[prune]\nsides = []", "prune.sides", '"mirror"'),
        ('[prune]\nsides = ["both"]', "prune.sides", '"mirror"'),
        ('[prune]\nsides = ["mirror", "mirror"]', "prune.sides", '"mirror"'),
        ('[verify]\nrate = "200MB"', "verify.rate", "200MB/s"),
        ('[verify]\nrate = "0B/s"', "verify.rate", "200MB/s"),
        ('[verify]\nmax_age = "soon"', "verify.max_age", "s, m, h, d, w"),
        ('[verify]\nreadback = "yes"', "verify.readback", "true or false"),
        ('[space]\nreserve = "100%"', "space.reserve", "less than"),
        ("[space]\nreserve = 0.01", "space.reserve", "text"),
        ('[watch]\npoll = "0s"', "watch.poll", "0.5s"),
        ('[watch]\nnotify = ""', "watch.notify", "not empty"),
        ('[checkpoints]\nignore = "a*"', "checkpoints.ignore", "list"),
        ("[checkpoints]\npatterns = ['(']", "checkpoints.patterns", "step"),
        ("[checkpoints]\npatterns = ['a(\\d+)']", "checkpoints.patterns", "group"),
    ],
)
def test_what_cannot_be_meant_names_file_key_and_what_is_allowed(text: str, key: str, allowed: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_policy(text, PATH)
    assert raised.value.exit_code == 2
    for part in (PATH, key, allowed):
        assert part in str(raised.value)


def test_text_that_is_no_toml_names_the_place() -> None:
    with pytest.raises(UsageError, match=r"ckptdeck\.toml is not valid TOML.*line 2"):
        parse_policy("[prune]\nkeep_last 3", PATH)


def test_hostile_text_cannot_move_the_cursor() -> None:
    with pytest.raises(UsageError) as raised:
        parse_policy('[prune]\nmin_age = "\\u001b[2J5m"', PATH)
    assert "\x1b" not in str(raised.value)


# --- what is in force


def test_what_is_in_force_reads_back_as_the_policy() -> None:
    policy = parse_policy(FULL, PATH)
    tables: dict[str, list[str]] = {}
    for key, value, default in policy_in_force(policy):
        table, _, name = key.partition(".")
        tables.setdefault(table, []).append(f"{name} = {value}")
        assert not default
    text = "\n".join(f"[{table}]\n" + "\n".join(lines) for table, lines in tables.items())
    assert parse_policy(text, PATH) == policy


def test_defaults_are_said_to_be_defaults() -> None:
    lines = policy_in_force(Policy(keep_last=3))
    assert ("prune.keep_last", "3", False) in lines
    assert ("prune.min_age", '"5m"', True) in lines
    assert ("verify.max_age", '"7d"', True) in lines
    assert ("verify.rate", "not set", True) in lines
    assert ("space.reserve", '"1%"', True) in lines


# --- values


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2.47GB", 2_470_000_000),
        ("500MB", 500_000_000),
        ("4GiB", 4 << 30),
        ("1 kb", 1000),
        ("2T", 2 * 10**12),
        ("123", 123),
        ("0B", 0),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90.0), ("5m", 300.0), ("1.5h", 5400.0), ("7d", 604800.0)])
def test_ages(text: str, seconds: float) -> None:
    assert parse_age(text) == seconds


@pytest.mark.parametrize(("text", "share"), [("1%", 0.01), ("0%", 0.0), ("12.5 %", 0.125)])
def test_shares(text: str, share: float) -> None:
    assert parse_fraction(text) == share


@pytest.mark.parametrize(("text", "rate"), [("200MB/s", 200e6), ("1.5 GiB/s", 1.5 * (1 << 30))])
def test_rates(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1e9", "1XB", "inf", "nan", "9" * 40, "٣GB", "1GB\n2"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    for parse in (parse_size, parse_rate, parse_age, parse_fraction):
        with pytest.raises(UsageError, match="Write"):
            parse(text)


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("3:loss", KeepBest(3, "loss", highest=False)),
        ("1:loss:min", KeepBest(1, "loss", highest=False)),
        ("2:acc:max", KeepBest(2, "acc", highest=True)),
    ],
)
def test_what_to_keep_by_a_metric(text: str, best: KeepBest) -> None:
    assert parse_keep_best(text) == best


@pytest.mark.parametrize("text", ["", "loss", "0:loss", "-1:loss", "3:", "3:loss:most", "x:loss"])
def test_what_does_not_say_what_to_keep_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="COUNT:METRIC"):
        parse_keep_best(text)
