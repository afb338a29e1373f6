"""Whether a line of Python can be left at all: by the loop around it, read from its source. Pure.

A stack cannot tell work from an endless loop. The source can, in two cases: a loop that does nothing until something changes, and
one that computes without a way out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from hangtop.records.stack import Loop

MAX_SOURCE = 400_000
"""Characters; to parse more takes too long for one look."""
EXITS = (ast.Break, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await, ast.Call)
"""What may leave a loop that always goes on; a call may raise, and may be work."""
CLOCKS = frozenset({"time", "monotonic", "perf_counter", "process_time", "time_ns", "monotonic_ns", "perf_counter_ns", "now"})
NOTHING = (ast.Pass, ast.Continue)


def loop_at(source: str, line: int) -> Loop | None:
    """The innermost `while` around this line: `waits` when its body does nothing, `endless` when nothing leaves it.

    `None`: no such loop, or one that may end. A condition that reads a clock ends by itself.
    """
    around = [loop for loop in _loops(source) if loop.lineno <= line <= (loop.end_lineno or loop.lineno)]
    innermost = max(around, key=lambda loop: loop.lineno, default=None)
    if not isinstance(innermost, ast.While):
        return None
    if all(isinstance(one, NOTHING) for one in innermost.body) and not any(
        _reads_clock(node) for node in ast.walk(innermost.test)
    ):
        return "waits"
    always = isinstance(innermost.test, ast.Constant) and bool(innermost.test.value)
    computes = always and not any(isinstance(node, EXITS) for one in innermost.body for node in ast.walk(one))
    return "endless" if computes else None


@lru_cache(maxsize=32)
def _loops(source: str) -> tuple[ast.While | ast.For, ...]:
    try:
        return tuple(_all_loops(ast.parse(source))) if len(source) <= MAX_SOURCE else ()
    except (SyntaxError, ValueError, RecursionError):  # not this Python's source: nothing is known then
        return ()


def _all_loops(tree: ast.Module) -> Iterator[ast.While | ast.For]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.While | ast.For))


def _reads_clock(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) in CLOCKS
