"""The matches of one signature, and the finding that they make."""

from __future__ import annotations

from msgspec import Struct, field

from hangtop.logs.catalog.signature import Signature
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.extract.message_origin import MessageOrigin
from hangtop.logs.lines.block_lines import Line, Writer
from hangtop.records.log import Finding

KEPT_UNLIKE = 64
PARTS_OF_RAY = ("raylet", "gcs_server", "autoscaler")
"""What tells of the death of others in its own lines."""


class SignatureCount(Struct):
    """The matches of one signature. `steps`: how many steps the run had made at the last one; `starts`: how many restarts there
    may have been before. `handled`: each match says that the run goes on. `frames`: whether a traceback had frames in files, and
    whether it had any frame. `raised`: the message was the exception of a traceback that nothing handled. `unknown`: the
    exception of this traceback is no known message; `kind`: its kind, if that is known. `about`: the processes that the matches
    name. `rotated`: it stands in a file that was put away since; `survived`: the run had gone on by then. `likened`: its matches
    were compared with those before; `unlike`: the offsets of some like which the run had not outlived any."""

    signature: Signature
    first: Line
    text: str
    groups: dict[str, str]
    last_offset: int
    last_at: float | None
    steps: int
    starts: int
    said: MessageOrigin | None = None
    count: int = 1
    unknown: bool = False
    kind: Signature | None = None
    handled: bool = False
    frames: tuple[bool, bool] = (False, False)
    raised_by: Writer | None = None
    raised_offset: int = -1
    raised: bool = False
    rotated: bool = False
    survived: bool = False
    writers: dict[Writer, int] = field(default_factory=dict)
    about: dict[MessageOrigin, None] = field(default_factory=dict)
    likened: bool = False
    unlike: set[int] = field(default_factory=set)

    def liken(self, offset: int, *, outlived: bool) -> None:
        """Takes in whether the run outlived a message like the one at this byte."""
        self.likened = True
        self.unlike.discard(offset)
        if not outlived and len(self.unlike) < KEPT_UNLIKE:
            self.unlike.add(offset)

    @property
    def outlived(self) -> bool:
        """Whether the run outlived a message like each of these before."""
        return self.likened and not self.unlike


def finding_of(tally: SignatureCount, ranks: RankTable, file: int, *, is_over: bool, survived: bool) -> Finding:
    """`is_over`: the run ended with a traceback. A warning that was the exception of that traceback is fatal."""
    signature = tally.signature
    ended_it = is_over and tally.raised and (signature.severity, signature.role) == ("warning", "cause")
    written = {ranks.rank_of(writer) for writer in tally.writers}
    about = {origin.rank_in(ranks) for origin in tally.about}
    by = tally.first.writer if tally.raised_by is None else tally.raised_by
    return Finding(
        id=signature.id,
        severity="fatal" if ended_it else signature.severity,
        role="cause" if tally.unknown and signature.role == "summary" else signature.role,
        offset=tally.first.offset,
        text=tally.text,
        file=file,
        rank=ranks.rank_of(by) if tally.said is None else tally.said.rank_in(ranks),
        at=tally.first.at,
        last_offset=tally.last_offset,
        last_at=tally.last_at,
        count=tally.count,
        ranks=tuple(sorted(rank for rank in written if rank is not None)),
        about=tuple(sorted(rank for rank in about if rank is not None)),
        groups=tally.groups if tally.kind is None else {**tally.groups, "kind": tally.kind.id},
        survived=survived,
        outlived=tally.outlived,
        hang="crash" if ended_it else signature.hang,
        cause=_cause_of(tally),
        pid=_pid_of(by, tally.first.prefix.actor) if tally.said is None else tally.said.pid,
        every_s=signature.every_s,
        patient=signature.patient,
        witness=signature.witness,
    )


def _cause_of(tally: SignatureCount) -> str:
    """That of its page or of its kind. An exception that neither knows is told in its own words, with the line of the run's own
    code that raised it or called what did: so a person reads a traceback."""
    place = tally.groups.get("own") or tally.groups.get("frame")
    if tally.unknown and tally.kind is None and place is not None:
        return f"Raised at or below {place.replace(chr(92), '/').rpartition('/')[2]}: {tally.text}"
    return (tally.kind or tally.signature).cause


def _pid_of(writer: Writer, actor: str | None) -> int | None:
    """The pid in the prefix that Ray gives to a worker's lines; a logger's own pid tells who speaks, not whom it is about."""
    return int(writer[2]) if writer[:1] == ("pid",) and actor not in (None, *PARTS_OF_RAY) else None
