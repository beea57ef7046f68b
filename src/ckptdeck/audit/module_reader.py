"""Reads a tree once and notes what the rules need. Nothing is imported or run.

The walk keeps its own stack, so that no nesting of a source is too deep for it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from ckptdeck.audit.module import MOST_VALUES, Function, How, Module, Scope, Value
from ckptdeck.audit.words import mentions_checkpoints, mentions_weight_files, split

_NEWLINE = re.compile(rb"\r\n|\r|\n")
_PADDED = re.compile(r"0\d+d?")
_PADDED_IN_TEXT = re.compile(r"%0\d+d|\{[^{}]{0,40}:0\d+d?\}")
_LONGEST = 400
_ADDING = frozenset({"append", "add", "extend", "insert", "appendleft"})


def read_module(tree: ast.Module, text: str, name: str) -> Module:
    """Walks the tree of `text` once. `name` is the file's own, without directories."""
    root = Scope(tree, None)
    lines = _NEWLINE.split(text.encode("utf-8", "surrogatepass"))
    topic = split(name.rpartition(".")[0] or name)
    module = Module(lines, topic, mentions_checkpoints(text), mentions_weight_files(text), root)
    stack: list[tuple[ast.AST, Scope]] = [(tree, root)]
    while stack:
        node, scope = stack.pop()
        inner = _enter(node, scope, module)
        outside = _read_outside(node) if inner is not scope else frozenset()
        children = list(ast.iter_child_nodes(node))
        for child in children:
            module.parents[id(child)] = node
        stack.extend((child, scope if id(child) in outside else inner) for child in reversed(children))
    _find_callers(module)
    return module


def _read_outside(node: ast.AST) -> frozenset[int]:
    """Decorators, defaults and bases are read in the scope around a function or class."""
    if isinstance(node, ast.ClassDef):
        return frozenset(map(id, [*node.decorator_list, *node.bases, *node.keywords]))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return frozenset(map(id, node.decorator_list))
    return frozenset()


def _enter(node: ast.AST, scope: Scope, module: Module) -> Scope:
    """Notes what a node says; the scope of what is in it."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
            return _open_scope(node, scope)
        case ast.Import() | ast.ImportFrom():
            _note_import(node, module)
        case ast.Assign():
            for target in node.targets:
                _bind(target, node.value, How.ASSIGNED, scope)
        case ast.AnnAssign(value=ast.expr() as value) | ast.AugAssign(value=value) | ast.NamedExpr(value=value):
            _bind(node.target, value, How.ASSIGNED, scope)
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            _bind(node.target, node.iter, How.ITEM, scope)
        case ast.withitem(optional_vars=ast.expr() as target):
            _bind(target, node.context_expr, How.CONTEXT, scope)
        case ast.Return(value=ast.expr() as value):
            scope.returned.append(value)
        case ast.Call():
            _note_call(node, scope, module)
        case ast.Compare():
            module.scope_of[id(node)] = scope
            module.comparisons.append(node)
        case ast.Name(ctx=ast.Load()):
            parent = module.parents[id(node)]
            if not (isinstance(parent, ast.Call) and parent.func is node):
                module.passed_on.add(node.id)
        case ast.FormattedValue(format_spec=ast.JoinedStr(values=[ast.Constant(value=str() as form)])):
            module.pads_numbers |= bool(_PADDED.fullmatch(form))
        case ast.Constant(value=str() as text) if "%0" in text or ":0" in text:
            module.pads_numbers |= bool(_PADDED_IN_TEXT.search(text[:_LONGEST]))
    return scope


def _open_scope(node: Function | ast.ClassDef, scope: Scope) -> Scope:
    inner = Scope(node, scope)
    if not isinstance(node, ast.Lambda):
        scope.inner[node.name] = inner
    if isinstance(node, Function):
        for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            inner.parameters[parameter.arg] = parameter
        positional = [*node.args.posonlyargs, *node.args.args]
        last = positional[len(positional) - len(node.args.defaults) :]
        defaults = (
            *zip(last, node.args.defaults, strict=True),
            *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
        )
        for parameter, default in defaults:
            if default is not None:
                inner.add(parameter.arg, Value(default, How.ASSIGNED, scope))
    return inner


def _note_import(node: ast.Import | ast.ImportFrom, module: Module) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            root = alias.name.partition(".")[0]
            module.imported[alias.asname or root] = alias.name if alias.asname else root
    else:
        origin = "." * node.level + (node.module or "")
        for alias in node.names:
            module.imported[alias.asname or alias.name] = f"{origin}.{alias.name}"


def _note_call(call: ast.Call, scope: Scope, module: Module) -> None:
    module.scope_of[id(call)] = scope
    module.calls.append(call)
    scope.calls.append(call)
    if isinstance(call.func, ast.Attribute):
        module.pads_numbers |= call.func.attr == "zfill"
        if isinstance(call.func.value, ast.Name):
            _note_change(call.func.value.id, call.func.attr, call, scope)


def _note_change(name: str, method: str, call: ast.Call, scope: Scope) -> None:
    """A list that is added to holds what is added; one that is sorted is what the call would have given."""
    if method in _ADDING and call.args:
        scope.add(name, Value(call.args[-1], How.ASSIGNED, scope))
    elif method == "sort":
        scope.add(name, Value(call, How.ASSIGNED, scope))


def _bind(target: ast.expr, value: ast.expr, how: How, scope: Scope) -> None:
    waiting = [(target, value, how)]
    while waiting:
        target, value, how = waiting.pop()
        match target:
            case ast.Name():
                scope.add(target.id, Value(value, how, scope))
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                owner = scope.nearest_class
                if owner is not None:
                    owner.add(f"self.{target.attr}", Value(value, how, scope))
            case ast.Starred():
                waiting.append((target.value, value, how))
            case ast.Tuple() | ast.List():
                waiting.extend(_unpack(target.elts, value, how))


def _unpack(targets: list[ast.expr], value: ast.expr, how: How) -> list[tuple[ast.expr, ast.expr, How]]:
    """`a, b = x, y` is known piece by piece; of any other value each name holds an item."""
    pieces = value.elts if how is How.ASSIGNED and isinstance(value, ast.Tuple) else []
    starred = any(isinstance(piece, ast.Starred) for piece in (*pieces, *targets))
    if len(pieces) == len(targets) and not starred:
        return [(target, piece, how) for target, piece in zip(targets, pieces, strict=True)]
    return [(target, value, How.ITEM if how is How.ASSIGNED else how) for target in targets]


def _find_callers(module: Module) -> None:
    callers: dict[int, list[ast.Call]] = defaultdict(list)
    for call in module.calls:
        called = module.function(call.func, module.scope_of[id(call)])
        if called is not None and len(callers[id(called)]) < MOST_VALUES:
            callers[id(called)].append(call)
    module.callers = dict(callers)
