"""Messages of the log in words, as verdicts tell them: known ones, and the last line that tells of an error."""

from __future__ import annotations

from hangtop.common.late_pattern import late_pattern
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import Finding, LogLine
from hangtop.records.verdict import Evidence

LAST_LINES = 40
"""Lines at the end of a log that are looked at: as many as the dump of a crash has, and few enough to be its last."""

_TELLS = late_pattern(
    r"(?<![\w-])(?:[Ee]rrors?|ERROR|[Ff]atal|FATAL|[Ff]ail(?:ed|ure)|FAILED|[Pp]anic(?:ked)?|[Aa]bort(?:ed|ing)|ABORTED"
    r"|[Kk]illed|[Cc]rash(?:ed)?|[Dd]enied|[Rr]efused|[Uu]nreachable|fault|GPU Hang|[Tt]imed out|died|core dumped"
    r"|could not|[Cc]annot|[Uu]nable to|[\w.]+(?:Error|Exception))(?![\w=-])"
)
_COUNT = late_pattern(r"(?i)\b(?:0|no) (?:errors?|failures?)\b|\berrors?:? ?0\b")


def short(text: str, most: int = 150) -> str:
    """Its first sentences, as many as fit; a longer first one is cut."""
    if len(text) <= most:
        return text
    end = max(text.rfind(". ", 0, most), text.rfind("; ", 0, most))
    return text[: end + 1] if end > most // 4 else text[: most - 1] + "…"


def rank_before(finding: Finding) -> str:
    """`Rank 3: ` before what it said; nothing where no rank is known."""
    return "" if finding.rank is None else f"Rank {finding.rank}: "


def sentence(text: str) -> str:
    """The first sentences, with a full stop where they have no end of their own."""
    text = short(text)
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def found(finding: Finding) -> Evidence:
    """A known message as evidence: its rank, its text, how often it came, and its id."""
    times = f" ×{finding.count}" if finding.count > 1 else ""
    return Evidence("log", f"{rank_before(finding)}{short(finding.text)}{times} ({finding.id})")


def last_error_line(snapshot: Snapshot) -> LogLine | None:
    """The first line that tells of an error after the last step or stage, among the last ones, in words that no signature knows.
    `None` where there is none, or where a known message tells more.

    Only evidence: the words alone prove nothing, so no verdict rests on them.
    """
    if any(finding.severity != "hint" for finding in snapshot.findings):
        return None
    first = None
    for line in reversed(snapshot.state.tail[-LAST_LINES:]):
        if line.kind in ("progress", "stage"):
            break
        if line.kind == "error" or _tells(line.text):
            first = line
    return first


def said_last(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """That line as evidence, if there is one."""
    line = last_error_line(snapshot)
    return () if line is None else (Evidence("log", f"it said: {short(line.text)}"),)


def _tells(text: str) -> bool:
    if _TELLS.search(text) is None or _COUNT.search(text) is not None:
        return False
    from hangtop.logs.extract.quoted_text import is_handled  # only now: the log's grammar would be a tenth of the screen's start

    return not is_handled(text)
