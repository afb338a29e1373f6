"""A filter or search in the log. Pure."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.log import LineKind, LogLine

NOTABLE: tuple[LineKind, ...] = ("stage", "error")


class LogQuery(Struct, frozen=True):
    """`regex` patterns are matched in the probe only: a bad one may never end. `notable`: only errors and stage lines. `file`:
    its number."""

    pattern: str | None = None
    regex: bool = False
    notable: bool = False
    file: int | None = None

    @property
    def filtered(self) -> bool:
        return self.notable or bool(self.pattern)

    def local(self, line: LogLine) -> bool:
        """Whether this line matches, as far as the screen can tell without the probe."""
        if self.file is not None and line.file != self.file:
            return False
        if self.notable and line.kind not in NOTABLE:
            return False
        if line.kind == "border":
            return not self.pattern
        if not self.pattern:
            return True
        return not self.regex and self.pattern.casefold() in f"{line.prefix} {line.text}".casefold()
