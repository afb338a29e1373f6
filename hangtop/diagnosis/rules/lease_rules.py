"""A rule over members that wait for one that acts by its own clock, after somebody has died."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.facts.message_evidence import found
from hangtop.diagnosis.rules.other_end_rules import ODD, roots
from hangtop.diagnosis.rules.verdict_builders import as_culprits, count, names, plural_s, slow_verdict
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.verdict import Verdict
from hangtop.stacks.loops import Sources, loop_around, wakes

TIMED = ("queue", "lock")


def gives_anew(snapshot: Snapshot) -> Verdict | None:
    """Somebody died and said so last, and those that are left wait for one whose wait for messages ends by itself, again and
    again: what it does then may give the work of the dead to another, once a lease or a heartbeat is too old. For no longer
    than a run may rest on purpose.

    Stands before `gathering`: who counts those that are there may wait for one more in place of the dead.
    """
    odd = roots([member for member in snapshot.members if member.status in ODD])
    sources = tuple(excerpt for look in snapshot.state.looks for excerpt in look.excerpts)
    looking = [member for member in odd if _acts_by_its_clock(member, sources)]
    peers = [member for member in snapshot.members if member.waits_for_peers]
    died = [
        finding for finding in snapshot.findings if finding.role == "cause" and finding.hang == "crash" and not finding.survived
    ]
    if not snapshot.is_quiet or not snapshot.in_time or not died or not looking or not peers:
        return None
    waiting = f"{count(peers)} wait{plural_s(peers)} for {'it' if len(looking) == 1 else 'them'}"
    headline = f"{names(looking)} may yet give to another what was left by one that died; {waiting}."
    said = slow_verdict(snapshot, headline, None, (found(died[-1]),))
    return replace(
        said, culprits=as_culprits(looking, "possible", "its wait ends by itself, and it goes on"), confidence="possible"
    )


def _acts_by_its_clock(member: MemberStatus, sources: Sources) -> bool:
    """Whether it waits for messages or a lock, wakes by itself, and the loop around that does more than to wait: nobody sends it
    anything, for all others stand."""
    known = member.activity
    if known is None or known.kind not in TIMED or known.thread.tid not in (None, member.pid):
        return False
    return wakes(member.process) and loop_around(known, sources) in ("asks", "rounds")
