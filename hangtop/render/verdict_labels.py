"""Word, sign and colour of each verdict, for badge, band, log, title and help."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hangtop.records.verdict import Verdict, VerdictWord
from hangtop.translations import say


class VerdictLabel(Struct, frozen=True):
    """`fill`: the badge is reversed. `meaning`: on the help page."""

    sign: str
    word: str
    role: str
    fill: bool
    meaning: str


LOOKS: dict[VerdictWord, VerdictLabel] = {
    "running": VerdictLabel("●", "RUNNING", "ok", False, "output, or proof of life, within the limit"),
    "slow": VerdictLabel("▲", "SLOW, ALIVE", "warn", False, "over the limit, yet something works"),
    "waiting": VerdictLabel("▲", "WAITING", "warn", False, "for resources that are not there"),
    "stalled": VerdictLabel("■", "STALLED", "bad", True, "silent over the limit, cause not known"),
    "hung": VerdictLabel("■", "HUNG", "bad", True, "silent, and two signals say why"),
    "crashed": VerdictLabel("✗", "CRASHED", "bad", True, "a rank died or the log ends in an error"),
    "finished": VerdictLabel("✓", "FINISHED", "ok", False, "the last step is done"),
    "blind": VerdictLabel("?", "BLIND", "warn", False, "the log cannot be read: no verdict"),
}
QUIET = VerdictLabel("▲", "QUIET", "warn", False, "within what its stage may take, or as it announced")
OVERDUE = VerdictLabel("■", "QUIET", "bad", True, "over the stall limit; only its stage explains that")
NO_WRITER = VerdictLabel("?", "NO WRITER", "warn", False, "nobody here writes the log: it ended, or runs elsewhere")
DRIVER_HUNG = VerdictLabel("■", "DRIVER HUNG", "bad", True, "the GPU driver does not answer")

KINDS = {
    "nccl": "NCCL collective",
    "cpu_collective": "CPU collective",
    "desync": "out of step",
    "dataloader": "data loader",
    "rendezvous": "rendezvous",
    "io_blocked": "blocked I/O",
    "driver_hung": "GPU driver",
    "dead_process": "dead process",
    "stopped": "stopped process",
    "resources": "resources",
    "python_loop": "Python loop",
    "weight_sync": "weight sync",
    "generation": "generation",
    "unknown": "unknown",
}


def verdict_label(verdict: Verdict) -> VerdictLabel:
    """What to show of a verdict, in the language of its reader."""
    return told(_label(verdict))


def told(label: VerdictLabel) -> VerdictLabel:
    """The label in the language of its reader."""
    return replace(label, word=say(label.word), meaning=say(label.meaning))


def _label(verdict: Verdict) -> VerdictLabel:
    if verdict.kind == "driver_hung" and verdict.word == "hung":
        return DRIVER_HUNG
    if verdict.word == "running" and verdict.confidence == "possible":
        return NO_WRITER
    if verdict.quiet:
        return OVERDUE if verdict.quiet == "overdue" else QUIET
    return LOOKS[verdict.word]
