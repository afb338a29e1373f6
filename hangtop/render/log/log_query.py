"""What is looked for in the log. Pure."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.log import LineKind, LogLine

NOTABLE: tuple[LineKind, ...] = ("stage", "error")


class LogQuery(Struct, frozen=True):
    """What is shown or searched. A regex is only ever matched in the probe: a bad one may take for ever."""

    pattern: str | None = None
    regex: bool = False
    notable: bool = False
    file: int | None = None

    @property
    def filtered(self) -> bool:
        return self.notable or bool(self.pattern)

    def local(self, line: LogLine) -> bool:
        """Whether a new line belongs here, as far as that can be told without the probe."""
        if self.file is not None and line.file != self.file:
            return False
        if self.notable and line.kind not in NOTABLE:
            return False
        if not self.pattern:
            return True
        return not self.regex and self.pattern.casefold() in f"{line.prefix} {line.text}".casefold()
