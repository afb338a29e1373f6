"""A known message in words, as verdicts and their evidence tell it."""

from __future__ import annotations

from hangtop.records.log import Finding
from hangtop.records.verdict import Evidence


def short(text: str, most: int = 150) -> str:
    """Its first sentences, as many as fit; a longer first one is cut."""
    if len(text) <= most:
        return text
    end = max(text.rfind(". ", 0, most), text.rfind("; ", 0, most))
    return text[: end + 1] if end > most // 4 else text[: most - 1] + "…"


def who(finding: Finding) -> str:
    """`Rank 3: ` before what it said; nothing where no rank is known."""
    return "" if finding.rank is None else f"Rank {finding.rank}: "


def sentence(text: str) -> str:
    """With a full stop, where it has no end of its own."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def found(finding: Finding) -> Evidence:
    """A message as evidence: whose it is, its text, how often it came, and its id."""
    times = f" ×{finding.count}" if finding.count > 1 else ""
    return Evidence("log", f"{who(finding)}{short(finding.text)}{times} ({finding.id})")
