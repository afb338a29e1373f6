"""What a log that fell silent said last: a line that tells of an error, in words that no signature knows.

Only evidence: the words alone prove nothing, so no verdict rests on them.
"""

from __future__ import annotations

import re

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import LogLine

LAST_LINES = 40
"""Lines at the end of a log that are looked at: as many as the dump of a crash has, and few enough to be its last."""

_TELLS = re.compile(
    r"(?<![\w-])(?:[Ee]rrors?|ERROR|[Ff]atal|FATAL|[Ff]ail(?:ed|ure)|FAILED|[Pp]anic(?:ked)?|[Aa]bort(?:ed|ing)|ABORTED"
    r"|[Kk]illed|[Cc]rash(?:ed)?|[Dd]enied|[Rr]efused|[Uu]nreachable|fault|GPU Hang|[Tt]imed out|died|core dumped"
    r"|could not|[Cc]annot|[Uu]nable to|[\w.]+(?:Error|Exception))(?![\w=-])"
)
_COUNT = re.compile(r"(?i)\b(?:0|no) (?:errors?|failures?)\b|\berrors?:? ?0\b")


def last_error_line(snapshot: Snapshot) -> LogLine | None:
    """The first line that tells of an error after the last step or stage, among the last ones. `None` where there is none, or
    where a known message tells more."""
    if any(finding.severity != "hint" for finding in snapshot.findings):
        return None
    first = None
    for line in reversed(snapshot.state.tail[-LAST_LINES:]):
        if line.kind in ("progress", "stage"):
            break
        if line.kind == "error" or _tells(line.text):
            first = line
    return first


def _tells(text: str) -> bool:
    if _TELLS.search(text) is None or _COUNT.search(text) is not None:
        return False
    from hangtop.logs.extract.quoted_text import is_handled  # only now: the log's grammar would be a tenth of the screen's start

    return not is_handled(text)
