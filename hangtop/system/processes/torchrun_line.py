"""What a command line of torchrun says of its meeting: how many nodes must come, and where. Pure."""

from __future__ import annotations

import re

from msgspec import Struct

from hangtop.system.processes.roles import program

TORCHRUN = re.compile(r"(?:^|/)torchrun$|^torch[./]distributed[./]run$")
OPTION = re.compile(r"(?:^|\s)--(nnodes|rdzv[-_]endpoint|rdzv[-_]id)(?:=|\s+)(\S+)")


class Meeting(Struct, frozen=True):
    """`endpoint` and `id` tell one from another; `nodes`: the least number that must come (torchrun(1) --nnodes)."""

    endpoint: str
    id: str
    nodes: int


def meeting_of(command: str) -> Meeting | None:
    """Where this torchrun meets others before it starts any rank. `None`: it is none, or needs no other node; with
    `--master-addr` each starts its ranks at once, and these meet."""
    words = command.split()
    if not TORCHRUN.search(program(words)):
        return None
    options = {name.replace("_", "-"): value for name, value in OPTION.findall(command)}
    least = options.get("nnodes", "1").partition(":")[0]
    if not least.isdecimal() or int(least) < 2 or "rdzv-endpoint" not in options:
        return None
    return Meeting(options["rdzv-endpoint"], options.get("rdzv-id", ""), int(least))
