"""A place: what a member of a run may stand in, why it stands there, and what to do, as data. This file is its schema."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping

from msgspec import Struct

from hangtop.logs.catalog.fix import Fix, is_for
from hangtop.records.stack import Frame
from hangtop.stacks.frames import DoingKind, Phase

SLOT = re.compile(r"\{([a-z_]+)\}")
"""`{pid}` in a text stands for what was seen. `${NAME}` and `{print $2}` of a shell do not look like one."""


class Cause(Struct, frozen=True, forbid_unknown_fields=True):
    """Why a member stands there. `needs`: it is a cause only where these were seen, `without`: only where these were not; a slot
    in its text must have been seen, too. `frameworks`, `unless`, `stages`: only, or not, in these. `tell`: a command that tells
    this cause from the others, and `shows`: what it shows then. `do`: the cheapest first."""

    text: str
    source: str
    do: tuple[Fix, ...]
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    tell: str = ""
    shows: str = ""

    def fits(self, frameworks: Collection[str] | None) -> bool:
        """Whether it may be the cause in a run of these; `None`: unknown."""
        return is_for(self.frameworks, self.unless, frameworks)


class Place(Struct, frozen=True, forbid_unknown_fields=True):
    """`id`: a word, as in `hangtop explain lock`. `text`: what it means to stand there. `cause`: the likeliest first. `worse`:
    what makes it worse. `folklore`: what the usual advice gets wrong.

    Where a run stands is told by any of these: `rules`, the rule of the verdict; `at`, what a member waits at in the kernel
    (`at_kernel`); `files`, ends or parts of the files of a member's frames, with `functions` these alone; `does`, what its stack
    says (`DoingKind`), `phases`, what its function is about; `stages`, the stage of the log. `sure`: its rules leave no doubt
    where the run stands, so that neither members nor stage are asked. `last`: told only where no other place is known, behind
    what the stage says; `ahead`: told before all others, which it does not hide. `said`: ids of messages; the run stands right
    behind one that was the last thing its log said. `explains`: ids of messages whose own page is general; this place tells from
    their numbers which cause is likely.
    """

    id: str
    title: str
    text: str
    cause: tuple[Cause, ...]
    worse: tuple[str, ...] = ()
    folklore: str = ""
    rules: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    does: tuple[DoingKind, ...] = ()
    phases: tuple[Phase, ...] = ()
    stages: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    sure: bool = False
    last: bool = False
    ahead: bool = False

    def holds(self, frame: Frame) -> bool:
        """Whether this frame says that its thread stands here."""
        if not self.files or (self.functions and frame.name not in self.functions):
            return False
        path = "/" + frame.file
        return any(f"/{end}" in path if end.endswith("/") else path.endswith(f"/{end}") for end in self.files)

    def causes(self, seen: Mapping[str, str], frameworks: Collection[str] | None, stage: str | None) -> tuple[Cause, ...]:
        """Those that fit what was seen; with unknown frameworks (`None`) those of all."""
        return tuple(
            cause
            for cause in self.cause
            if seen.keys() >= {*cause.needs, *slots_of(cause.text)}
            and seen.keys().isdisjoint(cause.without)
            and cause.fits(frameworks)
            and (not cause.stages or stage in cause.stages)
        )


def remedies_of(cause: Cause, seen: Mapping[str, str], frameworks: Collection[str] | None) -> tuple[Fix, ...]:
    """What to do about a cause in a run of these frameworks, as far as all its slots are known. What is for this framework alone
    comes before the general words for the same."""
    return tuple(do for do in cause.do if slots_of(do.text) <= seen.keys() and can_fill(do.set, seen) and do.fits(frameworks))


def slots_of(text: str) -> frozenset[str]:
    """The names of its slots."""
    return frozenset(SLOT.findall(text))


def filled(text: str, seen: Mapping[str, str]) -> str:
    """A sentence with what was seen."""
    return SLOT.sub(lambda slot: seen.get(slot[1], slot[0]), text)


def command(text: str, seen: Mapping[str, str]) -> str:
    """A command with what was seen, each as one word of a shell. Lists of numbers stay several words."""
    return SLOT.sub(lambda slot: _words(seen[slot[1]]) if slot[1] in seen else slot[0], text)


def can_fill(text: str, seen: Mapping[str, str]) -> bool:
    """Whether a command can be made of this: all slots were seen, and what stands between quotes needs none of its own."""
    for slot in SLOT.finditer(text):
        before = text[: slot.start()]
        quoted = before.count("'") % 2 or before.count('"') % 2
        if slot[1] not in seen or (quoted and _words(seen[slot[1]]) != seen[slot[1]]):
            return False
    return True


def _words(value: str) -> str:
    return value if re.fullmatch(r"[\d ,-]+", value) else shlex.quote(value)
