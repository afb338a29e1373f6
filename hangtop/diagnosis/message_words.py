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
    return "" if finding.rank is None else f"Rank {finding.rank}: "


def sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def found(finding: Finding) -> Evidence:
    times = f" ×{finding.count}" if finding.count > 1 else ""
    return Evidence("log", f"{who(finding)}{short(finding.text)}{times} ({finding.id})")
