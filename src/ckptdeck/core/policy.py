"""A set's policy: what `ckptdeck.toml` in the primary's control directory may say, decoded strictly.

A key that is not known, or a value that cannot be meant, is a UsageError naming the file, the key and what is allowed:
a misspelt guard must never be a guard that is off.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable

from ckptdeck.core.errors import UsageError
from ckptdeck.core.notation import parse_age as parse_age
from ckptdeck.core.notation import parse_fraction as parse_fraction
from ckptdeck.core.notation import parse_rate as parse_rate
from ckptdeck.core.notation import parse_size as parse_size
from ckptdeck.core.notation import write_age, write_fraction, write_rate
from ckptdeck.core.policy_template import POLICY_TEMPLATE as POLICY_TEMPLATE
from ckptdeck.core.safe_text import visible
from ckptdeck.core.states import Role
from ckptdeck.core.values import dataclass

MINIMUM_AGE = 300.0
"""Seconds. The age guard can be raised, never lowered (invariant 2)."""

SHORTEST_POLL = 0.5
"""Seconds between two looks; less would burden the disk the trainer writes to."""


@dataclass(frozen=True, slots=True)
class KeepBest:
    """Keep the best `count` checkpoints by a recorded metric."""

    count: int
    metric: str
    highest: bool


@dataclass(frozen=True, slots=True)
class Policy:
    """What is in force for a pair of sets. Times in seconds, rates in bytes per second."""

    patterns: tuple[re.Pattern[str], ...] = ()
    """Own names of checkpoints; each has a group called `step`."""
    ignore: tuple[str, ...] = ()
    """Glob patterns of names that are never checkpoints."""
    group: bool = True
    """Files of one step whose names say that they are parts are one checkpoint."""
    keep_last: int = 12
    keep_every: int | None = None
    keep_best: KeepBest | None = None
    prune_sides: tuple[str, ...] = ("primary", "mirror")
    min_age: float = MINIMUM_AGE
    max_receipt_age: float = 7 * 86400.0
    rate: float | None = None
    readback: bool = True
    reserve_fraction: float = 0.01
    poll: float = 2.0
    notify: str | None = None
    resume_command: str | None = None


DEFAULT_POLICY = Policy()


def _says_nothing(text: str) -> bool:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return set(lines) <= {f"[{table}]" for table in _KEYS} and len(set(lines)) == len(lines)


def parse_policy(text: str, path: str) -> Policy:
    """The policy a file's text asks for; `path` is only named in errors. Raises UsageError."""
    if _says_nothing(text):
        return DEFAULT_POLICY  # as `init` writes it: no parser has to be loaded for that
    import tomllib

    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(
            f"{visible(path)} is not valid TOML: {visible(str(error))}",
            next_step="Correct it there; `ckptdeck config` prints a file that is valid",
        ) from error
    chosen: dict[str, object] = {}
    for table, content in document.items():
        keys = _KEYS.get(table)
        if keys is None:
            raise _unknown(path, f"[{visible(table)}]", "Tables", _KEYS)
        if not isinstance(content, dict):
            raise UsageError(f"{visible(path)}: {table} must be a table", next_step=f"Write it as [{table}]")
        for key, value in content.items():
            setting = keys.get(key)
            if setting is None:
                raise _unknown(path, f"{table}.{visible(key)}", f"Keys of [{table}]", keys)
            chosen[setting.field] = _decode(path, f"{table}.{key}", setting, value)
    return Policy(**chosen)  # type: ignore[arg-type]  # each decoder returns its field's type


def policy_in_force(policy: Policy) -> list[tuple[str, str, bool]]:
    """(key, its value as TOML or "not set", whether that is the default) in the order of the template."""
    lines = []
    for table, keys in _KEYS.items():
        for key, setting in keys.items():
            value = getattr(policy, setting.field)
            shown = "not set" if value is None else setting.show(value)
            lines.append((f"{table}.{key}", shown, value == getattr(DEFAULT_POLICY, setting.field)))
    return lines


def parse_keep_best(text: str) -> KeepBest:
    """ "3:loss" or "3:accuracy:max": how many, by which metric, and whether less (the default) or more is better."""
    count, _, rest = text.partition(":")
    metric, _, best = rest.partition(":")
    counts = count.isascii() and count.isdigit() and len(count) < 10 and int(count) > 0
    if counts and metric.strip() and best in ("", "min", "max"):
        return KeepBest(int(count), metric.strip(), best == "max")
    raise UsageError(
        f'"{visible(text, 60)}" does not say what to keep',
        next_step='Write COUNT:METRIC[:min|max], such as "3:loss" or "3:accuracy:max"',
    )


@dataclass(frozen=True, slots=True)
class _Setting:
    field: str
    decode: Callable[[object], object]
    show: Callable[..., str]


def _decode(path: str, key: str, setting: _Setting, value: object) -> object:
    try:
        return setting.decode(value)
    except UsageError as error:
        raise UsageError(f"{visible(path)}: {key}: {error.what}", why=error.why, next_step=error.next_step) from error


def _unknown(path: str, what: str, kind: str, known: Iterable[str]) -> UsageError:
    return UsageError(f"{visible(path)}: {what} is not known", next_step=f"{kind}: {', '.join(known)}")


def _wrong(value: object, allowed: str) -> UsageError:
    return UsageError(f"{visible(repr(value), 60)} cannot be used", next_step=f"Write {allowed}")


def _text(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise _wrong(value, "a text in quotes that is not empty")


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
        return tuple(value)
    raise _wrong(value, 'a list of texts, such as ["one", "two"]')


def _patterns(value: object) -> tuple[re.Pattern[str], ...]:
    compiled = []
    for text in _texts(value):
        try:
            pattern = re.compile(text, re.DOTALL)
        except (re.error, RecursionError, OverflowError) as error:
            raise UsageError(
                f'"{visible(text, 60)}" is not a regular expression: {visible(str(error))}',
                next_step=r"Write one with a group called step, such as 'run1_(?P<step>\d+)\.pt'",
            ) from error
        if "step" not in pattern.groupindex:
            raise UsageError(
                f'"{visible(text, 60)}" has no group called step',
                why="The step orders checkpoints",
                next_step=r"Write one with such a group, for example 'run1_(?P<step>\d+)\.pt'",
            )
        compiled.append(pattern)
    return tuple(compiled)


def _positive(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63:
        return value
    raise _wrong(value, "a whole number, 1 or more")


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise _wrong(value, "true or false")


def _sides(value: object) -> tuple[str, ...]:
    sides = _texts(value)
    if sides and len(set(sides)) == len(sides) and set(sides) <= set(Role):
        return tuple(str(role) for role in Role if role in sides)
    raise _wrong(value, '["primary", "mirror"], ["mirror"] or ["primary"]')


def _guard_age(value: object) -> float:
    age = parse_age(_text(value))
    if age < MINIMUM_AGE:
        raise UsageError(
            f'"{visible(str(value), 40)}" is less than the age guard of {write_age(MINIMUM_AGE)}',
            why="What was written a moment ago may still be in flight, so the guard can be raised but not lowered",
            next_step=f"Write {write_age(MINIMUM_AGE)} or more, or leave the key out",
        )
    return age


def _poll(value: object) -> float:
    seconds = parse_age(_text(value))
    if seconds < SHORTEST_POLL:
        raise _wrong(value, f'"{write_age(SHORTEST_POLL)}" or more')
    return seconds


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _listed(texts: tuple[str, ...]) -> str:
    return "[" + ", ".join(map(_quoted, texts)) + "]"


def _patterns_text(patterns: tuple[re.Pattern[str], ...]) -> str:
    return _listed(tuple(pattern.pattern for pattern in patterns))


def _keep_best_text(best: KeepBest) -> str:
    return _quoted(f"{best.count}:{best.metric}:{'max' if best.highest else 'min'}")


def _flag_text(flag: bool) -> str:
    return "true" if flag else "false"


_AGE = (lambda value: parse_age(_text(value)), lambda seconds: _quoted(write_age(seconds)))

_KEYS: dict[str, dict[str, _Setting]] = {
    "checkpoints": {
        "patterns": _Setting("patterns", _patterns, _patterns_text),
        "ignore": _Setting("ignore", _texts, _listed),
        "group": _Setting("group", _flag, _flag_text),
    },
    "prune": {
        "keep_last": _Setting("keep_last", _positive, str),
        "keep_every": _Setting("keep_every", _positive, str),
        "keep_best": _Setting("keep_best", lambda value: parse_keep_best(_text(value)), _keep_best_text),
        "sides": _Setting("prune_sides", _sides, _listed),
        "min_age": _Setting("min_age", _guard_age, _AGE[1]),
    },
    "verify": {
        "max_age": _Setting("max_receipt_age", *_AGE),
        "rate": _Setting("rate", lambda value: parse_rate(_text(value)), lambda rate: _quoted(write_rate(rate))),
        "readback": _Setting("readback", _flag, _flag_text),
    },
    "space": {
        "reserve": _Setting(
            "reserve_fraction",
            lambda value: parse_fraction(_text(value)),
            lambda fraction: _quoted(write_fraction(fraction)),
        ),
    },
    "watch": {
        "poll": _Setting("poll", _poll, _AGE[1]),
        "notify": _Setting("notify", _text, _quoted),
    },
    "run": {
        "resume_command": _Setting("resume_command", _text, _quoted),
    },
}
