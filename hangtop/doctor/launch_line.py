"""Whether the ranks would find each other as the command starts them; where not, the launcher's line that says all of it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence

from hangtop.actions.command_line.wrapped import python_call
from hangtop.doctor.check_types import Check, Subject, warn
from hangtop.doctor.command_words import flags
from hangtop.doctor.network import meeting

TORCHRUN = ("torchrun", "torch.distributed.run", "torch.distributed.launch")
PLACES = frozenset(("master_addr", "rdzv_endpoint", "standalone"))
"""Options of torchrun that say where its ranks meet."""
OWN_VARIABLES = ("PET_MASTER_ADDR", "PET_RDZV_ENDPOINT", "PET_STANDALONE")
"""Its options are read from these, never from MASTER_ADDR (torch/distributed/argparse_util.py)."""


def launch_line(subject: Subject) -> Iterator[Check]:
    """A torchrun of several nodes that is not told where they meet, and one process of a run of several."""
    words = subject.command
    place = next((number for number, word in enumerate(words) if os.path.basename(word) in TORCHRUN), None)
    if place is not None:
        yield from _untold(subject, place)
        return
    world = subject.environ.get("WORLD_SIZE", "")
    call = python_call(words)
    if call is None or not world.isdecimal() or int(world) < 2:
        return
    has_rank = "RANK" in subject.environ
    detail = f"WORLD_SIZE={world}, and this starts one process: it waits for {int(world) - 1} that somebody else must start"
    missing = f"WORLD_SIZE={world} without RANK: init_process_group() raises"
    ranks = subject.environ.get("LOCAL_WORLD_SIZE", world)
    program = ("-m", call.module) if call.module else (call.script or "train.py",)
    line = _line(subject, (f"--nproc_per_node={ranks}",), (*program, *call.rest))
    yield warn("network", "ranks", detail if has_rank else missing, line)


def _untold(subject: Subject, place: int) -> Iterator[Check]:
    given, at = dict(flags(subject.command)), meeting(subject.command, subject.environ)
    if not PLACES.isdisjoint(given) or any(name in subject.environ for name in OWN_VARIABLES):
        return
    if at.nodes == 1 and subject.environ.get("MASTER_ADDR") is None:
        return  # on one node it meets on this machine
    told = subject.environ.get("MASTER_ADDR")
    detail = f"MASTER_ADDR={told} is not read by torchrun" if told else f"{at.nodes} nodes, and no option says where they meet"
    rest = subject.command[place + 1 :]
    extra = [] if at.nodes == 1 or "nnodes" in given else [f"--nnodes={at.nodes}"]
    if at.nodes > 1 and "node_rank" not in given:
        extra.append("--node_rank=$SLURM_NODEID" if "SLURM_NODEID" in subject.environ else "--node_rank=0…")
    yield warn("network", "torchrun", f"{detail}: each node would wait for itself", _line(subject, extra, rest))


def _line(subject: Subject, extra: Sequence[str], rest: Sequence[str]) -> str:
    """The command with everything said. Where the address is not known, it is that of the node of rank 0."""
    address = subject.environ.get("MASTER_ADDR") or "ADDRESS-OF-NODE-0"
    port = subject.environ.get("MASTER_PORT") or "29500"
    return " ".join(("torchrun", *extra, f"--master_addr={address}", f"--master_port={port}", shlex.join(rest)))
