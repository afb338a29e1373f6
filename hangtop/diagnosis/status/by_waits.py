"""A member's status by what the kernel tells of its wait: bytes that move there keep it alive, and so does a process at the other
end that works; one that is stopped or idles there is what it waits for in vain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from hangtop.common.text import moment
from hangtop.diagnosis.facts.beside_the_run import stuck_beside, work_beside
from hangtop.diagnosis.facts.held_back import OF_ITS_CLOCK
from hangtop.diagnosis.facts.held_in_turn import turn_of
from hangtop.diagnosis.facts.helper_threads import helper_at_work
from hangtop.diagnosis.facts.let_go_on import let_go_on
from hangtop.diagnosis.facts.long_sleeps import Sleep, clock_of, sleep_of
from hangtop.diagnosis.facts.other_side import UNSURE, OtherSide, named, only_listens, side_of
from hangtop.diagnosis.facts.wait_moves import Watch, moves_of, only_paces, thread_of, watch_of
from hangtop.diagnosis.members.rank_numbering import serves
from hangtop.diagnosis.status.closed_ends import closed_end
from hangtop.diagnosis.status.member_status import AT_TERMINAL, COROUTINES, MemberStatus, silent_since, works
from hangtop.records.waiting import OtherEnd, ThreadWait, outer_ends
from hangtop.records.watched_waits import AGAIN, WatchedProcess
from hangtop.stacks.activity import waits_within
from hangtop.stacks.loops import LOOKS_AGAIN, Sources, asks_in_c, by_turns, loop_around, recently
from hangtop.stacks.ray_waits import ray_wait
from hangtop.state.run_state import RunState

OPEN = frozenset({"waits", "unknown", "blocked", "works"})
"""What these facts may change. Who waits for peers is told by these; a loop waits for nobody."""

NEVER_LEFT = frozenset({"file lock", "open", "read", "write", "receive", "send", "connect", "child"})
"""Calls without a time limit of their own."""

ALIKE: dict[str | None, str] = {"sleep": "sleep", "lock": "futex"}
"""What a thread does, and the call in which any that does the same is seen."""
WAKES = frozenset({"poll", "futex", "sleep", None})
"""Calls to which a program comes back again and again: to be seen in one at each look is no proof that it stood there."""


def current_watch(state: RunState, pause_s: float = 0.0) -> Watch | None:
    """The last watch, if it began after the log last told anything new. `pause_s`: the silence that a sleep explains."""
    silent = silent_since(state)
    if state.waits is None or state.waits.started_at < silent:
        return None
    looks = [look for look in state.looks if look.started_at >= silent]
    logs = frozenset(path for writer in state.procs.writers for path in writer.paths) if state.procs is not None else frozenset()
    watch = watch_of(state.waits, silent or None, pause_s, looks, logs)
    return replace(watch, beats_come=state.log is not None and bool(state.log.repeats))


def with_waits(state: RunState, members: Iterable[MemberStatus], pause_s: float) -> tuple[MemberStatus, ...]:
    """The members, with what the last watch of their waits tells. `pause_s`: the silence that a sleep explains."""
    watch = current_watch(state, pause_s)
    if watch is None:
        return tuple(members)
    known = tuple(members)
    sources = tuple(excerpt for look in state.looks for excerpt in look.excerpts)
    pids = {other.pid: other.waits_for_peers for other in known}
    aside = _sleep_aside(state, watch, known)
    told = tuple(_told(watch, member, pids, sources) for member in known if member.pid not in aside)
    asked = [(member.pid, *member.side.path) for member in told if member.side is not None and member.activity is not None]
    idle = {member.side.pid for member in told if member.side is not None and member.side.kind == "idle"}
    told = tuple(_as_keeper(watch, member) if member.pid in idle else member for member in told)
    return tuple(member for member in told if not any(_is_tool(member, path) for path in asked))


def _as_keeper(watch: Watch, member: MemberStatus) -> MemberStatus:
    """A program without a Python stack for which another member waits, and which only a signal wakes: `sleep infinity`."""
    process = watch.processes.get(member.pid)
    calls = [thread.call.kind for thread in process.threads] if process is not None and process.stood else []
    if not _is_unseen(member) or calls != ["signal"]:
        return member
    return replace(member, status="waits", text="does nothing until a signal comes", moved=False)


def _sleep_aside(state: RunState, watch: Watch, members: Iterable[MemberStatus]) -> set[int]:
    """The `sleep` of a shell beside others that only wait within themselves is no member: it may be in a loop, as a probe of the
    pod is, and what the shell does after it wakes none of these."""
    unseen = {member.pid: member.process.ppid for member in members if _is_unseen(member)}
    shells = {process.pid for process in state.procs.processes if serves(process)} if state.procs is not None else set[int]()
    others = [member for member in members if member.pid not in unseen]
    within = bool(others) and all(each.activity is not None and waits_within(each.activity) for each in others)
    return {pid for pid, parent in unseen.items() if within and parent in shells and _sleeps(watch.processes.get(pid))}


def _sleeps(process: WatchedProcess | None) -> bool:
    return process is not None and [thread.call.kind for thread in process.threads] == ["sleep"]


def with_pauses(state: RunState, others: Iterable[MemberStatus], pause_s: float) -> tuple[MemberStatus, ...]:
    """Processes beside the members; of those that sleep, with the moment at which that ends."""
    watch = current_watch(state, pause_s)
    sources = tuple(excerpt for look in state.looks for excerpt in look.excerpts)
    return tuple(other if watch is None else _paused(watch, other, sources) for other in others)


def _paused(watch: Watch, other: MemberStatus, sources: Sources) -> MemberStatus:
    found = watched(watch, other) if other.status == "waits" else None
    sleep = sleep_of(watch, *found) if found is not None else None
    if found is None or sleep is None or _comes_back(watch, other, *found, sources):
        return other
    return _asleep(watch, other, sleep)


def _is_tool(member: MemberStatus, path: tuple[int, ...]) -> bool:
    """A program without a number and without a Python stack, which a member has started and waits for: it helps that member."""
    below = member.pid in path[1:] and member.process.ppid in path
    return below and member.rank is None and member.activity is None


def watched(watch: Watch, member: MemberStatus) -> tuple[WatchedProcess, ThreadWait] | None:
    """The process of a member as it was watched, and the thread that tells what it does."""
    process = watch.processes.get(member.pid)
    if process is None or process.start_ticks != member.process.start_ticks:
        return None
    thread = _as_it_does(process, member) or thread_of(
        process, member.activity.thread.tid if member.activity is not None else None
    )
    return None if thread is None else (process, thread)


def ends_of(watch: Watch, member: MemberStatus) -> tuple[OtherEnd, ...]:
    """The ends of what this member waits at, outside its own process; none where it was not watched."""
    found = watched(watch, member)
    return () if found is None else outer_ends(found[1])


def _as_it_does(process: WatchedProcess, member: MemberStatus) -> ThreadWait | None:
    """Of threads that are alike one was watched for all: of one that sleeps any sleeper, of one at a lock any at a futex."""
    if member.activity is None or any(thread.call.tid == member.activity.thread.tid for thread in process.threads):
        return None
    call = ALIKE.get(member.does)
    return next((thread for thread in process.threads if thread.call.kind == call), None) if call is not None else None


def _told(watch: Watch, member: MemberStatus, members: Mapping[int, bool], sources: Sources) -> MemberStatus:
    """`members`: one that works speaks for itself, and those that wait for it are its peers; of each, whether it waits for
    them."""
    if member.status == "stopped":
        return _in_turn(watch, member)
    found = watched(watch, member) if member.status in OPEN else None
    if found is not None and member.status == "works" and (spins := closed_end(member, found[0], sources)) is not None:
        return replace(member, status="loops", text=spins, doubted=False)
    if found is None or (member.status == "works" and not member.doubted):
        return member
    process, thread = found
    if _waits_for_ever(member, process, thread):
        member = replace(member, status="waits", doubted=False)
    if _reads_terminal(member, process, thread):
        text = f"waits for a person to type at {thread.ends[0].object.path or 'its terminal'}"
        return replace(member, status="waits", call=AT_TERMINAL, text=text, moved=False)
    if (moved := moves_of(watch, process, thread)) is not None:
        text = f"{member.text}, and {moved.text}"
        return replace(member, status="works", text=text, figures=moved.figures, doubted=moved.doubted)
    sleep = sleep_of(watch, process, thread) if member.status in ("waits", "works") or _is_unseen(member) else None
    if (sleep is None or not sleep.is_pause) and _rests_in_rounds(watch, member, thread, sources):
        return replace(member, status="works", text=f"{member.text}, in a loop that ends by itself", doubted=True)
    rests = sleep is not None and not _comes_back(watch, member, process, thread, sources)
    if sleep is not None and rests and sleep.is_pause:
        return _asleep(watch, member, sleep)
    if (rests or _only_keeps(member, sources) or _waits_for_helpers(member, thread)) and (
        does := helper_at_work(watch, process)
    ) is not None:
        return replace(member, status="works", text=f"{member.text}, and a thread of it {does}", doubted=True)
    if sleep is not None and rests:
        return _asleep(watch, member, sleep)
    if member.does == "idle" and (resting := _in_its_loop(watch, member, process, thread, sources)) is not None:
        return resting
    if _looks_for_something(watch, member, process, thread, sources):
        return _looking(watch, member)
    if _asks_for_lock(member, thread, sources):
        return _at_lock(watch, member, process, thread, members)
    side = None if member.status == "blocked" else side_of(watch, process, thread)
    if side is None or (side.kind == "works" and side.pid in members):
        return member
    text = _waits_for(member, side)
    if side.kind == "works":
        return replace(member, status="works", text=text, side=side, doubted=side.doubted)
    if side.kind in UNSURE:
        return replace(member, status="waits", text=text, side=side, doubted=False) if member.status != "works" else member
    in_vain = member.status == "waits" or _only_asks_again(member, process, thread) or _stands(member, process, thread)
    if side.kind == "stopped" or (side.kind in ("idle", "nobody", "dead") and in_vain):
        unseen = member.activity is None and process.stood and thread.call.kind not in WAKES
        return replace(member, status="waits", text=text, side=side, moved=False if unseen else member.moved, doubted=False)
    return member


def _waits_for_helpers(member: MemberStatus, thread: ThreadWait) -> bool:
    """Whether only another thread of its own can end its wait, as at a pipe of which no other process has an end, or also one, as
    of an event loop."""
    known = member.activity
    if member.status != "waits" or known is None:
        return False
    inside = thread.call.kind in ("poll", "read", "receive") and bool(thread.ends) and not outer_ends(thread)
    return inside or known.kind == "idle" or waits_within(known)


def _only_keeps(member: MemberStatus, sources: Sources) -> bool:
    """Whether it sleeps in a loop that only prints, for ever: what it has to do its other threads do, if any."""
    known = member.activity
    return member.status == "waits" and known is not None and member.does == "sleep" and loop_around(known, sources) == "beats"


def _reads_terminal(member: MemberStatus, process: WatchedProcess, thread: ThreadWait) -> bool:
    """Whether a program without a Python stack, such as zstd(1) that asks whether it may overwrite, reads from a terminal.
    Of a Python program its stack tells that."""
    at = [end.object.kind for end in thread.ends]
    unseen = member.status == "unknown" and member.activity is None
    return unseen and process.stood and thread.call.kind == "read" and at == ["terminal"] and not process.moves


def _in_its_loop(
    watch: Watch, member: MemberStatus, process: WatchedProcess, thread: ThreadWait, sources: Sources
) -> MemberStatus | None:
    """One in an event loop of which a coroutine, that stands on no stack, sleeps or waits with a limit: for as long as a run may
    rest on purpose it may be what is waited for. A moment that is set tells that; in a worker of Ray, whose loop needs none of
    its own, any; elsewhere one more than the loop wakes by, or its source, if that never sleeps to look again."""
    on_ray = ray_wait(member.activity) == "idle"
    if not on_ray and (clock := clock_of(watch, process, thread)) is not None and clock.is_pause:
        return _asleep(watch, member, clock)
    timers, ticks = watch.timers.get(member.pid, 0), thread.call.kind == "poll" and process.woken_in >= AGAIN
    if not timers or watch.reading.started_at + watch.reading.seconds > watch.pauses_end_at or not (on_ray or ticks):
        return None
    if on_ray:
        text = "runs coroutines that wait, one of them until a moment that it has set"
        return replace(member, status="works", call=COROUTINES, text=text, doubted=True)
    if timers > OF_ITS_CLOCK:
        return replace(member, status="works", text=f"{member.text}, and has more than one clock set", doubted=True)
    paced = f"{member.text}, and sleeps only where its loops end by themselves"
    return (
        replace(member, status="works", text=paced, doubted=True)
        if only_paces((frame.file for frame in member.frames), sources)
        else None
    )


def _in_turn(watch: Watch, member: MemberStatus) -> MemberStatus:
    """One that is stopped, and may be let go on soon. Ranks work together: one of them that is stopped holds the others up,
    unless a script comes to let it go on."""
    if (until := let_go_on(watch, member.pid)) is not None:
        return replace(member, status="works", text=f"stands, stopped, until {until}", doubted=False)
    turn = turn_of(watch, member.pid) if member.rank is None and member.process.role != "rank" else None
    if turn is None:
        return member
    until = moment(turn.until, watch.reading.started_at)
    text = f"stands, stopped, while {named(turn.other)} works: their parent sleeps until {until}"
    return replace(member, status="works", text=text, until=turn.until, doubted=False)


def _only_asks_again(member: MemberStatus, process: WatchedProcess, thread: ThreadWait) -> bool:
    """Whether it was taken for at work only because it wakes: its call has a limit, after which it is made again, it was in no
    other at any look, and no byte came or went meanwhile."""
    if member.status != "works" or not thread.call.timed or not process.stood or thread.call.tid != member.pid:
        return False
    moves = any(each.received_in or each.acked_in or each.taken_in or each.queued for each in process.sockets) or process.moves
    return not moves and not by_turns(member.process) and not works(member.process)


def _waits_for_ever(member: MemberStatus, process: WatchedProcess, thread: ThreadWait) -> bool:
    """Whether it was taken for at work only because its main thread wakes, as that of a server that looks for its end twice a
    second: the thread that tells, and all others beside the main one, wait without a limit, for each other or for what their
    clients send."""
    known = member.activity
    if known is None or known.thread.tid in (None, member.pid) or not process.complete:
        return False
    if not waits_within(known) and not (known.kind == "network" and _is_owed(process, thread)):
        return False
    wakes_only = member.status == "works" and member.doubted and not by_turns(member.process) and not works(member.process)
    first, others = process.threads[:1], process.threads[1:]
    looks = all(thread.call.kind == "poll" and only_listens(thread) for thread in first) and process.woken_in >= AGAIN
    stand = bool(others) and all(_stands_there(each) for each in others)
    return wakes_only and looks and stand


def _stands_there(thread: ThreadWait) -> bool:
    """Whether only another thread or the far side of its connection can end its wait."""
    return thread.call.timed is False if thread.call.kind == "futex" else thread.call.kind == "receive"


def _is_owed(process: WatchedProcess, thread: ThreadWait) -> bool:
    """Whether this thread waits for what a process of this machine sends, and nothing is on its way anywhere."""
    here = all(end.pids and not end.elsewhere for end in outer_ends(thread))
    moves = any(each.received_in or each.acked_in or each.taken_in or each.queued for each in process.sockets)
    return bool(thread.ends) and here and bool(process.sockets) and not moves


def _stands(member: MemberStatus, process: WatchedProcess, thread: ThreadWait) -> bool:
    """Whether a program without a Python stack, such as flock(1), stood in one call that only the other end can end."""
    return member.status == "unknown" and member.activity is None and process.stood and thread.call.kind in NEVER_LEFT


def _looks_for_something(
    watch: Watch, member: MemberStatus, process: WatchedProcess, thread: ThreadWait, sources: Sources
) -> bool:
    """Whether it sleeps in a loop that asks for what another process may give, such as a file, or a coroutine of it may; or
    waits for a signal, which any may send."""
    if member.activity is None or member.status != "waits":
        return False
    if thread.call.kind == "signal":
        return True
    if member.does == "idle":
        return bool(watch.timers.get(member.pid)) and process.woken_in >= AGAIN
    return member.does == "sleep" and loop_around(member.activity, sources) in LOOKS_AGAIN


def _looking(watch: Watch, member: MemberStatus) -> MemberStatus:
    """One that asks for what another process may give, by the processes that the same job started beside the members."""
    if (busy := work_beside(watch)) is not None:
        return replace(member, status="works", text=f"{member.text}, and {busy}", doubted=True)
    if (side := stuck_beside(watch)) is not None:
        return replace(member, text=f"{member.text}, perhaps for {side.text}", side=side)
    return member


def _waits_for(member: MemberStatus, side: OtherSide) -> str:
    where = "" if member.activity is None else f"in {member.activity.own.name} ({member.activity.where}) "
    return f"waits {where}for {side.text}"


def _at_lock(
    watch: Watch, member: MemberStatus, process: WatchedProcess, thread: ThreadWait, members: Mapping[int, bool]
) -> MemberStatus:
    """One that asks for a lock again and again, by who has it. A holder that wakes now and then may go on, and give it back, but
    not one that waits for its peers."""
    side = side_of(watch, process, replace(thread, ends=thread.locked))
    if side is None or (side.kind == "works" and side.pid in members):
        return member
    if side.kind == "works":
        return replace(member, status="works", text=_waits_for(member, side), side=side, doubted=side.doubted)
    holder = watch.processes.get(side.pid or 0)
    if holder is not None and holder.woken_in and not members.get(holder.pid):
        return member
    return replace(member, status="waits", text=_waits_for(member, side), side=side, doubted=False)


def _asks_for_lock(member: MemberStatus, thread: ThreadWait, sources: Sources) -> bool:
    """Whether it sleeps in a call that does not say so, and a file that it has open is locked by another."""
    known = member.activity
    its = known is not None and known.thread.tid in (None, thread.call.tid)
    return bool(thread.locked) and known is not None and its and asks_in_c(known, sources)


def _comes_back(watch: Watch, member: MemberStatus, process: WatchedProcess, thread: ThreadWait, sources: Sources) -> bool:
    """Whether it looks for something and sleeps in between, or sleeps for ever: nothing leaves the loop around its sleep, and
    each other thread of it waits within, or in vain; or it was seen to wake since it is watched at all, which is for longer, and
    its loop does not end by itself."""
    loop = loop_around(member.activity, sources) if member.activity is not None else None
    woke = thread.call.tid == member.pid and bool(recently(member.process).switches_s)
    if loop == "beats" and process.complete and helper_at_work(watch, process) is None:
        others = (other for other in process.threads if other.call.tid != thread.call.tid)
        return woke or all(_in_vain(watch, process, other) for other in others)
    return loop in ("waits", "endless") or (woke and loop != "ends")


def _in_vain(watch: Watch, process: WatchedProcess, thread: ThreadWait) -> bool:
    """Whether only its own process ends what this thread waits for, or others of this machine of whom none works; who may yet
    connect to it owes it nothing."""
    ends = [end for end in outer_ends(thread) if not end.object.remote.endswith(":0")]
    if thread.call.kind not in ("futex", "poll") or any(end.elsewhere or not end.pids for end in ends):
        return False
    side = side_of(watch, process, thread)
    return side is None or (side.kind != "works" and side.kind not in UNSURE)


def _rests_in_rounds(watch: Watch, member: MemberStatus, thread: ThreadWait, sources: Sources) -> bool:
    """Whether it rests between the rounds of a loop that ends by itself, and no longer each time than a run may rest on purpose:
    the moment at which one rest ends tells nothing then."""
    its = member.activity is not None and member.activity.thread.tid in (None, thread.call.tid)
    sleeps = member.status == "waits" and member.does == thread.call.kind == "sleep"
    if not (its and sleeps) or member.activity is None or thread.call.rest_s is None:
        return False
    pause_s = watch.pauses_end_at - watch.reading.started_at - watch.reading.seconds + watch.silence_s
    return thread.call.rest_s <= pause_s and loop_around(member.activity, sources) == "ends"


def _is_unseen(member: MemberStatus) -> bool:
    """Whether it is a program without a Python stack, such as sleep(1)."""
    return member.status == "unknown" and member.activity is None


def _asleep(watch: Watch, member: MemberStatus, sleep: Sleep) -> MemberStatus:
    text = f"{'sleeps' if _is_unseen(member) else member.text} until {moment(sleep.until, watch.reading.started_at)}"
    told = replace(member, text=text, until=sleep.until)
    return replace(told, status="works", doubted=False) if sleep.is_pause else told
