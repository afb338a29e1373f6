"""What can be done about this run as it is: of what is dead nobody can take a stack, and a command names its pid, its log and its
machine, as far as they are known. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.by_waits import current_watch
from hangtop.records.advice import Advice, causes_of
from hangtop.records.nodes import node_of, pid_there
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import plain_file

LOOKS = re.compile(r"^(?:py-spy|pystack|hangtop stacks|cuda-gdb|gdb -p|strace|kill)\b|/proc/\d|--pid \d")
"""Commands about a process that lives."""
_PY_SPY = re.compile(r"^py-spy dump(?P<native> --native)? --pid PID$")
_BARE = re.compile(r"^hangtop stacks$")
_LOG = re.compile(r"\bLOG\b")
_FAR = re.compile(r"\b\d{7,}\b")
"""As long as the number of a process on another node is at least (`hangtop.records.nodes`)."""
OVER_THERE = "where the run runs"


class Reach(Struct, frozen=True):
    """`gone`: the run has ended, and nothing of it was seen to live. `pid`: a living process in question, on its own machine.
    `here`: whether any of the run was seen on this machine. `hosts`: the machines of those that are accused, where
    they are others. `is_away`: the process in question is on one of these, or not known. `far`: by their numbers here, processes
    on other nodes: pid and host."""

    gone: bool
    here: bool
    log: str = ""
    pid: int | None = None
    hosts: tuple[str, ...] = ()
    is_away: bool = True
    far: Mapping[str, tuple[int, str]] = {}

    @property
    def over_there(self) -> str:
        """Where a command has to be run, in words; empty for this machine."""
        if self.hosts:
            return f"on {', '.join(self.hosts)}"
        return "" if self.here else OVER_THERE


def reach_of(snapshot: Snapshot, verdict: Verdict) -> Reach:
    """What is left of the run, and where."""
    living = [process.pid for process in snapshot.procs.processes if not process.exited]
    here = [pid for pid in living if not node_of(pid)]
    accused = [(culprit.pid, culprit.host) for culprit in verdict.culprits if culprit.pid in living]
    members = [(member.pid, member.host) for member in snapshot.members if member.status != "gone" and member.pid in living]
    pid, host = next(iter((*accused, *members)), (None, None))
    away = {culprit.host: None for culprit in verdict.culprits if culprit.host and culprit.pid not in living}
    return Reach(
        gone=verdict.state.ended and not living,
        here=bool(here),
        log=plain_file(snapshot.spec.logs) or "",
        pid=None if pid is None else pid_there(pid),
        hosts=tuple(away) if pid is None or not node_of(pid) else (host,) if host else (),
        is_away=pid is None or node_of(pid) > 0,
        far=_far(snapshot),
    )


def _far(snapshot: Snapshot) -> dict[str, tuple[int, str]]:
    watch, names = current_watch(snapshot.state, snapshot.pause_s), snapshot.state.node_names
    known = [process.pid for process in snapshot.procs.processes] + (list(watch.processes) if watch is not None else [])
    return {str(pid): (pid_there(pid), names[node_of(pid)]) for pid in known if node_of(pid) in names}


def within_reach(advice: Iterable[Advice], reach: Reach) -> Iterator[Advice]:
    """The advice, each command so that it can be run as it stands. Of a run that is over no stack is asked for, unless there is
    nothing else to do about a cause."""
    for remedies in causes_of(advice).values():
        left = [each for each in remedies if not (reach.gone and LOOKS.search(each.paste))]
        for each in left or remedies:
            paste = _filled(_for_its_node(each.paste, reach, "{command}  # on {host}"), reach)
            told = (asked for asked in each.tell_apart if not (reach.gone and LOOKS.search(asked)))
            tell = tuple(_for_its_node(asked, reach, "on {host}: {command}") for asked in told)
            words = _in_words(each.words, reach)
            remedy = f"{words}: {paste}" if paste else words
            yield replace(each, cause=_in_words(each.cause, reach), paste=paste, remedy=remedy, tell_apart=tell)


def _in_words(text: str, reach: Reach) -> str:
    """`pid 185 on n3` for the number of a process there."""

    def named(found: re.Match[str]) -> str:
        known = reach.far.get(found[0])
        return found[0] if known is None else f"{known[0]} on {known[1]}"

    return _FAR.sub(named, text)


def _for_its_node(command: str, reach: Reach, form: str) -> str:
    """A command with the pid of another node, as it is run there. Here that pid is a stranger's: `harmless` refuses it."""
    hosts = {known[1] for number in _FAR.findall(command) if (known := reach.far.get(number)) is not None}
    if not hosts:
        return command
    plain, gap, comment = command.partition("  # ")
    there = _FAR.sub(lambda found: str(reach.far[found[0]][0]) if found[0] in reach.far else found[0], plain)
    return form.format(command=there, host=", ".join(sorted(hosts))) + gap * bool(comment) + comment


def _filled(paste: str, reach: Reach) -> str:
    spy = _PY_SPY.match(paste)
    if spy is not None and reach.pid is not None:
        paste = paste.replace("PID", str(reach.pid))
    elif reach.log:
        target = f" --log {shlex.quote(reach.log)}"
        if spy is not None:
            paste = f"hangtop stacks{target}{spy['native'] or ''}"
        elif _BARE.match(paste):
            paste += target
        else:
            paste = _LOG.sub(lambda _: shlex.quote(reach.log), paste)
    there = reach.over_there if LOOKS.search(paste) and reach.is_away and "  # " not in paste else ""
    return f"{paste}  # {there}" if there else paste
