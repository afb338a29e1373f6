"""Which part of a step a process is in, by its stack: for a log that does not tell where the time of its steps goes. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from hangtop.records.stack import StacksReading
from hangtop.records.step_times import Part
from hangtop.stacks.activity import Activity, activity_of
from hangtop.stacks.frames import DoingKind, Phase

LOOKS_COUNTED = 60
"""Looks at a quiet run come about every 20 s: these are some 20 minutes of its quiet times."""
SeenIn = Mapping[int, Part]
"""One look: by pid, the part that the process was in."""

_BY_KIND: dict[DoingKind, Part] = {
    "dataloader": "data", "collective": "sync", "rendezvous": "sync", "backward": "backward", "checkpoint": "save",
}  # fmt: skip
_BY_PHASE: dict[Phase, Part] = {
    "data": "data", "generate": "generation", "eval": "evaluation", "checkpoint": "save", "weights": "sync",
}  # fmt: skip
_BY_FILE: dict[str, Part] = {"/torch/optim/": "optimizer", "/torch/autograd/": "backward", "/torch/nn/modules/": "forward"}
"""Files of PyTorch, the innermost frame first."""


def parts_seen(look: StacksReading) -> SeenIn:
    """The part of each process that this look shows, where its stack tells."""
    known = ((stack.pid, activity_of(stack)) for stack in look.stacks)
    return {pid: part_of(activity) for pid, activity in known if activity is not None and activity.kind != "stopped"}


def counted(earlier: tuple[SeenIn, ...], before: tuple[StacksReading, ...], now: tuple[StacksReading, ...]) -> tuple[SeenIn, ...]:
    """With the newest look, once all of it is there."""
    ended = {look.ask for look in before if look.done}
    new = tuple(parts_seen(look) for look in now if look.done and look.stacks and look.ask not in ended)
    return (*earlier, *new)[-LOOKS_COUNTED:] if new else earlier


def part_of(activity: Activity) -> Part:
    """What its thread waits for or computes, first by what is known of the call, then by its names, then by PyTorch's files."""
    if (part := _BY_KIND.get(activity.kind)) is not None:
        return part
    if activity.phase is not None and (part := _BY_PHASE.get(activity.phase)) is not None:
        return part
    files = (part for frame in activity.thread.frames for place, part in _BY_FILE.items() if place in frame.file)
    return next(files, "other")
