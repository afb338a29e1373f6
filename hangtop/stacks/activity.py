"""What a process does, told by its stack: in a collective, waiting for data, in its own code. All threads are looked at."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import get_args

from msgspec import Struct

from hangtop.records.stack import Frame, Stack, Thread, Wait
from hangtop.stacks.frames import DoingKind, Phase, named, own, owner, phase, rule

STRENGTH: dict[DoingKind, int] = {kind: place for place, kind in enumerate(get_args(DoingKind))}
WEAK: frozenset[DoingKind | None] = frozenset({"lock", "queue", "join", "child", "network", "pipe", "sleep", "waits", None})
"""Ways to wait that a named function explains better."""
FOR_PEERS: frozenset[DoingKind] = frozenset({"collective", "rendezvous"})
"""Waits for other ranks. A rank in one of them is not the culprit."""
BY_WAIT: dict[Wait, DoingKind] = {
    "lock": "lock",
    "sleep": "sleep",
    "poll": "network",
    "socket": "network",
    "pipe": "pipe",
    "child": "child",
    "file": "io",
    "stopped": "stopped",
    "accept": "network",
    "terminal": "prompt",
}
NAMELESS = frozenset({"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>", "<lambda>"})
EVENT_LOOP = "asyncio/"
LOOKS_OUT = 3
"""How many own frames out from the innermost a function's name still explains a wait for the network."""

A_CHILD = "a child process"
WORDS: dict[DoingKind, str] = {
    "prompt": "waits for a person in {own}",
    "collective": "in {call}",
    "rendezvous": "in {call}",
    "backward": "in {call} of {own}",
    "dataloader": "waits for the data loader in {own}",
    "loader_worker": "loader worker, waits for work",
    "build_lock": "waits for another's build in {own}",
    "compile": "compiles in {own}",
    "checkpoint": "saves in {own}",
    "load": "loads in {own}",
    "gpu": "waits for the GPU in {own}",
    "remote": "waits for an answer in {own}",
    "child": f"waits for {A_CHILD} in {{own}}",
    "queue": "waits for a queue in {own}",
    "join": "waits for a thread in {own}",
    "lock": "waits for a lock in {own}",
    "sleep": "sleeps in {own}",
    "network": "waits for the network in {own}",
    "pipe": "waits for a pipe in {own}",
    "io": "waits for a file in {own}",
    "stopped": "stopped in {own}",
    "idle": "idle",
    "user": "works in {own}",
    "waits": "waits in {own}",
}


class Activity(Struct, frozen=True):
    """What one process does. `call` is the frame that says so, `own` the frame of the user's code that called it, or the nearest.

    `phase` is what the own code is about, by its names. `thread` is the thread this is seen in.
    """

    kind: DoingKind
    call: Frame
    own: Frame
    thread: Thread
    phase: Phase | None = None

    @property
    def function(self) -> str:
        """The one name to say: that of the collective, else the user's function."""
        return self.called if self.kind in FOR_PEERS else self.own.name

    @property
    def called(self) -> str:
        """The name of the call that says what it does; all parts of a barrier of threads or processes are one."""
        return "Barrier.wait" if self.call.function.startswith("Barrier.") else self.call.name

    @property
    def waits_for_peers(self) -> bool:
        return self.kind in FOR_PEERS or (self.kind == "backward" and not self.thread.runs)

    @property
    def text(self) -> str:
        """In a few words: `waits for a lock in load_shard`."""
        if (
            self.kind == "idle"
            and any(EVENT_LOOP in frame.file for frame in self.thread.frames)
            and owner(self.own.file) == "user"
        ):
            return f"waits in the event loop of {self.own.name}"
        return WORDS[self.kind].format(call=self.called, own=self.own.name)

    @property
    def where(self) -> str:
        """`shards.py:38`, the user's line."""
        return f"{PurePath(self.own.file).name}:{self.own.line}"


def activity_of(stack: Stack) -> Activity | None:
    """What this process does; `None` without a stack.

    The main thread speaks for the process, with two exceptions. While it waits in C for its autograd threads, one of those may
    hold the collective (huggingface/accelerate#3104). And one that only waits for other threads, or idles, has its work there.
    """
    main = stack.main
    ours = _thread(main) if main and main.frames else None
    if ours and (ours.kind in FOR_PEERS or ours.kind == "dataloader" or (main and main.runs)):
        return ours
    others = [_thread(thread) for thread in stack.threads if thread is not main and thread.frames]
    if peer := next((other for other in others if other.kind == "collective"), None):
        return peer
    if (
        ours
        and ours.kind == "backward"
        and (busy := next((each for each in others if each.kind == "gpu" and each.thread.runs), None))
    ):
        return busy
    if ours is None or ours.kind in ("idle", "join"):
        return _busiest(others) or ours or next(iter(others), None)
    return _at_work_for(ours, others) or ours


def _at_work_for(ours: Activity, others: list[Activity]) -> Activity | None:
    """The one thread that runs the user's code while the main thread waits for a lock or a queue of threads: a call that came
    from elsewhere (an RPC), or a pool of one."""
    if not waits_within(ours):
        return None
    running = [other for other in others if other.thread.runs and other.kind == "user" and owner(other.own.file) == "user"]
    return running[0] if len(running) == 1 else None


def waits_within(seen: Activity) -> bool:
    """Whether only a thread of the same process can end its wait: a lock, an event or a queue of threads. A queue of
    multiprocessing or the result of a pool may come from a child."""
    inner = next(iter(own(seen.thread.frames)), len(seen.thread.frames))
    files = [frame.file for frame in seen.thread.frames[:inner]]
    if any(part in file for file in files for part in ("multiprocessing/", "concurrent/futures/")):
        return False
    of_python = any(file.endswith(("/threading.py", "/queue.py", "/logging/__init__.py")) for file in files)
    return of_python or (seen.kind == "lock" and (not files or owner(files[0]) == "native"))


def activities(stacks: Iterable[Stack]) -> list[Activity]:
    """Of those that have a stack."""
    return [known for stack in stacks if (known := activity_of(stack)) is not None]


def _busiest(others: list[Activity]) -> Activity | None:
    """The thread that tells most: one that works, else one that waits inside a user's own code. A thread that a library keeps
    for itself, such as Ray's collector of garbage, tells nothing."""
    kept = ("python", "plumbing")
    telling = [
        other for other in others if other.kind not in ("idle", "loader_worker", "prompt") and owner(other.own.file) not in kept
    ]
    return min(telling, key=lambda other: (not other.thread.runs, STRENGTH[other.kind]), default=None)


def _thread(thread: Thread) -> Activity:
    frames = thread.frames
    owned = own(frames)
    innermost = owned[0] if owned else len(frames) - 1
    of_library = next((frame for frame in frames if owner(frame.file) == "plumbing"), frames[innermost])
    caller = next((frames[place] for place in owned if frames[place].name not in NAMELESS), of_library)
    known = [(kind, frame) for place, frame in enumerate(frames[: innermost + 1]) if (kind := rule(frame, frames[:place]))]
    kind, call = min(known, key=lambda rule: STRENGTH[rule[0]], default=(None, frames[innermost]))
    plain = kind in WEAK or (kind in FOR_PEERS and owner(call.file) == "python")  # a Barrier serves any collective of the user's
    if not thread.runs and plain and (names := _by_name(thread, owned)):
        kind, call, caller = names
    if kind is None:
        kind = _by_wait(thread)
    about = next((found for place in owned[:LOOKS_OUT] if (found := phase(frames[place]))), None)
    return Activity(kind, call, caller, thread, about)


def _by_name(thread: Thread, owned: tuple[int, ...]) -> tuple[DoingKind, Frame, Frame] | None:
    """The user's own collective or rendezvous, known by its name: its kind, its frame, and the own frame that called it.

    Only the innermost own frame counts, over a network also those a little further out. A `barrier` may be made of `all_reduce`.
    """
    frames = [thread.frames[place] for place in owned]
    reach = LOOKS_OUT if thread.wait in ("socket", "poll", "pipe", "accept") else 1
    found: tuple[DoingKind, Frame, Frame] | None = None
    for frame, caller in zip(frames, [*frames[1:], *frames[-1:]], strict=True):
        if kind := named(frame):
            found = (kind, frame, caller)
        elif found or (reach := reach - 1) < 1:
            break
    return found


def _by_wait(thread: Thread) -> DoingKind:
    if thread.wait:
        return BY_WAIT[thread.wait]
    if thread.state == "D":
        return "io"
    if thread.state in ("T", "t"):
        return "stopped"
    return "user" if thread.runs or thread.state is None else "waits"
