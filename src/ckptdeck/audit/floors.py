"""A size that is compared with a constant to say that a file is good."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from ckptdeck.audit.examination import Examination, Subject
from ckptdeck.audit.finding import Finding
from ckptdeck.audit.module import Scope
from ckptdeck.audit.rules import FLOOR
from ckptdeck.audit.trace import Mark
from ckptdeck.audit.words import speaks_of_damage, speaks_of_large, split

_MEGABYTE = 1 << 20
_INSTEAD = (
    "In a launch script `ckptdeck resume DIR` prints the newest checkpoint that is whole; where sizes are to be "
    "compared, compare with the exact size (and hash) recorded when it was published: `ckptdeck verify DIR`"
)
_EXISTENCE = frozenset({"exists", "isfile", "is_file", "lexists"})


def find_floors(look: Examination) -> Iterator[Finding]:
    for comparison in look.module.comparisons:
        sides = _size_and_floor(look, comparison)
        if sides is None:
            continue
        size, floor, above = sides
        if not _accepts(look, comparison, size, above):
            continue
        if _is_about_a_checkpoint(look, comparison, size, floor):
            what = f"`{look.module.text_of(comparison)}` decides whether a file is good"
            yield look.finding(FLOOR, comparison, what, _INSTEAD)


def _size_and_floor(look: Examination, comparison: ast.Compare) -> tuple[ast.expr, float, bool] | None:
    """The size, the constant, and whether the comparison holds for sizes above it."""
    if len(comparison.ops) != 1:
        return None
    left, operator, right = comparison.left, comparison.ops[0], comparison.comparators[0]
    if not isinstance(operator, ast.Gt | ast.GtE | ast.Lt | ast.LtE):
        return None
    above = isinstance(operator, ast.Gt | ast.GtE)
    for size, constant, holds_above in ((left, right, above), (right, left, not above)):
        if look.trace(size, comparison).has(Mark.SIZED):
            floor = _number(constant, look.scope(comparison))
            if floor is not None:
                return size, floor, holds_above
    return None


def _number(node: ast.expr, scope: Scope, depth: int = 0) -> float | None:
    """The value of a constant expression: `50 * 1024 * 1024`, `2**20`, `1e6`, a name given one such value."""
    if depth > 6:
        return None
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(min(max(value, -1e18), 1e18))
        case ast.Name():
            for outer in scope.seen():
                values = outer.values.get(node.id, [])
                if node.id in outer.parameters or len(values) > 1:
                    return None
                if values:
                    return _number(values[0].expression, outer, depth + 1)
        case ast.BinOp(op=ast.Mult() | ast.LShift() | ast.Pow()):
            left, right = _number(node.left, scope, depth + 1), _number(node.right, scope, depth + 1)
            if left is None or right is None:
                return None
            if isinstance(node.op, ast.Mult):
                return left * right
            base = 2.0 if isinstance(node.op, ast.LShift) else min(max(left, 1.0), 1024.0)
            power = math.pow(base, min(max(right, 0.0), 60.0))
            return left * power if isinstance(node.op, ast.LShift) else power
    return None


# --- what follows from the comparison


def _accepts(look: Examination, comparison: ast.Compare, size: ast.expr, above: bool) -> bool:
    """Larger is good, smaller is bad; not: larger is too large, or treated in another way."""
    node: ast.AST = comparison
    beside: list[ast.expr] = []
    holds = above
    while True:
        parent = look.module.parents.get(id(node))
        match parent:
            case ast.BoolOp():
                beside += [value for value in parent.values if value is not node]
            case ast.UnaryOp(op=ast.Not()):
                holds = not holds
            case ast.If() | ast.While() if node is parent.test:
                return _branch_accepts(look, comparison, parent, holds, beside, size)
            case ast.Return():
                return holds != speaks_of_damage(split(look.scope(comparison).name))
            case ast.comprehension():
                return holds
            case ast.IfExp() | ast.Assert():
                return holds and _exists(beside)
            case ast.Call():
                if not (isinstance(parent.func, ast.Name) and parent.func.id in ("all", "any", "bool")):
                    return False
            case ast.GeneratorExp() | ast.ListComp():
                pass
            case _:
                return holds and _exists(beside)
        node = parent


def _branch_accepts(
    look: Examination,
    comparison: ast.Compare,
    branch: ast.If | ast.While,
    holds: bool,
    beside: list[ast.expr],
    size: ast.expr,
) -> bool:
    path = look.trace(size, comparison).same
    body = branch.body
    if not holds:
        return any(_rejects(statement) for statement in body)
    if any(isinstance(statement, ast.Raise) for statement in body):
        return False
    return _exists(beside) or any(_takes(statement, path) for statement in body)


def _exists(beside: list[ast.expr]) -> bool:
    """`os.path.exists(p) and ...`: there and large enough is taken for good."""
    calls = (node for expression in beside for node in ast.walk(expression) if isinstance(node, ast.Call))
    return any(
        (call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")) in _EXISTENCE
        for call in calls
    )


def _rejects(statement: ast.stmt) -> bool:
    """What is done with a file that is too small."""
    match statement:
        case ast.Raise() | ast.Continue():
            return True
        case ast.Return(value=None) | ast.Return(value=ast.Constant(value=None | False)):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="remove" | "unlink"))):
            return True
    return False


def _takes(statement: ast.stmt, path: frozenset[str]) -> bool:
    """The path itself is what is returned, kept or added to what is good."""
    match statement:
        case ast.Return(value=ast.Constant(value=True)):
            return True
        case (
            ast.Return(value=ast.expr() as value)
            | ast.Assign(value=value)
            | ast.Expr(value=ast.Yield(value=ast.expr() as value))
        ):
            return _names(value, path)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append" | "add"), args=[value])):
            return _names(value, path)
    return False


def _names(value: ast.expr, path: frozenset[str]) -> bool:
    return any(isinstance(node, ast.Name) and node.id in path for node in ast.walk(value))


# --- whether it matters


def _is_about_a_checkpoint(look: Examination, comparison: ast.Compare, size: ast.expr, floor: float) -> bool:
    trace = look.trace(size, comparison)
    around = look.scope(comparison).words
    if speaks_of_large(around | trace.words):
        return False
    subject = look.subject(comparison, trace)
    if floor >= _MEGABYTE:
        return subject is not Subject.OTHER
    return subject >= Subject.LIKELY
