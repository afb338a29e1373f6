"""Lines in which a run itself says that it waits, and for how many: "Waiting for 4 workers... (elapsed: 60.0s)". Pure.

While the number stays, such a line is no progress, however often it comes; the run's own words say that somebody is missing.
"""

from __future__ import annotations

from hangtop.common.late_pattern import late_pattern

_WHO = (
    "workers|actors|ranks|processes|nodes|peers|replicas|tasks|futures|jobs|games|results|clients|members|participants|"
    "trajectories|episodes|rollouts|responses|requests to finish"
)
POLL = late_pattern(
    rf"\b[Ww]aiting (?:for|on) (?P<left>[1-9]\d*) (?:\w+ )?(?:{_WHO})\b.{{0,20}}\(elapsed:? (?P<elapsed>\d+(?:\.\d+)?) ?s"
)
"""With the time that has passed, which tells when the next one is due."""
_COUNT = late_pattern(
    rf"\b[Ww]aiting (?:for|on) (?P<left>[1-9]\d*) (?:\w+ )?(?:{_WHO})\b"
    rf"|\b(?P<left2>[1-9]\d*) (?:\w+ )?(?:{_WHO}) (?:are )?(?:still )?(?:pending|outstanding|missing|remaining|left)\b"
    r"|\b(?:[Mm]issing|[Ww]aiting (?:for|on)) ranks? ?[:=]? ?\[?\d"
)
NO_TOKEN = late_pattern(r"prompt throughput: 0\.0 tokens/s,.{0,12}generation throughput: 0\.0 tokens/s,.{0,80}? Running: [1-9].*")
"""vLLM's report (vllm/v1/metrics/loggers.py) of an engine that has requests in work and read and made no token of them: whatever
else it counts, as who waits, is no work of it."""


def reports_a_wait(text: str) -> bool:
    """Whether the line says that it waits for a number of others, or for ranks that it names, or that an engine makes nothing."""
    return _COUNT.search(text) is not None or NO_TOKEN.search(text) is not None
