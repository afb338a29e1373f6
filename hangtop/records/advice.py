"""What to do about a verdict that is not green, and why: the contract of `advice` in `hangtop check --json`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

AdviceWhere = Literal["command line", "environment", "config", "code", "shell"]
"""Where a remedy goes: an option of the run's command, a variable of its environment, a key of its configuration, its source, or
a command of its own. What a person does to machines is "shell" too."""


class Advice(Struct, frozen=True):
    """One cause and one remedy. Those of one cause stand together, the likeliest cause first, of each the cheapest remedy first.

    `why`: the evidence that it is drawn from; `source`: the page, thread or source line that says so. `tell_apart`: commands that
    tell this cause from the others. `place`: its page (`hangtop explain PLACE`), of a message its id. `paste`: the part of
    `remedy` to run or set, if there is such a text. `preset`: of a restart, the one that does it.
    """

    cause: str
    remedy: str
    where: AdviceWhere
    why: str
    source: str
    tell_apart: tuple[str, ...] = ()
    place: str = ""
    paste: str = ""
    preset: str = ""

    @property
    def words(self) -> str:
        """The remedy without the part to run or set, which stands beside it."""
        return self.remedy.removesuffix(f": {self.paste}") if self.paste else self.remedy


def causes_of(advice: Iterable[Advice]) -> dict[tuple[str, str], list[Advice]]:
    """The remedies by place and cause, in their order."""
    found: dict[tuple[str, str], list[Advice]] = {}
    for each in advice:
        found.setdefault((each.place, each.cause), []).append(each)
    return found


class TellProgram(Struct, frozen=True, omit_defaults=True):
    """One program that only reads. `files`: those whose content it reads, plain files all. `quiet`: its errors are not shown.
    `within_s`: it is given up after that time."""

    argv: tuple[str, ...]
    files: tuple[str, ...] = ()
    quiet: bool = False
    within_s: float | None = None


class TellAsk(Struct, frozen=True):
    """A command that tells causes apart: pipelines, one after another, each of programs that read from the one before.
    `columns`: so wide its output may be."""

    pipelines: tuple[tuple[TellProgram, ...], ...]
    columns: int = 120


class Told(Struct, frozen=True, omit_defaults=True):
    """What such a command printed: its first lines, clean to be shown, and how many more there were. `problem`: why it was not
    run, or what broke it off. `code`: the exit code of its last program."""

    lines: tuple[str, ...] = ()
    more: int = 0
    took_s: float = 0.0
    code: int | None = None
    problem: str = ""
