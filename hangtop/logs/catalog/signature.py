"""A signature: a known message with its meaning, cause and fixes, as data. This file is its schema."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct
from msgspec.structs import replace

from hangtop.logs.catalog.fix import Fix
from hangtop.records.log import Role, Severity


class Signature(Struct, frozen=True, forbid_unknown_fields=True):
    """`literal`: every match of `regex` holds at least one of these, so the scan finds it. `regex` is searched in one message
    after its prefixes were taken off; groups go into the finding. `negative`: texts that look alike and must not match.
    `obituary`: it only tells that a process ended; what that process wrote before it died is the cause.
    `general`: it names only the kind of fault; a message of the same rank right beside it that names the fault is the cause.
    `family`: it tells a family of faults by common words; where another message stands in the same line, it is not read.
    `wrapper`: it only hands on what failed further in; the fault before it, or the reason right below, is the cause.
    `follows`: ids of what makes this message if it came first, at any rank (`nccl.` for all of these, `*` for any cause).
    `patient`: it tells that something is waited for, as is normal for as long as the stage may be silent.
    `witness`: it tells who waits, or for whom, and not why: whatever tells why comes first.
    `kind`: it describes a kind of exception by common words. It is tried only on the exception of a traceback that nothing
    handled and no other signature knows, and needs no literal.
    `raised_in`: ends of files of which a frame must stand in the traceback that this exception ends; `not_raised_in`: of which
    none may stand there, since its words mean another fault in that code.
    `every_s`: each process writes it again after so many seconds, as long as it waits.
    `folklore`: what the usual advice gets wrong. `category` is the file's name. `*_zh`: the same in Chinese."""

    id: str
    severity: Severity
    role: Role
    regex: str
    cause: str
    fix: tuple[Fix, ...]
    example: str
    cite: tuple[str, ...]
    literal: tuple[str, ...] = ()
    category: str = ""
    stage: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    hang: str = ""
    negative: tuple[str, ...] = ()
    obituary: bool = False
    general: bool = False
    family: bool = False
    wrapper: bool = False
    follows: tuple[str, ...] = ()
    patient: bool = False
    witness: bool = False
    kind: bool = False
    raised_in: tuple[str, ...] = ()
    not_raised_in: tuple[str, ...] = ()
    folklore: str = ""
    evidence: str = ""
    every_s: float = 0.0
    cause_zh: str = ""
    folklore_zh: str = ""

    def was_raised_in(self, files: Iterable[str]) -> bool:
        """Whether one of these files of frames is where it has to be raised, and none where it means something else; it may be
        raised anywhere if it does not say."""
        frames = [f"/{file}" for file in files] if self.raised_in or self.not_raised_in else []
        if any(f"/{part}" in frame for frame in frames for part in self.not_raised_in):
            return False
        return not self.raised_in or any(f"/{part}" in frame for frame in frames for part in self.raised_in)

    def fixes(self, frameworks: Collection[str] | None) -> tuple[Fix, ...]:
        """What to do in a run of these frameworks, in order; with unknown ones (`None`) all that there is."""
        return tuple(fix for fix in self.fix if fix.fits(frameworks))

    @property
    def speaks_zh(self) -> bool:
        """Whether all texts are translated: a page half in another language is no help."""
        return bool(self.cause_zh and (self.folklore_zh or not self.folklore)) and all(fix.text_zh for fix in self.fix)

    def told_in(self, lang: str) -> Signature:
        """The signature in this language, `en` or `zh`; it stays English if it is not translated in full."""
        if lang != "zh" or not self.speaks_zh:
            return self
        fixes = tuple(replace(fix, text=fix.text_zh) for fix in self.fix)
        return replace(self, cause=self.cause_zh, fix=fixes, folklore=self.folklore_zh)


class Setting(Struct, frozen=True, forbid_unknown_fields=True):
    """A setting that people reach for, and what reads it. `honoured_by` empty: nothing does, but what `read_by` says in words.
    `also`: other spellings.

    `default` and `unit` in words. `keep` false: a test only, which should not stay set."""

    name: str
    honoured_by: tuple[str, ...]
    truth: str
    cite: tuple[str, ...]
    also: tuple[str, ...] = ()
    unit: str = ""
    default: str = ""
    instead: str = ""
    keep: bool = True
    read_by: str = ""
    read_by_zh: str = ""
    truth_zh: str = ""
    unit_zh: str = ""
    default_zh: str = ""
    instead_zh: str = ""

    def told_in(self, lang: str) -> Setting:
        """The setting in this language, `en` or `zh`. Names and numbers are the same in both."""
        if lang != "zh" or not self.truth_zh:
            return self
        return replace(
            self,
            truth=self.truth_zh,
            read_by=self.read_by_zh or self.read_by,
            unit=self.unit_zh or self.unit,
            default=self.default_zh or self.default,
            instead=self.instead_zh or self.instead,
        )
