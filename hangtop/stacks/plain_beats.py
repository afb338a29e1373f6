"""A loop that only prints, for ever: that of a sidecar, a heartbeat, a keeper of a container. Pure, from its source.

Its rounds have no branch, so that all are alike, nothing leaves it, and it calls nothing that could be work: while it is seen to
sleep there, it did nothing else and never will."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from hangtop.stacks.closed_tests import stays_true

PLAIN = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Pass)
BRANCHES = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
PRINTS = frozenset("print str repr round int float len min max sum format dict list tuple abs".split())
MODULES = frozenset("time json datetime math random logging platform resource".split())
ASKS = frozenset(
    "os.getloadavg os.getpid os.getppid os.times os.cpu_count os.uname socket.gethostname sys.stdout sys.stderr".split()
)
"""What asks the system, or writes to an output that is open."""
WITHOUT_END = frozenset({"itertools.count", "itertools.cycle", "itertools.repeat"})
"""itertools: "Infinite iterators"; `cycle` of nothing ends at once, and `repeat` after `times`."""
METHODS = frozenset("info debug warning error write flush format join isoformat strftime total_seconds encode".split())
"""Of loggers, outputs, texts and times."""


def beats(loop: ast.While | ast.For, imported: Mapping[str, str], source: str) -> bool:
    """Whether it only prints for ever. `imported`: by name, what it is of which module. `source`: all in which it stands."""
    always = bool(loop.test.value) if isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) else False
    always = always or (isinstance(loop, ast.While) and stays_true(source, loop))
    if not always and not (isinstance(loop, ast.For) and is_without_end(loop, imported)):
        return False
    nodes = [node for statement in loop.body for node in ast.walk(statement)]
    plain = all(isinstance(statement, PLAIN) for statement in loop.body) and not any(isinstance(node, BRANCHES) for node in nodes)
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return plain and bool(calls) and all(_is_harmless(call.func, imported) for call in calls)


def is_without_end(loop: ast.For, imported: Mapping[str, str]) -> bool:
    """Whether what it goes through never ends."""
    if not isinstance(loop.iter, ast.Call):
        return False
    first, dot, rest = ast.unparse(loop.iter.func).partition(".")
    times = [*loop.iter.args[1:], *(word.value for word in loop.iter.keywords if word.arg == "times")]
    whole = f"{imported.get(first, first)}{dot}{rest}"
    return whole in WITHOUT_END and not (whole == "itertools.repeat" and times)


def _is_harmless(called: ast.expr, imported: Mapping[str, str]) -> bool:
    if isinstance(called, ast.Name):
        known = imported.get(called.id)
        return called.id in PRINTS if known is None else known.partition(".")[0] in MODULES or known in ASKS
    if not isinstance(called, ast.Attribute):
        return False
    words = ast.unparse(called).split(".") if _is_dotted(called) else []
    whole = ".".join((imported[words[0]], *words[1:])) if words and words[0] in imported else ""
    if whole.partition(".")[0] in MODULES or any(whole == each or whole.startswith(f"{each}.") for each in ASKS):
        return True
    return called.attr in METHODS


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
