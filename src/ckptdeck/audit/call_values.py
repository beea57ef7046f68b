"""What a call gives, as far as it matters: paths, temporary files, streams, listings and their order, sizes, times."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

from ckptdeck.audit.module import Module, Scope, argument, keyword
from ckptdeck.audit.trace import UNKNOWN, Mark, Trace, bounded, temporary_by
from ckptdeck.audit.words import NO_WORDS, speaks_of_temporary, split


class Place(Protocol):
    """Where a call stands."""

    @property
    def module(self) -> Module: ...
    @property
    def scope(self) -> Scope: ...
    def of(self, expression: ast.expr) -> Trace: ...
    def of_all(self, expressions: Iterable[ast.expr]) -> Trace: ...
    def returned_by(self, function: Scope) -> Trace: ...


Giver = Callable[[ast.Call, Place], Trace]
TIME_FIELDS = frozenset({"st_mtime", "st_ctime", "st_atime", "st_mtime_ns", "st_ctime_ns", "st_birthtime"})
_TIMES = frozenset({"os.path.getmtime", "os.path.getctime", "os.path.getatime"})
_MODE = re.compile(r"[rwxabt+U]{1,4}")
_STREAM_WORDS = frozenset({"stream", "buffer", "open", "fileobj", "writer"})
_BUFFERS = frozenset({"io.BytesIO", "io.StringIO", "BytesIO", "StringIO", "sys.stdout", "sys.stdout.buffer"})


def value_of_call(call: ast.Call, place: Place) -> Trace:
    """What is known of the value of a call."""
    function = place.module.function(call.func, place.scope)
    if function is None:
        give = _GIVERS.get(place.module.dotted(call.func))
        if give is None and isinstance(call.func, ast.Attribute):
            give = _METHODS.get(call.func.attr)
        return _unknown(call, place) if give is None else give(call, place)
    return _unknown(call, place) | place.returned_by(function)


def is_mode(node: ast.expr | None) -> bool:
    """The mode of an `open`, as against a path."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(_MODE.fullmatch(node.value))


def path_opened(call: ast.Call) -> tuple[ast.expr, str] | None:
    """The path and mode of `path.open(mode)`; nothing for `archive.open(name, mode)`."""
    mode = call.args[0] if call.args else keyword(call, "mode")
    if not isinstance(call.func, ast.Attribute) or len(call.args) > 1:
        return None
    return (call.func.value, str(mode.value)) if isinstance(mode, ast.Constant) and is_mode(mode) else None


def is_buffer(dotted: str) -> bool:
    return dotted in _BUFFERS


def _unknown(call: ast.Call, place: Place) -> Trace:
    """What a call's name and arguments speak of. What is made of something temporary need not be temporary."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    words = split(name)
    passed = place.of_all([*call.args, *(named.value for named in call.keywords)])
    marks = temporary_by(words) | (Mark.NONE if words.isdisjoint(_STREAM_WORDS) else Mark.STREAM)
    return Trace(bounded(words | passed.final().words), words, marks)


# --- functions


def _first(call: ast.Call, place: Place) -> Trace:
    return place.of(call.args[0]) if call.args else UNKNOWN


def _joined_path(call: ast.Call, place: Place) -> Trace:
    return _path(call.args, place)


def _path(pieces: list[ast.expr], place: Place) -> Trace:
    """A path of several pieces; of one piece, that piece."""
    if len(pieces) < 2:
        return place.of_all(pieces)
    return replace(place.of_all(pieces), leaf=place.of(pieces[-1]).leaf).anonymous()


def _directory(call: ast.Call, place: Place) -> Trace:
    return replace(_first(call, place).final(), leaf=NO_WORDS)


def _size(call: ast.Call, place: Place) -> Trace:
    return _first(call, place).marked(Mark.SIZED)


def _time(_call: ast.Call, _place: Place) -> Trace:
    return Trace(marks=Mark.TIMED)


def _number(call: ast.Call, place: Place) -> Trace:
    return Trace(place.of_all(call.args).words, marks=Mark.NUMBER)


def _buffer(_call: ast.Call, _place: Place) -> Trace:
    return Trace(marks=Mark.STREAM)


def _opened(call: ast.Call, place: Place) -> Trace:
    found = _first(call, place)
    return replace(found, marks=(found.marks | Mark.OPENED) & ~Mark.STREAM, opens=(call,))


def _opened_descriptor(call: ast.Call, place: Place) -> Trace:
    return _first(call, place).marked(Mark.OPENED)


def _listing(call: ast.Call, place: Place) -> Trace:
    return replace(place.of_all(call.args), marks=Mark.LISTING)


def _temporary(call: ast.Call, place: Place) -> Trace:
    """Of `tempfile`: beside its target only when a directory is given that is not the system's."""
    name = place.module.dotted(call.func)
    where = argument(call, 2, "dir") if name in ("tempfile.mkstemp", "tempfile.mkdtemp") else keyword(call, "dir")
    beside = where is not None and not (isinstance(where, ast.Constant) and where.value is None)
    beside = beside and where is not None and not place.of(where).has(Mark.ELSEWHERE)
    marks = Mark.TEMPORARY if beside else Mark.TEMPORARY | Mark.ELSEWHERE
    return Trace(marks=marks | (Mark.OPENED if name.endswith("TemporaryFile") else Mark.NONE))


def _all(call: ast.Call, place: Place) -> Trace:
    return place.of_all(call.args)


def _last(call: ast.Call, place: Place) -> Trace:
    return place.of(call.args[-1]) if call.args else UNKNOWN


def _sorted(call: ast.Call, place: Place) -> Trace:
    return _all(call, place).marked(_order(call, place))


def _naturally_sorted(call: ast.Call, place: Place) -> Trace:
    return _all(call, place).marked(Mark.BY_KEY)


def _least(call: ast.Call, place: Place) -> Trace:
    return _sorted(call, place).marked(Mark.SOME)


def _order(call: ast.Call, place: Place) -> Mark:
    """By what `sorted`, `min`, `max` or `list.sort` order."""
    key = keyword(call, "key")
    if key is None or place.module.dotted(key) in ("str", "os.path.basename"):
        return Mark.SORTED
    return Mark.BY_TIME if _gives_time(key, place) else Mark.BY_KEY


def _gives_time(key: ast.expr, place: Place) -> bool:
    if isinstance(key, ast.Lambda):
        return _reads_time(key.body, place.module)
    function = place.module.function(key, place.scope)
    if function is None:
        return place.module.dotted(key) in _TIMES
    return any(_reads_time(value, place.module) for value in function.returned)


def _reads_time(expression: ast.expr, module: Module) -> bool:
    attributes = (node for node in ast.walk(expression) if isinstance(node, ast.Attribute | ast.Name))
    return any(getattr(node, "attr", "") in TIME_FIELDS or module.dotted(node) in _TIMES for node in attributes)


# --- methods


def _owner(call: ast.Call, place: Place) -> Trace:
    assert isinstance(call.func, ast.Attribute)
    return place.of(call.func.value)


def _listing_below(call: ast.Call, place: Place) -> Trace:
    owner = _owner(call, place)
    return replace(owner | place.of_all(call.args), marks=(owner.marks & Mark.TEMPORARY) | Mark.LISTING)


def _joined_below(call: ast.Call, place: Place) -> Trace:
    assert isinstance(call.func, ast.Attribute)
    return _path([call.func.value, *call.args], place)


def _renamed(call: ast.Call, place: Place) -> Trace:
    """`path.with_suffix(".tmp")`: another name in the same directory."""
    owner, changed = _owner(call, place), place.of_all(call.args)
    kept = Mark.ELSEWHERE if speaks_of_temporary(owner.leaf) else Mark.ELSEWHERE | Mark.TEMPORARY
    marks = changed.marks & Mark.TEMPORARY | owner.marks & kept
    return replace(owner.final() | changed, marks=marks, within=owner.within).anonymous()


def _formatted(call: ast.Call, place: Place) -> Trace:
    return (_owner(call, place) | place.of_all(call.args)).anonymous()


def _sort(call: ast.Call, place: Place) -> Trace:
    return Trace(marks=_order(call, place))


def _popped(call: ast.Call, place: Place) -> Trace:
    assert isinstance(call.func, ast.Attribute)
    first = call.func.attr == "popleft" or (bool(call.args) and getattr(call.args[0], "value", None) == 0)
    return _owner(call, place).marked(Mark.SOME if first else Mark.NONE)


def _changed_text(call: ast.Call, place: Place) -> Trace:
    """`name.removesuffix(".tmp")`; `replace` with one argument is a rename and gives the new path."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr == "replace" and len(call.args) < 2:
        return _first(call, place)
    owner = _owner(call, place)
    return replace(owner.final(), marks=owner.marks & Mark.LISTING)


def _opened_path(call: ast.Call, place: Place) -> Trace:
    """`path.open("wb")`; `anything.open(path, "wb")` gives a stream of unknown origin."""
    if path_opened(call) is None:
        return Trace(marks=Mark.STREAM)
    owner = _owner(call, place)
    return replace(owner, marks=(owner.marks | Mark.OPENED) & ~Mark.STREAM, opens=(call,))


_GIVERS: dict[str, Giver] = {
    **dict.fromkeys(
        ("str", "os.fspath", "os.fsdecode", "os.fsencode", "os.stat", "os.lstat", "list", "tuple", "set"), _first
    ),
    **{f"os.path.{name}": _first for name in ("abspath", "realpath", "normpath", "expanduser", "expandvars")},
    **{f"pathlib.{name}": _joined_path for name in ("Path", "PurePath", "PosixPath")},
    "os.path.join": _joined_path,
    "os.path.dirname": _directory,
    "os.path.getsize": _size,
    **dict.fromkeys(_TIMES, _time),
    **dict.fromkeys(("int", "float", "len"), _number),
    **dict.fromkeys(_BUFFERS, _buffer),
    **dict.fromkeys(("open", "io.open", "gzip.open", "bz2.open", "lzma.open", "h5py.File", "zipfile.ZipFile"), _opened),
    "os.fdopen": _opened_descriptor,
    **dict.fromkeys(("os.listdir", "os.scandir", "os.walk", "glob.glob", "glob.iglob"), _listing),
    **{
        f"tempfile.{name}": _temporary
        for name in (
            *("mkstemp", "mkdtemp", "mktemp", "gettempdir", "TemporaryDirectory"),
            *("NamedTemporaryFile", "TemporaryFile", "SpooledTemporaryFile"),
        )
    },
    **dict.fromkeys(("iter", "reversed", "enumerate", "zip"), _all),
    **dict.fromkeys(("map", "filter"), _last),
    **dict.fromkeys(("sorted", "max"), _sorted),
    "min": _least,
    **dict.fromkeys(("natsorted", "natsort.natsorted"), _naturally_sorted),
}
_METHODS: dict[str, Giver] = {
    **dict.fromkeys(("glob", "rglob", "iterdir", "listdir"), _listing_below),
    "joinpath": _joined_below,
    **dict.fromkeys(("with_suffix", "with_name", "with_stem"), _renamed),
    **dict.fromkeys(("resolve", "absolute", "expanduser", "as_posix", "stat", "lstat", "copy"), _owner),
    **dict.fromkeys(("items", "values", "keys"), _owner),
    "format": _formatted,
    "join": _first,
    "sort": _sort,
    **dict.fromkeys(("pop", "popleft"), _popped),
    **dict.fromkeys(("removesuffix", "removeprefix", "strip", "lstrip", "rstrip", "replace"), _changed_text),
    **dict.fromkeys(("split", "rsplit", "partition", "rpartition"), _changed_text),
    "open": _opened_path,
}
