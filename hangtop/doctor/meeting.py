"""The rendezvous of the ranks: address and port from the launcher's options, else from the environment. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from msgspec import Struct

PORT = "29500"
_ADDRESS = ("master_addr", "main_process_ip")
_PORTS = ("master_port", "main_process_port")
_BOTH = ("rdzv_endpoint",)
_NODES = ("nnodes", "num_machines", "num_nodes")


class Meeting(Struct, frozen=True):
    """`address` is `None` where the launcher chooses. `nodes`: the most that the run may have."""

    address: str | None
    port: str
    nodes: int


def meeting(command: Sequence[str], environ: Mapping[str, str]) -> Meeting:
    """An option of the command line holds over the environment, as torchrun, accelerate and DeepSpeed do it."""
    said = dict(_options(command))
    address, port = _first(said, _ADDRESS), _first(said, _PORTS)
    if both := _first(said, _BOTH):
        head, colon, tail = both.rpartition(":")
        address, port = (head.strip("[]"), tail) if colon and tail.isdigit() else (both, port)
    nodes = _first(said, _NODES) or environ.get("NNODES") or environ.get("SLURM_NNODES") or "1"
    most = nodes.rpartition(":")[2]
    return Meeting(
        address=address or environ.get("MASTER_ADDR"),
        port=port or environ.get("MASTER_PORT", PORT),
        nodes=int(most) if most.isdigit() else 1,
    )


def _options(command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """`--name value` and `--name=value`, dashes and underscores alike."""
    for word, after in zip_longest(command, command[1:], fillvalue=""):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            yield name.replace("-", "_"), value if equals else after


def _first(said: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((said[name] for name in names if said.get(name)), None)
