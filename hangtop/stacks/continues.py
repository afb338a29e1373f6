"""Does a program come to a line that lets a stopped process go on, by its source? Pure.

`os.kill(pid, signal.SIGCONT)`, `child.send_signal(signal.SIGCONT)`, `resume()` of psutil; also in a function of the same file
that is called there, or around the place by `with`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

SIGNAL = "SIGCONT"
SENDERS = ("kill", "killpg", "send_signal", "pidfd_send_signal")
Function = ast.FunctionDef | ast.AsyncFunctionDef
LOOPS = (ast.For, ast.While, ast.AsyncFor)
WITHS = (ast.With, ast.AsyncWith)


@lru_cache(maxsize=64)
def continues(source: str, line: int) -> bool:
    """Whether such a line stands behind this one in its function, in a loop around it, or in what ends a `with` around it."""
    if SIGNAL not in source and "psutil" not in source:
        return False
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return False
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    made = _made_by_psutil(tree)
    senders = {node.name for node in functions if any(_sends(call, made) for call in _calls(node))}
    here: ast.AST = min((node for node in functions if _is_around(node, line)), key=_length, default=tree)
    around = [node for node in ast.walk(here) if _is_around(node, line)]
    first = min((node.lineno for node in around if isinstance(node, LOOPS)), default=line + 1)
    ends = (item.context_expr for node in around if isinstance(node, WITHS) for item in node.items)
    ahead = [call for call in _calls(here) if call.lineno >= first or (call.end_lineno or 0) > line]
    return any(_sends(call, made) or _called(call) in senders for call in ahead) or any(
        _called(end) in senders for end in ends if isinstance(end, ast.Call)
    )


def _is_around(node: ast.AST, line: int) -> bool:
    return getattr(node, "lineno", line + 1) <= line <= getattr(node, "end_lineno", 0)


def _length(node: Function) -> int:
    return (node.end_lineno or 0) - node.lineno


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """Those of this function itself, and not of the functions within it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield child
        if not isinstance(child, Function):
            yield from _calls(child)


def _called(call: ast.Call) -> str:
    name = call.func
    return name.attr if isinstance(name, ast.Attribute) else name.id if isinstance(name, ast.Name) else ""


def _sends(call: ast.Call, made: frozenset[str]) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "resume" and not call.args:
        of = call.func.value
        return _is_of_psutil(of) or ast.unparse(of) in made
    names = (
        each.attr if isinstance(each, ast.Attribute) else each.id if isinstance(each, ast.Name) else "" for each in call.args
    )
    return _called(call) in SENDERS and SIGNAL in names


def _made_by_psutil(tree: ast.AST) -> frozenset[str]:
    """The names that are given such an object, and nothing else: other things have a `resume()`, too."""
    given = [
        (ast.unparse(target), _is_of_psutil(node.value))
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else (node.target,))
    ]
    return frozenset(name for name, is_made in given if is_made) - {name for name, is_made in given if not is_made}


def _is_of_psutil(made: ast.AST) -> bool:
    """`psutil.Process(pid)`"""
    return isinstance(made, ast.Call) and ast.unparse(made.func) == "psutil.Process"
