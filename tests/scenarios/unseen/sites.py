"""The places of a program where something can be put: before each statement that begins a line of its own within a function."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass

MESSAGES = frozenset(
    "all_reduce all_gather broadcast barrier reduce send sendall send_bytes put put_nowait write set release notify notify_all "
    "wait drain sendto wait_for_everyone sync_global_devices".split()
)
"""Calls whose being left out may leave a peer waiting."""
COLLECTIVES = frozenset("all_reduce all_gather broadcast barrier reduce wait_for_everyone sync_global_devices".split())
HEADER = "import runtools\n"


@dataclass(frozen=True)
class Site:
    """One statement: its place in the source, and what matters for what may stand before it."""

    number: int
    first_line: int
    last_line: int
    indent: int
    in_coroutine: bool
    call: str | None
    """The last name of the call that this statement is, if it is nothing but a call."""


def sites(source: str) -> tuple[Site, ...]:
    """All the places of this program, in the order of its lines."""
    lines = source.splitlines()
    found: list[tuple[ast.stmt, bool]] = []
    _collect(ast.parse(source), inside=False, coroutine=False, found=found)
    found.sort(key=lambda pair: pair[0].lineno)
    chosen: list[Site] = []
    for statement, coroutine in found:
        if not _begins_line(statement, lines):
            continue
        last = statement.end_lineno or statement.lineno
        call = _call(statement)
        chosen.append(Site(len(chosen), statement.lineno, last, statement.col_offset, coroutine, call))
    return tuple(chosen)


def with_marks(source: str) -> str:
    """The program with a note of each statement that it comes by."""
    marks = {site.first_line: f"{' ' * site.indent}runtools.seen({site.number})" for site in sites(source)}
    lines: list[str] = []
    for number, line in enumerate(source.splitlines(), start=1):
        if number in marks:
            lines.append(marks[number])
        lines.append(line)
    return _with_import("\n".join(lines) + "\n")


def with_statement(source: str, site: Site, text: str) -> str:
    """The program with `text` before the statement at `site`, when its moment has come."""
    lines = source.splitlines()
    block = f"if runtools.due():\n{textwrap.indent(text, '    ')}"
    lines[site.first_line - 1 : site.first_line - 1] = textwrap.indent(block, " " * site.indent).splitlines()
    return _with_import("\n".join(lines) + "\n")


def without_statement(source: str, site: Site) -> str:
    """The program, which leaves the statement at `site` out once, when its moment has come."""
    lines = source.splitlines()
    statement = lines[site.first_line - 1 : site.last_line]
    guarded = [f"{' ' * site.indent}if not runtools.due():", *(f"    {line}" for line in statement)]
    lines[site.first_line - 1 : site.last_line] = guarded
    return _with_import("\n".join(lines) + "\n")


def _collect(node: ast.AST, *, inside: bool, coroutine: bool, found: list[tuple[ast.stmt, bool]]) -> None:
    for child in ast.iter_child_nodes(node):
        if inside and isinstance(child, ast.stmt):
            found.append((child, coroutine))
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            is_coroutine = isinstance(child, ast.AsyncFunctionDef)
            _collect(child, inside=True, coroutine=is_coroutine, found=found)
        else:
            _collect(child, inside=inside, coroutine=coroutine, found=found)


def _begins_line(statement: ast.stmt, lines: list[str]) -> bool:
    """Whether something can be put on a line before it: not so of `elif`, a docstring, or what follows a colon."""
    line = lines[statement.lineno - 1]
    if line[: statement.col_offset].strip() or line.lstrip().startswith(("elif ", "@")):
        return False
    if isinstance(statement, ast.Global | ast.Nonlocal | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))


def _call(statement: ast.stmt) -> str | None:
    if not isinstance(statement, ast.Expr):
        return None
    value = statement.value.value if isinstance(statement.value, ast.Await) else statement.value
    if not isinstance(value, ast.Call):
        return None
    return value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", None)


def _with_import(source: str) -> str:
    """Below `from __future__`, which every program here begins with, after its docstring."""
    before, mark, rest = source.partition("from __future__ import annotations\n")
    if not mark:
        raise ValueError("a program without `from __future__ import annotations`")
    return before + mark + HEADER + rest
