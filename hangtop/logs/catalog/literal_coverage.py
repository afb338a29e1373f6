"""The proof that every match of a regex holds one of its literals, so that a scan for literals cannot miss a message.

Python's own parser takes the regex apart. A sequence is proven when its fixed characters, read together, hold a literal;
an alternation when each of its branches is. What the parser does not fix (`.*`, optional parts, classes) proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

Path = tuple[str, ...]
"""One way through a regex: its fixed texts, with something variable between two of them."""

_PROVEN: Path = ("\0",)
_GAP: list[Path] = [("", "")]
_NOTHING: list[Path] = [("",)]
_MOST_PATHS = 512


def unproven(pattern: str, literals: Sequence[str]) -> str | None:
    """A way through `pattern` that holds none of `literals` (its fixed texts, joined by `…`); `None` if there is none."""
    parser: Any = re._parser  # type: ignore[attr-defined]
    tree = parser.parse(pattern)
    walk = _Walk(tuple(literals), bool(tree.state.flags & re.IGNORECASE))
    for path in walk.paths(tree):
        if path != _PROVEN:
            return "…".join(piece for piece in path if piece) or "(no fixed text)"
    return None


class _Walk:
    def __init__(self, literals: tuple[str, ...], ignore_case: bool) -> None:
        self._literals = literals
        self._ignore_case = ignore_case

    def paths(self, tree: Iterable[Any]) -> list[Path]:
        paths = _NOTHING
        for op, arg in tree:
            steps = self._step(str(op), arg)
            paths = list(dict.fromkeys(self._joined(path, step) for path, step in product(paths, steps)))
            if len(paths) > _MOST_PATHS:
                paths = [_PROVEN, ("",)] if _PROVEN in paths else [("",)]
        return paths

    def _joined(self, path: Path, step: Path) -> Path:
        if _PROVEN in (path, step):
            return _PROVEN
        joined = (*path[:-1], path[-1] + step[0], *step[1:])
        return _PROVEN if any(literal in piece for literal in self._literals for piece in joined) else joined

    def _step(self, op: str, arg: Any) -> list[Path]:
        match op:
            case "LITERAL":
                letter = chr(arg)
                cases = dict.fromkeys((letter.lower(), letter.upper()) if self._ignore_case else letter)
                return [(case,) for case in cases]
            case "IN":
                return _characters(arg)
            case "SUBPATTERN":
                _, on, off, body = arg
                ignore_case = (self._ignore_case or bool(on & re.IGNORECASE)) and not off & re.IGNORECASE
                return _Walk(self._literals, ignore_case).paths(body)
            case "BRANCH":
                return list(dict.fromkeys(path for branch in arg[1] for path in self.paths(branch)))
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self._repeat(arg)
            case "AT" | "ASSERT" | "ASSERT_NOT":
                return _NOTHING
        return _GAP

    def _repeat(self, arg: Any) -> list[Path]:
        least, most, body = arg
        once = self.paths(body)
        if (least, most) == (0, 1):
            return list(dict.fromkeys((*_NOTHING, *once)))
        if least == 0:
            return _GAP
        text = body[0][0] if len(body) == 1 else None
        if least == most and str(text) == "LITERAL":
            return [(chr(body[0][1]) * least,)]
        return once if most == 1 else [path if path == _PROVEN else (*path, "") for path in once]


def _characters(members: Any) -> list[Path]:
    """A small class of characters is as good as an alternation of them (`[Ww]atchdog`)."""
    if all(str(op) == "LITERAL" for op, _ in members) and len(members) <= 4:
        return [(chr(code),) for _, code in members]
    return _GAP
