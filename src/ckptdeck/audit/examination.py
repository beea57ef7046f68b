"""What the rules ask about one source: is this path final, is this a checkpoint, was that synced."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from enum import IntEnum, auto

from ckptdeck.audit.finding import Finding
from ckptdeck.audit.known_calls import Moved, is_sync, opened_to_write, renamed_by
from ckptdeck.audit.module import Module, Scope, argument_of
from ckptdeck.audit.rules import Rule
from ckptdeck.audit.trace import Mark, Trace
from ckptdeck.audit.tracer import Tracer
from ckptdeck.audit.words import (
    Words,
    ends_like_a_checkpoint,
    hints_of_checkpoints,
    names_a_checkpoint,
    speaks_of_something_else,
)

_DEEPEST = 3
_STREAM_METHODS = frozenset({"write", "flush", "close", "seek", "tell", "getvalue", "getbuffer", "fileno"})


class Subject(IntEnum):
    """How sure the names around a place are that it is about a checkpoint."""

    OTHER = auto()
    """It is about something else."""
    UNKNOWN = auto()
    PERHAPS = auto()
    LIKELY = auto()
    CHECKPOINT = auto()


class Examination:
    """One source under examination. Calls are taken function by function, nested ones with the outermost."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._tracer = Tracer(module)
        self._calls: dict[int, list[ast.Call]] = defaultdict(list)
        for call in module.calls:
            self._calls[self._function_around(call)].append(call)
        self._renames = {key: list(self._find_renames(calls)) for key, calls in self._calls.items()}
        self._streams = {key: set(self._find_streams(calls)) for key, calls in self._calls.items()}
        self._syncing: dict[int, bool] = {}

    # --- places

    def scope(self, node: ast.Call | ast.Compare) -> Scope:
        return self.module.scope_of[id(node)]

    def trace(self, expression: ast.expr, where: ast.Call | ast.Compare) -> Trace:
        return self._tracer.trace(expression, self.scope(where))

    def calls_around(self, call: ast.Call) -> list[ast.Call]:
        """All calls of the function that a call is in."""
        return self._calls[self._function_around(call)]

    def called(self, call: ast.Call) -> Scope | None:
        """The function of this source that is called, where it is known."""
        return self.module.function(call.func, self.scope(call))

    def names_of(self, expression: ast.expr, where: ast.Call) -> Words:
        """What an expression is known as: the names that hold its value, and its own text; a stream by its path too."""
        trace = self.trace(expression, where)
        opened = (opened_to_write(call, self.module) for call in trace.opens)
        paths = (self.module.text_of(found[0]) for found in opened if found is not None)
        return trace.same | {self.module.text_of(expression), *paths}

    def finding(self, rule: Rule, node: ast.expr, what: str, instead: str) -> Finding:
        return Finding(node.lineno, node.col_offset + 1, rule.name, rule.severity, what, rule.can_happen, instead)

    def _function_around(self, call: ast.Call) -> int:
        return id(self.scope(call).outermost_function)

    # --- what it is about

    def subject(self, where: ast.Call | ast.Compare, target: Trace, *others: Trace) -> Subject:
        """What a place is about, by its path first, then by the function around it, then by whatever else is named."""
        if names_a_checkpoint(target.leaf):
            return Subject.CHECKPOINT
        if speaks_of_something_else(target.leaf) or any(speaks_of_something_else(one.leaf) for one in others):
            return Subject.OTHER
        around, topic = self.scope(where).words, self.module.topic
        named = target.words.union(*(one.words for one in others))
        for words in (around, named, topic):
            if names_a_checkpoint(words):
                return Subject.CHECKPOINT
            if speaks_of_something_else(words):
                return Subject.OTHER
        hints, mentioned = hints_of_checkpoints(named | around), self.module.mentions_checkpoints
        if ends_like_a_checkpoint(named) and (hints or mentioned):
            return Subject.CHECKPOINT if hints else Subject.PERHAPS
        mentioned |= self.module.mentions_weight_files
        if hints and (mentioned or len(hints | hints_of_checkpoints(topic)) > 1):
            return Subject.LIKELY
        return Subject.PERHAPS if hints else Subject.UNKNOWN

    # --- whether it is final

    def is_final(self, call: ast.Call, expression: ast.expr) -> bool:
        """A call's target is a path, none that is temporary by its name, its making or a rename that follows."""
        target, here = self.trace(expression, call), self._function_around(call)
        if target.has(Mark.TEMPORARY | Mark.GIVEN):
            return False
        if not target.has(Mark.OPENED) and (target.has(Mark.STREAM) or not target.same.isdisjoint(self._streams[here])):
            return False
        names = target.within | self.names_of(expression, call)
        return not any(line >= call.lineno and not names.isdisjoint(source) for line, source in self._renames[here])

    def moved_by(self, call: ast.Call) -> Moved | None:
        """A rename, also one that a function of this source makes of what the call passes."""
        moved = renamed_by(call, self.module)
        called = self.called(call)
        if moved is not None or called is None:
            return moved
        for inner in called.calls:
            moved = renamed_by(inner, self.module)
            if moved is not None and isinstance(moved.source, ast.Name) and isinstance(moved.target, ast.Name):
                source = argument_of(call, called, moved.source.id)
                target = argument_of(call, called, moved.target.id)
                if source is not None and target is not None:
                    return Moved(call, called.name, source, target)
        return None

    def _find_renames(self, calls: list[ast.Call]) -> Iterator[tuple[int, Words]]:
        """Line and source names of every rename of a function."""
        for call in calls:
            moved = self.moved_by(call)
            if moved is not None:
                yield call.lineno, self.names_of(moved.source, call)

    def _find_streams(self, calls: list[ast.Call]) -> Iterator[str]:
        """Names of what is used as a stream."""
        for call in calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr in _STREAM_METHODS:
                yield self.module.dotted(call.func.value)

    # --- whether it is synced

    def is_synced_before(self, call: ast.Call) -> bool:
        return any(self._syncs(one, 0) for one in self.calls_around(call) if one.lineno <= call.lineno)

    def is_synced_after(self, call: ast.Call) -> bool:
        return any(self._syncs(one, 0) for one in self.calls_around(call) if one.lineno > call.lineno or one is call)

    def _syncs(self, call: ast.Call, depth: int) -> bool:
        """A call syncs, itself or in a function of this source."""
        if is_sync(call, self.module):
            return True
        called = self.called(call)
        if called is None or depth > _DEEPEST:
            return False
        known = self._syncing.get(id(called))
        if known is None:
            self._syncing[id(called)] = False  # until known, for a function that calls itself
            known = self._syncing[id(called)] = any(self._syncs(inner, depth + 1) for inner in called.calls)
        return known
