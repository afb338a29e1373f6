"""A traceback, from its first line up to its exception: where in the code it was raised."""

from __future__ import annotations

import re
from itertools import islice, takewhile

from msgspec import Struct

from hangtop.common.clean_text import clean_text
from hangtop.common.late_pattern import late_pattern
from hangtop.logs.extract.message_origin import MessageOrigin
from hangtop.logs.extract.signature_count import SignatureCount
from hangtop.logs.lines.block_lines import Line, Lines, Span, Writer

FRAME = late_pattern(
    r'\s*File "(?P<file>[^"]*)", line (?P<line>\d+)(?:, in (?P<function>[^\r\n]{1,80}))?'
    r"|[│|] (?P<file2>\S{1,200}\.py):(?P<line2>\d+) in (?P<function2>[\w<>.]{1,80})"
)
"""A frame as Python writes it, and as rich draws it."""
_NOT_OWN = late_pattern(r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib(?:64)?[/\\]python\d|[/\\]bin[/\\]|^<")
"""Files of installed packages, of Python itself and of launchers. A reader of a traceback looks for the other frames."""


_RAISES = late_pattern(r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Iteration|Warning|Failure|Timeout|Died)\b")
_LOOK = 3
_KEPT_FRAMES = 40
_SOURCE_CHARS = 160
_PACKAGE = late_pattern(r"/(?:site|dist)-packages/([A-Za-z_][\w.]{0,60})(?:/|$)")
_SOURCE = late_pattern(r"\s{2,}\S|[│|]?\s*❱?\s*\d+\s[│|]")


def shows_source(line: Line, lines: Lines, span: Span) -> bool:
    """Whether this line is the source that Python shows below a frame: what it may raise is not what was raised."""
    if _SOURCE.match(line.text) is None:
        return False
    above = next((each for each in islice(lines.above(span), _LOOK) if each.writer == line.writer), None)
    return above is not None and FRAME.match(above.text) is not None


def broken_by(line: Line, lines: Lines, span: Span) -> bool:
    """Whether this line only broke into a traceback whose next frames follow: another process without a prefix wrote it."""
    if _RAISES.match(line.text):
        return False
    below = islice((each for each in lines.below(span) if each.writer == line.writer), _LOOK)
    return any(FRAME.match(each.text) for each in takewhile(lambda each: "Traceback (most" not in each.text, below))


class OpenTraceback(Struct):
    """A traceback whose exception has not come yet. `left`: lines to look through. `frame`: its innermost frame so far, called
    from `outer`; `source`: the line of code below it; `own`: the innermost one of the run's own code; `files`: of its frames,
    outermost first. `handled`: the run goes on in spite of this one. `wraps`: an exception was seen that only wraps the one to
    come, whose frames follow; `said`: the process that it names. `announced_by`: who wrote the line in which it begins, where its
    frames stand without a name. `passes_on`: it was raised from an exception that the same writer told before (`raise … from`),
    which is the cause; `explains`: from one that no page knows, or while that was handled."""

    tally: SignatureCount
    left: int
    handled: bool = False
    wraps: bool = False
    passes_on: bool = False
    explains: bool = False
    said: MessageOrigin | None = None
    announced_by: Writer | None = None
    frame: str = ""
    outer: str = ""
    own: str = ""
    source: str = ""
    files: tuple[str, ...] = ()

    def add_frame(self, frame: re.Match[str]) -> None:
        """Takes in its next frame."""
        file, line, function = frame.groups()[:3] if frame["file"] is not None else frame.groups()[3:]
        self.tally.frames = (self.tally.frames[0] or file[:1] != "<", True)
        self.files = (*self.files[-_KEPT_FRAMES:], file.replace("\\", "/"))
        self.outer, self.frame, self.source = (
            self.frame,
            clean_text(f"{file}:{line}" + (f" in {function}" if function else "")),
            "",
        )
        if not _NOT_OWN.search(file):
            self.own = self.frame

    def add_source(self, text: str) -> None:
        """Takes in the first line below its newest frame."""
        if self.frame and not self.source:
            self.source = clean_text(text.strip())[:_SOURCE_CHARS]

    def place(self) -> dict[str, str]:
        """Where it was raised, as groups of a finding: its innermost frame, `own` that of the run's own code, the one around the
        innermost, and which package called the innermost one's."""
        told = {"own": self.own, "frame": self.frame, "outer": self.outer, "caller": _caller(self.files)}
        return {name: value for name, value in told.items() if value}

    @property
    def checks(self) -> str:
        """What the innermost frame checks, where it is an `assert`."""
        return self.source if self.source.startswith("assert ") else ""


def package_of(file: str) -> str:
    """The package to which an installed file belongs; empty for the run's own code and for Python itself."""
    found = _PACKAGE.search(file)
    return "" if found is None or found[1].endswith(".py") else found[1]


def _caller(files: tuple[str, ...]) -> str:
    """The package from which that of the innermost frame was called."""
    packages = [package_of(file) for file in files]
    return next((each for each in reversed(packages) if each and each != packages[-1]), "") if packages and packages[-1] else ""
