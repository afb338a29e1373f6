"""How each member of the run stands: it works, it waits (for its peers, for data, for a lock …), it is stopped, blocked or gone.

Told from its process and its stacks together, because neither is enough (measured on gloo and plain processes): /proc cannot tell
a lock from a collective, and one look at a stack cannot tell work from an endless loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from textwrap import shorten
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hangtop.diagnosis.facts.other_side import OtherSide
from hangtop.diagnosis.members.rank_numbering import failed, serves, siblings, zombies_beside
from hangtop.diagnosis.status.gpu_wait import IN_A_COLLECTIVE, waits_for_gpu
from hangtop.diagnosis.status.kernel_block import is_blocked
from hangtop.records.nodes import pid_text
from hangtop.records.parallel_layout import Place
from hangtop.records.process import Process, exit_words
from hangtop.records.rank import Rank
from hangtop.records.ray.titles import assigned_title
from hangtop.records.stack import Frame, StacksReading
from hangtop.stacks import loops
from hangtop.stacks.activity import A_CHILD, Activity, activities, activity_of, waits_within
from hangtop.stacks.frames import DoingKind, own
from hangtop.stacks.loops import IO_BYTES_S, Looks, recently
from hangtop.stacks.pools import lost_results
from hangtop.stacks.process_groups import takes_part
from hangtop.stacks.ray_waits import ray_wait
from hangtop.state.run_state import RunState

Status = Literal["gone", "stopped", "blocked", "works", "loops", "collective", "rendezvous", "dataloader", "waits", "unknown"]

Spins = Callable[[Rank], bool]

CPU_PERCENT = 10.0
"""A subtree above this works. A starved one shows less (8 % was measured), hence the next."""
RUNNING_PART = 0.3
"""Share of looks in state R that shows work on a crowded machine, where the CPU percentage says nothing."""
TOGETHER_S = 60.0
"""A parent starts the ranks of a run one after the other."""
LONGEST_COMMAND = 60
AT_TERMINAL = "read of a terminal"
"""The call of a member without a stack that only a person can end."""
COROUTINES = "coroutines"
"""The call of a worker of Ray whose event loop has set itself a moment."""


class MemberStatus(Struct, frozen=True):
    """One member. `call`: the collective, or what it waits in. `text`: what it does, in words. `moved`: between the looks.

    `doubted`: it works, or loops for ever; nothing tells. `place`: in the run's parallel groups, where these are known.
    `side`: the process at the end of its waits; `figures`: how much moves where it waits. `until`: the moment at which its sleep
    ends by itself.
    """

    status: Status
    text: str
    process: Process
    rank: int | None = None
    host: str | None = None
    call: str | None = None
    activity: Activity | None = None
    moved: bool | None = None
    doubted: bool = False
    place: Place = ()
    side: OtherSide | None = None
    figures: str = ""
    until: float | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def waits_for_peers(self) -> bool:
        return self.status in ("collective", "rendezvous")

    @property
    def does(self) -> DoingKind | None:
        """By its stack; `None` without one."""
        return None if self.activity is None else self.activity.kind

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Of the thread that tells what it does."""
        return () if self.activity is None else self.activity.thread.frames

    @property
    def alive(self) -> bool:
        """Shows life of its own. A member that waits for a peer lives too, but proves nothing."""
        return self.status == "works"

    @property
    def name(self) -> str:
        """`rank 3`; of a worker of Ray without a number `Trainer pid 812`, else `pid 812`."""
        if self.rank is not None:
            return f"rank {self.rank}"
        title = assigned_title(self.process.command)
        return f"{title.cls} {pid_text(self.pid)}" if title is not None else pid_text(self.pid)


def member_statuses(state: RunState, ranks: tuple[Rank, ...], spins: Spins, *, patient: bool = True) -> tuple[MemberStatus, ...]:
    """One status for each member whose process is known: the ranks, or where none are known the processes that do the run's
    work.

    `spins`: whether the GPU of a rank busy-waits. `patient`: a member that may compute or loop for ever is taken to compute.
    Looks from before the last output are of another moment.
    """
    if state.procs is None:
        return ()
    processes = {process.pid: process for process in state.procs.processes}
    members = [(rank, processes.get(rank.pid)) for rank in ranks if rank.pid is not None]
    if on_ray := _members_on_ray(state):
        numbered = {rank.pid for rank, _ in members}
        members += [(Rank(rank=-1, pid=process.pid), process) for process in on_ray if process.pid not in numbered]
    elif not any(process for _, process in members):
        seen = {rank.pid for rank, _ in members}
        known = [process for process in processes.values() if process.role in ("rank", "ray worker", "other")]
        lone = [process for process in known if not serves(process)] or known
        unnumbered = _unnumbered_members(lone, _looks(state)) or lone
        members += [(Rank(rank=-1, pid=process.pid), process) for process in unnumbered if process.pid not in seen]
    else:
        members += [(Rank(rank=-1, pid=process.pid), process) for process in _dead_beside(members, processes.values())]
    judge = partial(_stand, state, _looks(state), spins, patient=patient)
    living = [judge(rank, process) for rank, process in members if process is not None]
    living = [_with_child(member, processes.values()) for member in living]
    ended = [_gone(process) for process in state.procs.ended if process.rank is not None]
    return (*ended, *living)


def _dead_beside(members: Sequence[tuple[Rank, Process | None]], processes: Iterable[Process]) -> list[Process]:
    """Processes that failed, and that the parent of the ranks started with them as the same program: nothing tells their
    number. Where no number of the world is missing, or they began before all ranks, they were something else."""
    ranks = [process for _, process in members if process is not None]
    names, pids = {process.name for process in ranks}, {process.pid for process in ranks}
    world = max((process.world or rank.world or 0 for rank, process in members if process is not None), default=0)
    if not ranks or (world and {rank.rank for rank, _ in members}.issuperset(range(world))):
        return []
    first = min(process.started_at for process in ranks) - TOGETHER_S
    beside = (zombie for zombie in zombies_beside(processes, ranks) if zombie.pid not in pids and zombie.started_at >= first)
    return [zombie for zombie in beside if zombie.name in names and failed(zombie)]


def status_of(state: RunState, process: Process, *, patient: bool) -> MemberStatus:
    """The status of a process that is no member, such as a data worker."""
    rank = Rank(rank=-1, pid=process.pid)
    return _stand(state, _looks(state), lambda rank: False, rank, process, patient=patient)


def _looks(state: RunState) -> tuple[StacksReading, ...]:
    """The looks since the last output that told anything."""
    return tuple(look for look in state.looks if look.stacks and look.started_at >= silent_since(state))


def silent_since(state: RunState) -> float:
    """When the log last told anything new: looks from before are of another moment."""
    return (state.log.moved_at if state.log is not None else None) or 0.0


def _members_on_ray(state: RunState) -> list[Process]:
    """Of a run on Ray: its workers that have a task or an actor, and its drivers. Each may be what all others wait for, numbered
    or not."""
    if state.procs is None:
        return []
    living = [process for process in state.procs.processes if not process.exited]
    workers = [process for process in living if process.role in ("ray worker", "rank") and assigned_title(process.command)]
    drivers = {tie.pid for tie in state.procs.ray if tie.kind == "drives" and not tie.gone}
    return [*workers, *(process for process in living if process.pid in drivers)] if workers else []


def _unnumbered_members(lone: list[Process], looks: tuple[StacksReading, ...]) -> list[Process]:
    """The members where nothing numbers them. Processes that a sibling started are no members; the parent of the siblings may
    be a launcher."""
    group = {process.pid for process in siblings(lone)}
    lone = [process for process in lone if not process.exited or process.pid in group]  # else a tool that was run, or a helper
    parents = {process.ppid for process in lone}
    below: set[int] = set()
    for process in lone:  # parents come before their children
        if process.ppid in group or process.ppid in below:
            below.add(process.pid)
    others = [process for process in lone if process.pid not in below]
    tools = _tools(others, group, looks)
    sure = group | set(tools.values())
    members = [process for process in others if process.pid not in tools]
    return [
        process for process in members if process.pid in sure or process.pid not in parents or _takes_part(process, lone, looks)
    ]


def _tools(lone: list[Process], group: set[int], looks: tuple[StacksReading, ...]) -> dict[int, int]:
    """By pid, processes that help their parent, and the parent, which is then no launcher.

    One kind is a program without a Python stack (`aws`, `nvidia-smi`) that is run alone and waited for. The other stands by (a
    tracker, a monitor) while its parent waits for a thread of its own.
    """
    known = {stack.pid: activity_of(stack) for look in looks for stack in look.stacks if stack.threads}
    names = {process.pid: process.name for process in lone}
    foreign = Counter(each.ppid for each in lone if each.pid not in known and each.name != names.get(each.ppid))
    found: dict[int, int] = {}
    for process in lone:
        parent, mine = known.get(process.ppid), known.get(process.pid)
        if parent is None or process.pid in group:
            continue
        stands_by = waits_within(parent) and (mine is None or mine.kind in ("sleep", "idle"))
        alone = foreign[process.ppid] == 1 and process.name != names.get(process.ppid)
        if stands_by or (mine is None and parent.kind == "child" and alone):
            found[process.pid] = process.ppid
    return found


def _takes_part(parent: Process, lone: list[Process], looks: tuple[StacksReading, ...]) -> bool:
    """Whether a parent is a member like its children: it works itself, or waits for something that no child gives it.

    Otherwise it is their launcher, whatever it is called.
    """
    stacks = stacks_of(parent, looks)
    if not stacks:
        return works_itself(parent)
    children, own_stack = {process.pid for process in lone if process.ppid == parent.pid}, stacks[-1][1]
    last = [stack for stack in looks[-1].stacks if stack.pid in children]
    known = activity_of(own_stack)
    if known is None or loops.looks_after(own_stack, last, [excerpt for look in looks for excerpt in look.excerpts]):
        return False
    return takes_part(own_stack, last) or works_itself(parent) or loops.may_trade(parent, known) or loops.by_turns(parent)


def _gone(process: Process) -> MemberStatus:
    how = "is gone" if process.exit_code is None else f"is gone, {exit_words(process.exit_code)}"
    return MemberStatus("gone", how, process, process.rank)


def stacks_of(process: Process, looks: Sequence[StacksReading]) -> Looks:
    """The looks at this process, oldest first, each with the time when it was taken."""
    found = [(look.started_at, stack) for look in looks for stack in look.stacks if stack.pid == process.pid and stack.threads]
    return tuple((at, stack) for at, stack in found if stack.started_ticks in (0, process.start_ticks))


def _stand(
    state: RunState, looks: Sequence[StacksReading], spins: Spins, rank: Rank, process: Process, *, patient: bool
) -> MemberStatus:
    seen = stacks_of(process, looks)
    stacks = _telling(process, seen)
    known = activity_of(stacks[-1][1]) if stacks else None
    status, doubted = _status(process, known, stacks), False
    if known is not None and ray_wait(known) is None:
        sources = [excerpt for look in state.looks for excerpt in look.excerpts]
        trades = (
            loops.may_trade(process, known)
            or loops.by_turns(process)
            or loops.by_steps(process, known, sources)
            or loops.by_children(process, known, silent_since(state))
        )
        looping = trades or loops.may_loop(process, known, stacks)
        doubted = looping or (known.kind == "user" and known.phase is None and len(stacks) < 2)
        if status == "waits" and trades and patient:
            status = "works"
        elif status in ("works", "waits") and not trades:
            sure = loops.surely_loops(process, known, stacks, sources)
            status = "loops" if sure or (looping and not patient and not loops.counts_out(known, sources)) else status
    where = f" ({known.where})" if known is not None else ""
    text = known.text if known is not None and status not in ("gone", "stopped", "blocked") else process.doing
    member = MemberStatus(
        status=status,
        text=f"{text}{where}" if status in ("waits", "works", "loops") else text,
        process=process,
        rank=rank.rank if rank.rank >= 0 else None,
        host=rank.host,
        call=known.called if known is not None else None,
        activity=known,
        moved=False if len(stacks) == 1 < len(seen) else _moved(stacks),
        doubted=doubted,
        place=rank.place,
    )
    if stacks and all(lost_results(stack) for _, stack in stacks):
        lost = f"waits for results of its pool{where}, and the thread that takes these has ended"
        return replace(member, status="waits", text=lost, doubted=False, moved=False)
    if status in ("works", "waits") and waits_for_gpu(process, known, seen) and spins(rank):
        return replace(member, status="collective", call=IN_A_COLLECTIVE, text=f"waits for its GPU{where}", doubted=False)
    return member


def _with_child(member: MemberStatus, processes: Iterable[Process]) -> MemberStatus:
    """A member that waits for its only child waits for the program that the child runs."""
    if member.does != "child":
        return member
    children = [each for each in processes if each.ppid == member.pid and not each.exited]
    if len(children) != 1:
        return member
    command = shorten(children[0].command, LONGEST_COMMAND, placeholder=" …")
    return replace(member, text=member.text.replace(A_CHILD, f"`{command}`"))


def _telling(process: Process, stacks: Looks) -> Looks:
    """For a polling process keep only the looks in which it slept: being caught awake is no progress."""
    if not loops.only_looks(process):
        return stacks
    asleep = tuple((at, stack) for at, stack in stacks if (known := activity_of(stack)) is not None and known.kind == "sleep")
    return asleep or stacks


def _status(process: Process, known: Activity | None, stacks: Looks) -> Status:
    by_state: Mapping[str, Status] = {"Z": "gone", "X": "gone", "T": "stopped", "t": "stopped"}
    if process.state in by_state:
        return "works" if let_go(process) else by_state[process.state]
    if is_blocked(process):
        return "blocked"
    if known is None:
        return "works" if works(process) else "unknown"
    if known.kind in ("collective", "rendezvous", "dataloader"):
        return known.kind
    if known.kind == "backward":
        return "works" if works(process) or _moved(stacks) or known.thread.runs else "collective"
    if ray_wait(known):
        busy = works_below(process) if ray_wait(known) == "idle" else _moved(stacks)
        return "works" if busy or _is_called(stacks) else "waits"
    idles = known.kind == "idle"  # the frames of an idle event loop change, and prove nothing
    return "works" if works(process) or (_moved(stacks) and not idles) else "waits"


def let_go(process: Process) -> bool:
    """Whether a process that is seen stopped ran since the sample before: somebody stops it and lets it go on by turns, as a
    limiter of its share of a core does, or it was stopped a moment ago, which the next sample tells."""
    return process.state == "T" and bool(process.cpu_percent)


def works_itself(process: Process) -> bool:
    """Whether the process computes or moves bytes, without its children."""
    return (process.cpu_percent or 0.0) > CPU_PERCENT or (recently(process).io_b_s or 0.0) > IO_BYTES_S


def works(process: Process) -> bool:
    """Its subtree computes, or moves bytes: a launcher or the parent of a compiler is judged by its children."""
    recent = recently(process)
    return (
        (process.subtree_cpu_percent or process.cpu_percent or 0.0) > CPU_PERCENT
        or (process.subtree_running_part or recent.running_part) > RUNNING_PART
        or (process.subtree_io_b_s or recent.io_b_s or 0.0) > IO_BYTES_S
    )


def works_below(process: Process) -> bool:
    """Whether its children compute or move bytes."""
    recent = recently(process)
    return process.subtree_size > 1 and (
        (process.subtree_cpu_percent or 0.0) - (process.cpu_percent or 0.0) > CPU_PERCENT
        or (process.subtree_running_part or 0.0) > RUNNING_PART >= recent.running_part
        or (process.subtree_io_b_s or 0.0) - (recent.io_b_s or 0.0) > IO_BYTES_S
    )


def _moved(stacks: Looks) -> bool | None:
    """Whether its call path changed between the looks; `None` with one look.

    Only the user's own frames count, where there are any: a process that polls an empty queue is in another line of the
    library each time, and does nothing.
    """
    if len(stacks) < 2:
        return None
    return len({_path(known) for known in activities(stack for _, stack in stacks)}) > 1


def _is_called(stacks: Looks) -> bool:
    """Whether a worker of Ray idled in one look and was at a call in another: calls come and go."""
    return len({ray_wait(known) == "idle" for known in activities(stack for _, stack in stacks)}) > 1


def _path(known: Activity) -> tuple[tuple[str, int], ...]:
    frames = known.thread.frames
    places = own(frames) if not known.thread.runs else ()
    return tuple((frame.function, frame.line) for frame in ([frames[place] for place in places] or frames))
