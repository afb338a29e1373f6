"""Conditions of a `while` that nobody but the loop itself could change: they ask for numbers and texts of its function. Pure.

A name of a function is no other's, and a number or text never changes; so what the loop does not set stays as it is. What a name
holds its annotation tells, or each place that sets it. A flag, a list or an attribute another thread may change."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

Function = ast.FunctionDef | ast.AsyncFunctionDef
ASKS = (
    ast.Name,
    ast.Constant,
    ast.Compare,
    ast.BoolOp,
    ast.UnaryOp,
    ast.BinOp,
    ast.operator,
    ast.cmpop,
    ast.boolop,
    ast.unaryop,
    ast.Load,
)
PLAIN_TYPES = frozenset("int float bool str".split())
PLAIN_CALLS = PLAIN_TYPES | {"len"}


def stays_true(source: str, loop: ast.While) -> bool:
    """Whether the condition of this loop can never become false, once it was true."""
    asked = list(ast.walk(loop.test))
    names = {node.id for node in asked if isinstance(node, ast.Name)}
    if not names or not all(isinstance(node, ASKS) for node in asked):
        return False
    set_within = {node.id for part in loop.body for node in ast.walk(part) if isinstance(node, ast.Name) and _is_set(node)}
    around = [each for each in _functions(source) if each.lineno < loop.lineno <= (each.end_lineno or 0)]
    if not around or names & set_within:
        return False
    function = max(around, key=lambda each: each.lineno)
    return all(_is_plain(function, name) for name in names)


def _is_plain(function: Function, name: str) -> bool:
    """Whether it is the function's own name, and always of a number or a text."""
    nodes = list(ast.walk(function))
    if any(isinstance(node, ast.Global | ast.Nonlocal) and name in node.names for node in nodes):
        return False
    given = [node for node in nodes if isinstance(node, ast.arg) and node.arg == name]
    places = [node for node in nodes if isinstance(node, ast.Name) and node.id == name and _is_set(node)]
    known = {id(target) for node in nodes for target in _set_plainly(node)}
    told = all(isinstance(each.annotation, ast.Name) and each.annotation.id in PLAIN_TYPES for each in given)
    return bool(given or places) and told and all(id(place) in known for place in places)


def _set_plainly(node: ast.AST) -> Iterator[ast.expr]:
    """The targets that this statement sets to a number or a text."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                pairs = [(target, value)]
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                    pairs = list(zip(target.elts, value.elts, strict=True))
                yield from (one for one, other in pairs if _is_plain_value(other))
        case ast.AugAssign(target=target, value=value) if _is_plain_value(value):
            yield target
        case ast.AnnAssign(target=target, annotation=ast.Name(id=kind)) if kind in PLAIN_TYPES:
            yield target
        case ast.For(target=target, iter=ast.Call(func=ast.Name(id="range"))):
            yield target
        case ast.For(target=ast.Tuple(elts=[first, *_]), iter=ast.Call(func=ast.Name(id="enumerate"))):
            yield first


def _is_plain_value(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in PLAIN_CALLS
    return isinstance(value, ast.Constant)


def _is_set(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


@lru_cache(maxsize=32)
def _functions(source: str) -> tuple[Function, ...]:
    """Of a source that can be parsed."""
    return tuple(node for node in ast.walk(ast.parse(source)) if isinstance(node, Function))
