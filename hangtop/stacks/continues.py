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
    of_psutil = "psutil" in source
    senders = {node.name for node in functions if any(_sends(call, of_psutil) for call in _calls(node))}
    here: ast.AST = min((node for node in functions if _is_around(node, line)), key=_length, default=tree)
    around = [node for node in ast.walk(here) if _is_around(node, line)]
    first = min((node.lineno for node in around if isinstance(node, LOOPS)), default=line + 1)
    ends = (item.context_expr for node in around if isinstance(node, WITHS) for item in node.items)
    ahead = [call for call in _calls(here) if call.lineno >= first or (call.end_lineno or 0) > line]
    return any(_sends(call, of_psutil) or _called(call) in senders for call in ahead) or any(
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


def _sends(call: ast.Call, of_psutil: bool) -> bool:
    if of_psutil and isinstance(call.func, ast.Attribute) and call.func.attr == "resume" and not call.args:
        return True
    names = (
        each.attr if isinstance(each, ast.Attribute) else each.id if isinstance(each, ast.Name) else "" for each in call.args
    )
    return _called(call) in SENDERS and SIGNAL in names
