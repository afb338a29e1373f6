"""What the loop around a line of Python is, read from its source: can it be left at all, and by what? Pure.

A stack cannot tell work from an endless loop, nor steps from questions. The source often can: a loop that does nothing until
something changes, one that computes without a way out, one that ends by itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import lru_cache

from hangtop.records.stack import Loop
from hangtop.stacks.plain_beats import beats, is_without_end

MAX_SOURCE = 400_000
"""Characters; to parse more takes too long for one look."""
EXITS = (ast.Break, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)
"""What may leave a loop that always goes on. So may a call, which may raise, and may be work: all but the pure ones."""
PURE = frozenset("abs bool divmod float hash int len list max min pow range round set sorted str sum tuple zip".split())
PURE_MODULES = frozenset(("math", "random"))
Told = ast.While | ast.For | ast.Await | ast.Import | ast.ImportFrom
CLOCKS = frozenset({"time", "monotonic", "perf_counter", "process_time", "time_ns", "monotonic_ns", "perf_counter_ns", "now"})
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
NOTHING = (ast.Pass, ast.Continue)
OF_PROCESSES = frozenset("poll is_alive exitcode returncode waitpid pid_exists is_running".split())
"""What subprocess, multiprocessing, os and psutil call the question whether a process lives."""


GIVEN = frozenset({"get", "recv", "recv_bytes", "accept"})
"""What queue, multiprocessing and socket call the wait for what another gives. `get` of a dictionary has a key."""


LOOPS = (ast.For, ast.AsyncFor, ast.While)
ENTERED = (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Try)
"""Blocks that are entered whatever holds, but for a `for` over nothing."""
TAKE = frozenset({"pop", "popleft", "popitem"})
PUT = frozenset({"add", "append", "appendleft", "extend", "insert", "put", "push", "setdefault", "update"})
"""What takes out of a container of Python, and what puts into it."""


def loop_at(source: str, line: int) -> Loop | None:
    """The loop around this line; `None` when the source cannot be read."""
    loops = _loops(source)
    if loops is None:
        return None
    around, imported = _all_around(loops, line), _imported(source)
    innermost = max(around, key=lambda loop: loop.lineno, default=None)
    if innermost is None:
        return "none"
    if any(isinstance(loop, ast.While) and _is_endless(loop) for loop in around):
        return "waits" if _does_nothing(innermost) else "endless"
    if isinstance(innermost, ast.For) and beats(innermost, imported, source):
        return "beats"
    if not isinstance(innermost, ast.While) or any(_reads_clock(node) for node in ast.walk(innermost.test)) or _counts(innermost):
        return "ends"
    if _does_nothing(innermost):
        return "waits"
    if beats(innermost, imported, source):
        return "beats"
    return "takes" if _takes(innermost) else "rounds" if _goes_round(innermost) else "asks"


def loop_line(source: str, line: int) -> int | None:
    """Where the innermost loop around this line begins."""
    return max((loop.lineno for loop in _all_around(_loops(source) or (), line)), default=None)


def counts_out(source: str, line: int) -> bool:
    """Whether each loop around this line ends by itself, and the innermost calls nothing that might take for ever: it computes,
    and its rounds are counted."""
    around, imported = _all_around(_loops(source) or (), line), _imported(source)
    if not around or not all(_is_counted(loop, imported) for loop in around):
        return False
    innermost = max(around, key=lambda loop: loop.lineno)
    return all(_is_pure(node) for node in ast.walk(innermost) if isinstance(node, ast.Call))


def _is_counted(loop: ast.While | ast.For, imported: Mapping[str, str]) -> bool:
    return _counts(loop) if isinstance(loop, ast.While) else not is_without_end(loop, imported)


@lru_cache(maxsize=32)
def awaited_sleeps(source: str) -> tuple[Loop, ...]:
    """The kinds of the loops around `await …sleep(…)`, each once: a coroutine that sleeps there has no stack to tell its line."""
    lines = (node.lineno for node in _nodes(source) or () if isinstance(node, ast.Await) and _sleeps(node.value))
    return tuple(dict.fromkeys(loop for line in sorted(lines) if (loop := loop_at(source, line)) is not None))


def _sleeps(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) == "sleep"


def _all_around(loops: Iterable[ast.While | ast.For], line: int) -> list[ast.While | ast.For]:
    return [loop for loop in loops if loop.lineno <= line <= (loop.end_lineno or loop.lineno)]


def _does_nothing(loop: ast.While | ast.For) -> bool:
    return isinstance(loop, ast.While) and all(isinstance(statement, NOTHING) for statement in loop.body)


def _takes(loop: ast.While) -> bool:
    """Whether each of its rounds begins with what another gives: a worker, whose rounds are pieces of work. A monitor takes
    nothing."""
    return any(isinstance(node, ast.Call) and _is_given(node) for statement in loop.body for node in ast.walk(statement))


def _is_given(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in GIVEN or call.keywords:
        return False
    return not call.args if call.func.attr == "get" else True


def _goes_round(loop: ast.While) -> bool:
    """Whether it looks after processes, or its condition is always true and no line of it leaves it."""
    nodes = list(ast.walk(loop))
    if not OF_PROCESSES.isdisjoint(_names(nodes)):
        return True
    always = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    return always and not any(isinstance(node, EXITS) for node in nodes)


def _is_endless(loop: ast.While) -> bool:
    """Its condition is always true, and nothing in it leaves it; or the condition rests on what the loop never changes."""
    body = [node for statement in loop.body for node in ast.walk(statement)]
    if any(isinstance(node, EXITS) or (isinstance(node, ast.Call) and not _is_pure(node)) for node in body):
        return False
    if isinstance(loop.test, ast.Constant):
        return bool(loop.test.value)
    asked = list(ast.walk(loop.test))
    return not any(isinstance(node, ast.Call) for node in asked) and _names(asked).isdisjoint(_names(body, changed=True))


def _counts(loop: ast.While) -> bool:
    """Whether each of its rounds takes it nearer to a bound: `while steps < goal: …; steps += 1`, or where the bound is asked for
    within, `if self.steps >= goal: break`; or nearer to nothing, `while left: …; left -= 1`. So it is a `for`."""
    down = {ast.unparse(each) for each in _stepped(loop.body, (ast.Sub,))}
    if (isinstance(loop.test, ast.Name | ast.Attribute) and ast.unparse(loop.test) in down) or _empties(loop):
        return True
    stepped = {ast.unparse(each) for each in _stepped(loop.body, (ast.Add, ast.Sub))}
    leaves = (each for each in loop.body if isinstance(each, ast.If) and isinstance(each.body[-1], ast.Break | ast.Return))
    bounds = (*_parts(loop.test, ast.And), *(part for leaf in leaves for part in _parts(leaf.test, ast.Or)))
    return any(ast.unparse(side) in stepped for bound in bounds for side in (bound.left, *bound.comparators))


def _stepped(body: Iterable[ast.stmt], by: tuple[type[ast.operator], ...]) -> Iterable[ast.expr]:
    """What the statements of a round add to or take from: `left -= 1`, `left = left - 1`."""
    for statement in body:
        match statement:
            case ast.AugAssign(target=target, op=op) if isinstance(op, by):
                yield target
            case ast.Assign(targets=[target], value=ast.BinOp(left=left, op=op)) if isinstance(op, by) and _alike(left, target):
                yield target


def _alike(one: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(one) == ast.unparse(other)


def _empties(loop: ast.While) -> bool:
    """Whether it goes on while a container holds anything, takes out of that in each round, and puts nothing back."""
    held = ast.unparse(loop.test)
    nodes = (node for statement in loop.body for node in ast.walk(statement))
    return _surely_takes(loop.body, held) and not any(_calls(node, held, PUT) or _written(node) == held for node in nodes)


def _surely_takes(body: Iterable[ast.stmt], held: str) -> bool:
    """Whether these statements take out of it whatever holds: neither within an `if` nor behind a `continue`, which may wait for
    something."""
    for statement in body:
        blocks = (ast.stmt, ast.ExceptHandler, ast.match_case)
        own = (child for child in ast.iter_child_nodes(statement) if not isinstance(child, blocks))
        if any(_calls(node, held, TAKE) for child in own for node in ast.walk(child)):
            return True
        if isinstance(statement, ENTERED) and _surely_takes(statement.body, held):
            return True
        if not isinstance(statement, LOOPS) and any(isinstance(node, ast.Continue) for node in ast.walk(statement)):
            return False
    return False


def _written(node: ast.AST) -> str:
    """What `jobs += [job]` or `jobs[place] = job` puts something into; empty for all else."""
    match node:
        case ast.AugAssign(target=target):
            return ast.unparse(target)
        case ast.Subscript(value=value, ctx=ast.Store()):
            return ast.unparse(value)
    return ""


def _calls(node: ast.AST, held: str, names: frozenset[str]) -> bool:
    """Whether it calls one of these methods of what is held."""
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr in names and ast.unparse(called.value) == held


def _parts(test: ast.expr, joined_by: type[ast.boolop]) -> list[ast.Compare]:
    """The comparisons by order of which one alone decides it."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, joined_by) else [test]
    return [part for part in parts if isinstance(part, ast.Compare) and isinstance(part.ops[0], ORDER)]


def _is_pure(call: ast.Call) -> bool:
    called = call.func
    if isinstance(called, ast.Name):
        return called.id in PURE
    in_module = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id in PURE_MODULES
    return in_module or _reads_clock(call)


def _names(nodes: Iterable[ast.AST], *, changed: bool = False) -> set[str]:
    """Names and attribute names; with `changed` only names that are assigned, or whose elements may be."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute) and (not changed or not isinstance(node.ctx, ast.Load)):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
        if changed and isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            found |= _names(ast.walk(node.value))
    return found


def _loops(source: str) -> list[ast.While | ast.For] | None:
    nodes = _nodes(source)
    return None if nodes is None else [node for node in nodes if isinstance(node, ast.While | ast.For)]


def _imported(source: str) -> dict[str, str]:
    """By name, the module that it is, or the function of a module: `clock` → `time.sleep`."""
    found: dict[str, str] = {}
    for node in _nodes(source) or ():
        if isinstance(node, ast.Import):
            found |= {name.asname or name.name: name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    return found


@lru_cache(maxsize=32)
def _nodes(source: str) -> tuple[Told, ...] | None:
    try:
        nodes = ast.walk(ast.parse(source)) if len(source) <= MAX_SOURCE else None
        return None if nodes is None else tuple(node for node in nodes if isinstance(node, Told))
    except (SyntaxError, ValueError, RecursionError):  # not this Python's source: nothing is known then
        return None


def _reads_clock(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) in CLOCKS
