"""Follows an expression to all that it may be.

Names are followed to everything they were given in the same source, attributes of `self` within their class, parameters
to the calls of the function, and calls to what the function returns. It is never decided which of several values is
meant; a trace says what all of them speak of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ckptdeck.audit.call_values import TIME_FIELDS, is_buffer, value_of_call
from ckptdeck.audit.module import MOST_VALUES, How, Module, Scope, Value, argument_of
from ckptdeck.audit.trace import ORDER, UNKNOWN, Mark, Trace, bounded, temporary_by
from ckptdeck.audit.words import NO_WORDS, speaks_of_temporary, split, split_text, these, without_temporary

_DEEPEST = 10
"""Hops that are followed."""
_STREAM_NAMES = these("f fh fd fp fo fileobj stream buffer buf bio sink writer output out file")
_STREAM_TYPES = these("BinaryIO IO TextIO BytesIO IOBase RawIOBase BufferedIOBase BufferedWriter")


class Tracer:
    """Traces the values of one source."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._known: dict[tuple[int, int], tuple[int, Trace]] = {}
        self._open: set[tuple[int, int]] = set()
        self._cut = False

    def trace(self, expression: ast.expr, scope: Scope, depth: int = 0) -> Trace:
        """What is known of an expression of `scope`, `depth` hops away from what was asked for."""
        key = id(expression), id(scope)
        known_from, known = self._known.get(key, (_DEEPEST + 1, UNKNOWN))
        if known_from <= depth:
            return known
        if key in self._open:
            return UNKNOWN
        if depth > _DEEPEST:
            self._cut = True
            return UNKNOWN
        self._open.add(key)
        cut_before, self._cut = self._cut, False
        found = _Place(self, scope, depth + 1).look(expression)
        self._open.discard(key)
        if speaks_of_temporary(found.words) and not isinstance(expression, ast.Call | ast.Attribute):
            found = found.marked(Mark.TEMPORARY)
        # What was cut short is looked at again when it is asked for from nearer.
        self._known[key] = (depth if self._cut else 0, found)
        self._cut = cut_before or self._cut
        return found


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an expression stands: its scope, and how far it is from what was asked for."""

    tracer: Tracer
    scope: Scope
    depth: int

    @property
    def module(self) -> Module:
        return self.tracer.module

    def of(self, expression: ast.expr) -> Trace:
        return self.tracer.trace(expression, self.scope, self.depth)

    def of_all(self, expressions: Iterable[ast.expr]) -> Trace:
        found = UNKNOWN
        for _, expression in zip(range(MOST_VALUES), expressions, strict=False):
            found |= self.of(expression)
        return found

    def inside(self, scope: Scope) -> _Place:
        return replace(self, scope=scope)

    def returned_by(self, function: Scope) -> Trace:
        """What a function of this source returns."""
        return replace(self.inside(function).of_all(function.returned), same=NO_WORDS, within=NO_WORDS)

    def look(self, node: ast.expr) -> Trace:
        match node:
            case ast.Constant(value=str() as text):
                return _text(text)
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.JoinedStr():
                return self._joined(node)
            case ast.BinOp():
                return self._operation(node)
            case ast.Call():
                return value_of_call(node, self)
            case ast.Subscript():
                return self._subscript(node)
            case ast.IfExp():
                return self.of_all((node.body, node.orelse))
            case ast.BoolOp():
                return self.of_all(node.values)
            case ast.Starred() | ast.Await() | ast.NamedExpr() | ast.FormattedValue():
                return self.of(node.value)
            case ast.Tuple() | ast.List() | ast.Set():
                return self.of_all(node.elts)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return self._comprehension(node)
        return UNKNOWN

    # --- names

    def _name(self, node: ast.Name) -> Trace:
        words, name = split(node.id), frozenset({node.id})
        found = Trace(words, words, same=name, within=name)
        for outer in self.scope.seen():
            if node.id in outer.parameters:
                return found | self._parameter(node.id, outer) | self._values(outer.values.get(node.id, ()))
            if node.id in outer.values:
                return found | self._values(outer.values[node.id])
        imported = self.module.imported.get(node.id)
        if imported is not None:
            found |= Trace(split(imported.rpartition(".")[2]))
        return found.marked(Mark.STREAM) if node.id in _STREAM_NAMES else found

    def _values(self, values: Iterable[Value]) -> Trace:
        found = UNKNOWN
        for value in values:
            trace = self.inside(value.scope).of(value.expression)
            if value.how is How.CONTEXT and isinstance(value.expression, ast.Call):
                known = trace.has(Mark.OPENED | Mark.TEMPORARY | Mark.LISTING)
                trace = trace if known else trace.marked(Mark.GIVEN)
            elif value.how is How.ITEM and trace.has(Mark.LISTING):
                trace = replace(trace, leaf=trace.leaf | trace.words)
            found |= trace
        return found

    def _parameter(self, name: str, function: Scope) -> Trace:
        """What the callers in this source pass; without any, whoever calls may have seen to everything."""
        passed = []
        for call in self.module.callers.get(id(function), ()):
            given = argument_of(call, function, name)
            if given is not None:
                passed.append(self.inside(self.module.scope_of[id(call)]).of(given))
        found = UNKNOWN
        for trace in passed:
            found |= replace(trace, same=NO_WORDS, within=NO_WORDS, opens=())
        if not all(trace.has(Mark.TEMPORARY) for trace in passed):
            found = replace(found.final(), marks=found.marks & ~(Mark.TEMPORARY | Mark.ELSEWHERE))
        annotation = function.parameters[name].annotation
        if annotation is not None and _says_stream(annotation):
            return found.marked(Mark.STREAM)
        if passed:
            return found
        marks = Mark.STREAM if name in _STREAM_NAMES and annotation is None else Mark.NONE
        return found.marked(marks | (Mark.GIVEN if self._is_handed_over(function) else Mark.NONE))

    def _is_handed_over(self, function: Scope) -> bool:
        """A lambda, or a nested function that is passed on as a value: a callback of something that knows the name."""
        if isinstance(function.node, ast.Lambda):
            return True
        nested = function.parent is not None and function.parent.is_function
        return nested and function.name in self.module.passed_on

    def _attribute(self, node: ast.Attribute) -> Trace:
        dotted, words = self.module.dotted(node), split(node.attr)
        if node.attr in TIME_FIELDS:
            return Trace(words, marks=Mark.TIMED)
        if node.attr == "st_size":
            return self.of(node.value).marked(Mark.SIZED)
        if is_buffer(dotted):
            return Trace(words, words, Mark.STREAM)
        name = frozenset({dotted}) if dotted else NO_WORDS
        found = Trace(words | without_temporary(split(dotted)), words, temporary_by(words), name, name)
        if dotted.startswith(("self.", "cls.")):
            return found | self._own_attribute(node.attr, dotted)
        value = self.of(node.value)
        if node.attr in ("name", "path", "file") and not value.has(Mark.STREAM):
            return found | value
        if node.attr in ("parent", "stem", "suffix"):
            return replace(value.final(), leaf=NO_WORDS)
        return replace(found, words=bounded(found.words | value.final().words))

    def _own_attribute(self, name: str, dotted: str) -> Trace:
        owner = self.scope.nearest_class
        if owner is None:
            return UNKNOWN
        if name in owner.inner:  # a property
            return self.returned_by(owner.inner[name])
        return self._values(owner.values.get(f"self.{dotted.partition('.')[2]}", ()))

    # --- what is built of others

    def _joined(self, node: ast.JoinedStr) -> Trace:
        found = UNKNOWN
        for piece in node.values[:MOST_VALUES]:
            part = self.of(piece)
            slash = isinstance(piece, ast.Constant) and isinstance(piece.value, str) and "/" in piece.value
            found = replace(found | part, leaf=part.leaf if slash else found.leaf | part.leaf)
        return found.anonymous()

    def _operation(self, node: ast.BinOp) -> Trace:
        left, right = self.of(node.left), self.of(node.right)
        both = (left | right).anonymous()
        match node.op:
            case ast.Div():
                return replace(both, leaf=right.leaf)
            case ast.Add():
                return replace(both, leaf=right.leaf) if _begins_with_slash(node.right) else both
            case ast.Mod():
                return both
        return replace(both, leaf=NO_WORDS, within=NO_WORDS)

    def _subscript(self, node: ast.Subscript) -> Trace:
        value = self.of(node.value)
        if isinstance(node.slice, ast.Slice):
            return value.marked(Mark.SOME)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            return value.marked(Mark.SOME) if node.slice.value == 0 else value
        key = self.of(node.slice)
        return replace(value, words=bounded(value.words | key.words), leaf=bounded(value.leaf | key.leaf))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Trace:
        over = self.of_all(part.iter for part in node.generators)
        return replace(self.of(node.elt) | over, same=over.same).marked(over.marks & ORDER)


def _text(text: str) -> Trace:
    elsewhere = text == "/tmp" or text.startswith("/tmp/")
    marks = Mark.ELSEWHERE | Mark.TEMPORARY if elsewhere else Mark.NONE
    return Trace(split_text(text), split_text(text.rstrip("/").rpartition("/")[2]), marks)


def _says_stream(annotation: ast.expr) -> bool:
    named = (node for node in ast.walk(annotation) if isinstance(node, ast.Name | ast.Attribute))
    return any((node.id if isinstance(node, ast.Name) else node.attr) in _STREAM_TYPES for node in named)


def _begins_with_slash(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("/")
