"""One source as functions, the values their names may hold, and the calls in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from ckptdeck.audit.words import NO_WORDS, Words, split

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
MOST_VALUES = 8
"""Values of one name, callers of one function that are looked at: more make no picture clearer, and a hostile source
may have a million."""
_MOST_LINES = 6


class How(Enum):
    """How a name got a value."""

    ASSIGNED = auto()
    ITEM = auto()
    """One item of the value: a loop, an unpacking."""
    CONTEXT = auto()
    """What the value gives in a `with`."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value a name may hold, and the scope its expression is read in."""

    expression: ast.expr
    how: How
    scope: Scope


@dataclass(slots=True, eq=False)
class Scope:
    """A module, class, function or lambda."""

    node: ast.AST
    parent: Scope | None
    values: dict[str, list[Value]] = field(default_factory=dict)
    """Names, and in a class attributes as `self.name`."""
    parameters: dict[str, ast.arg] = field(default_factory=dict)
    inner: dict[str, Scope] = field(default_factory=dict)
    """The functions and classes defined in it."""
    calls: list[ast.Call] = field(default_factory=list)
    returned: list[ast.expr] = field(default_factory=list)

    @property
    def is_function(self) -> bool:
        return isinstance(self.node, Function)

    @property
    def name(self) -> str:
        return "" if isinstance(self.node, ast.Lambda | ast.Module) else getattr(self.node, "name", "")

    def outwards(self) -> Iterator[Scope]:
        """This scope and those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def seen(self) -> Iterator[Scope]:
        """The scopes whose names this one sees: its own and, without classes, those around it."""
        return (scope for scope in self.outwards() if scope is self or not isinstance(scope.node, ast.ClassDef))

    @property
    def nearest_class(self) -> Scope | None:
        return next((scope for scope in self.outwards() if isinstance(scope.node, ast.ClassDef)), None)

    @property
    def outermost_function(self) -> Scope:
        """The function that a nested one or a lambda belongs to; itself outside of any."""
        functions = [scope for scope in self.outwards() if scope.is_function]
        return functions[-1] if functions else self

    @property
    def words(self) -> Words:
        """Those of the functions and classes around a place."""
        return NO_WORDS.union(*(split(scope.name) for scope in self.outwards()))

    def add(self, name: str, value: Value) -> None:
        held = self.values.setdefault(name, [])
        if len(held) < MOST_VALUES:
            held.append(value)


@dataclass(slots=True, eq=False)
class Module:
    """What is known of one source before any rule looks at it."""

    lines: list[bytes]
    topic: Words
    """The words of the file's own name."""
    mentions_checkpoints: bool
    """Somewhere, be it in a comment."""
    mentions_weight_files: bool
    root: Scope
    imported: dict[str, str] = field(default_factory=dict)
    """Local name → where it comes from: `np` → `numpy`, `copy2` → `shutil.copy2`."""
    parents: dict[int, ast.AST] = field(default_factory=dict)
    """id of a node → the node it is in."""
    scope_of: dict[int, Scope] = field(default_factory=dict)
    """id of a call or comparison → its scope."""
    calls: list[ast.Call] = field(default_factory=list)
    comparisons: list[ast.Compare] = field(default_factory=list)
    callers: dict[int, list[ast.Call]] = field(default_factory=dict)
    """id of a function's scope → the calls of it in this source."""
    passed_on: set[str] = field(default_factory=set)
    """Names used as values other than by calling them."""
    pads_numbers: bool = False
    """Numbers are written with leading zeros somewhere: names then sort as text as they do as numbers."""

    def dotted(self, node: ast.AST) -> str:
        """`np.save` → `numpy.save`; "" for what is no chain of names."""
        pieces = []
        while isinstance(node, ast.Attribute):
            pieces.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        pieces.append(self.imported.get(node.id, node.id))
        return ".".join(reversed(pieces))

    def text_of(self, node: ast.expr, limit: int = 60) -> str:
        """The source of an expression on one line, shortened in the middle."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        pieces = self.lines[first : min(last + 1, first + _MOST_LINES)]
        if last - first < len(pieces):
            pieces[-1] = pieces[-1][: node.end_col_offset]
        pieces[:1] = [piece[node.col_offset :] for piece in pieces[:1]]
        text = " ".join(b" ".join(pieces).decode("utf-8", "replace").split())
        return text if len(text) <= limit else f"{text[: limit // 2]} … {text[-(limit // 2 - 3) :]}"

    def function(self, named: ast.expr, scope: Scope) -> Scope | None:
        """The function of this source that an expression names, if it surely is one."""
        found = self._defined(named, scope)
        return found if found is not None and found.is_function else None

    def _defined(self, named: ast.expr, scope: Scope) -> Scope | None:
        if isinstance(named, ast.Name):
            for outer in scope.seen():
                if named.id in outer.inner:
                    return outer.inner[named.id]
                if named.id in outer.values or named.id in outer.parameters:
                    return None
        elif isinstance(named, ast.Attribute) and isinstance(named.value, ast.Name):
            owner = scope.nearest_class
            if owner is None or named.value.id not in ("self", "cls", owner.name):
                owner = self.root.inner.get(named.value.id)
            if owner is not None and isinstance(owner.node, ast.ClassDef):
                return owner.inner.get(named.attr)
        return None


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """What a call passes by name."""
    return next((argument.value for argument in call.keywords if argument.arg == name), None)


def argument(call: ast.Call, position: int, name: str = "") -> ast.expr | None:
    """What a call passes at a place or by name, if that is plain to see."""
    named = keyword(call, name) if name else None
    if named is not None or position >= len(call.args):
        return named
    starred = any(isinstance(passed, ast.Starred) for passed in call.args[: position + 1])
    return None if starred else call.args[position]


def argument_of(call: ast.Call, function: Scope, name: str) -> ast.expr | None:
    """What a call passes for the parameter `name` of a function of the same source."""
    node = function.node
    if not isinstance(node, Function):
        return None
    names = [parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)]
    if names and names[0] in ("self", "cls") and isinstance(call.func, ast.Attribute):
        names = names[1:]
    return argument(call, names.index(name), name) if name in names else keyword(call, name)
