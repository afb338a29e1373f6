"""Rules over runs that stand on purpose: somebody sits at a prompt, or a server waits to be asked."""

from __future__ import annotations

from pathlib import PurePath

from hangtop.common.text import some
from hangtop.diagnosis.facts.author_fate import is_ending
from hangtop.diagnosis.facts.last_words import complaint
from hangtop.diagnosis.facts.line_form import counts_up
from hangtop.diagnosis.facts.other_side import waits_to_be_asked as waits_for_request
from hangtop.diagnosis.facts.wait_moves import Watch
from hangtop.diagnosis.rules.verdict_builders import as_culprits, count, names, plural_s, silence, stack_evidence
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.by_waits import current_watch
from hangtop.diagnosis.status.member_status import AT_TERMINAL, MemberStatus
from hangtop.records.process import UnfinishedScript
from hangtop.records.stack import listening
from hangtop.records.verdict import Evidence, Verdict
from hangtop.stacks.frames import owner

DEBUGGERS = ("pdb.py", "debugger.py", "rpdb.py", "public_api.py", "api.py")
"""Files in which a prompt is that of a debugger."""
NOTEBOOK = "ipykernel/"


def prompt(snapshot: Snapshot) -> Verdict | None:
    """A rank stands at the prompt of a debugger or a console, or reads from a terminal: it goes on when a person types.

    Stands before `straggler`: the peers wait for a person, and nothing is broken.
    """
    at_prompt = [member for member in snapshot.members if member.status == "waits" and _is_asking(member)]
    if not snapshot.is_quiet or not at_prompt or any(member.alive for member in snapshot.members):
        return None
    first = at_prompt[0]
    peers = [member for member in snapshot.members if member.waits_for_peers]
    debugs = first.activity is not None and PurePath(first.activity.call.file).name in DEBUGGERS
    own = f" in {first.activity.own.name}" if first.activity is not None else ""
    stands = (
        f"stand{plural_s(at_prompt)} at the prompt of a debugger" if debugs else f"wait{plural_s(at_prompt)} for a person to type"
    )
    waiting = f"; {count(peers)} wait{plural_s(peers)} for it" if peers else ""
    evidence = [
        Evidence("procs" if member.activity is None else "stacks", f"{member.name}: {member.text}") for member in at_prompt[:2]
    ]
    return Verdict(
        word="waiting",
        headline=f"{names(at_prompt)} {stands}{own}{waiting}.",
        refute="nobody can reach that prompt: its input is no terminal",
        kind="stopped",
        confidence="likely",
        culprits=as_culprits(at_prompt, "likely"),
        evidence=(*evidence, *([stack_evidence(peers)] if peers else []), silence(snapshot)),
        next=(("s", "stacks"),),
    )


def _is_asking(member: MemberStatus) -> bool:
    return member.does == "prompt" or (member.activity is None and member.call == AT_TERMINAL)


def idle(snapshot: Snapshot) -> Verdict | None:
    """All processes wait to be asked: a server at its port in its event loop, a notebook between two cells. No rank is known, and
    no steps were told after which they would owe more; or these are counted out, and what serves the results was left. Where a
    script has more to do behind them, it waits for them.

    Stands before `left_to_serve`: that rule asks for a program that is over, this one for what it waits for.
    """
    members = snapshot.members
    scripts = snapshot.procs.scripts
    numbered = any(
        (member.process if scripts else member).rank is not None for member in members
    )  # jobs of a script are no ranks
    if not snapshot.is_quiet or not members or snapshot.log.ray is not None or numbered:
        return None
    notebook = any(_is_notebook(member) for member in members)
    progress = snapshot.log.progress
    part = progress.partial or progress.in_round
    owes = progress.step is not None and (part or progress.total is None or progress.step < progress.total)
    if not all(waits_to_be_asked(member) for member in members) or (owes and not notebook):
        return None
    if snapshot.ticking:  # its monitor goes on, and nobody else of it
        return None
    at_port = listening(snapshot.state.looks)
    server = next((member for member in members if member.pid in at_port), None)
    if server is None:
        return None
    if scripts:
        return before_its_script(snapshot, scripts[0], server)
    if progress.step is not None and not notebook:
        return Verdict(
            word="finished",
            headline=f"The run finished after {some(progress.step, 'step')}; what is left listens, and nobody asks.",
            refute="new output after the last line",
            confidence="likely",
            evidence=(Evidence("stacks", f"{server.name}: {server.text}, at a port of its own"), snapshot.last_output),
        )
    what = "a notebook between two cells" if notebook else "it listens, and nobody asks"
    return _idles(snapshot, what, Evidence("stacks", f"{server.name}: {server.text}, at a port of its own"))


def left_to_serve(snapshot: Snapshot) -> Verdict | None:
    """The main programs of all processes are over, without a complaint, and each only lives on for a thread that waits to be
    asked, while nobody is connected. How many steps were counted then tells nothing: an early end leaves some.

    Stands before `standing_still`: who waits for a thread that serves waits for nothing.
    """
    members, watch = snapshot.members, current_watch(snapshot.state, snapshot.pause_s)
    if not snapshot.is_quiet or not members or watch is None or snapshot.log.ray is not None or snapshot.ticking:
        return None
    others = any(member.status != "gone" for member in (*snapshot.beside, *snapshot.aside))
    failed = any(found.severity == "fatal" and not found.survived for found in snapshot.findings)
    if others or failed or complaint(snapshot) is not None or not all(_only_serves(watch, member) for member in members):
        return None
    if snapshot.procs.scripts:
        return before_its_script(snapshot, snapshot.procs.scripts[0], members[0])
    served = Evidence("stacks", f"{members[0].name}: {members[0].text}, at a port of its own")
    if snapshot.log.progress.step is None and not counts_up(snapshot.state.tail):
        return _idles(snapshot, "it listens, and nobody asks", served)
    return Verdict(
        word="finished",
        headline="The run finished: its program is over, and what is left of it listens, and nobody asks.",
        refute="new output after the last line",
        confidence="likely",
        evidence=(served, snapshot.last_output),
    )


def before_its_script(snapshot: Snapshot, script: UnfinishedScript, server: MemberStatus) -> Verdict:
    """What is said where all members wait to be asked, one of them at a port, and the script of their shell has more to do."""
    who = f"{names(snapshot.members)} wait{plural_s(snapshot.members)} to be asked, and nobody asks"
    return Verdict(
        word="waiting",
        headline=f"{who}; behind it the script of its shell has more to do: `{script.next}`.",
        refute="it ends without being asked",
        confidence="possible",
        evidence=(
            Evidence(
                "procs", f"pid {script.pid}, a shell, waits for {_awaited(script)}; its script goes on with `{script.next}`"
            ),
            Evidence("stacks", f"{server.name}: {server.text}, at a port of its own"),
            silence(snapshot),
        ),
    )


def _awaited(script: UnfinishedScript) -> str:
    if script.in_wait:
        return "all of its children" if len(script.awaited) > 1 else f"its child, pid {script.awaited[0]}, which is a job of it"
    return f"pid {script.awaited[0]} in the foreground" if script.awaited else "a program in the foreground"


def _idles(snapshot: Snapshot, what: str, served: Evidence) -> Verdict:
    return Verdict(
        word="running",
        headline=f"Idle since {snapshot.silent_since}: {what}.",
        refute="somebody waits for its answer",
        evidence=(served,),
        next=(("s", "stacks"),),
    )


def _only_serves(watch: Watch, member: MemberStatus) -> bool:
    """Whether its main program is over, and of the threads for whose end it waits each waits for who connects, or within."""
    process = watch.processes.get(member.pid)
    if member.status != "waits" or not is_ending(member.frames) or process is None or not process.complete:
        return False
    others = process.threads[1:]
    inside = all(waits_for_request(thread) or thread.call.kind == "futex" for thread in others)
    return inside and any(map(waits_for_request, others))


def waits_to_be_asked(member: MemberStatus) -> bool:
    """In an event loop, in the loop of a server, or in `accept`."""
    thread = member.activity.thread if member.activity is not None else None
    return member.status == "waits" and thread is not None and (member.does == "idle" or thread.wait == "accept")


def _is_notebook(member: MemberStatus) -> bool:
    """Its main thread is in the kernel's own loop, and in no cell."""
    frames = member.frames
    return any(f"/{NOTEBOOK}" in f"/{frame.file}" for frame in frames) and not any(
        owner(frame.file) == "user" for frame in frames[1:]
    )
