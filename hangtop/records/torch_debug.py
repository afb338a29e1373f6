"""What PyTorch's debug server of the run told last (`torch.distributed.debug`, since PyTorch 2.10). Its stacks and dumps are
readings of their own kinds."""

from __future__ import annotations

from msgspec import Struct


class TorchDebugReading(Struct, frozen=True, omit_defaults=True, tag="torch_debug"):
    """The run has such a server. `ask`: the question that it answered, 0 before the first. `asked`: the ranks whose servers are
    known; `pids`: the processes whose stacks it gave. `problem`: who told nothing, and why."""

    ask: int = 0
    at: float = 0.0
    asked: int = 0
    pids: tuple[int, ...] = ()
    problem: str | None = None
