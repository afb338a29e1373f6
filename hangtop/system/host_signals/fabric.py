"""The ports of InfiniBand and RoCE: state, traffic and errors (Documentation/ABI/stable/sysfs-class-infiniband)."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from hangtop.records.host_signals import FabricPort
from hangtop.system.processes.proc_files import read_text

ROOT = Path("/sys/class/infiniband")
WORD_BYTES = 4
"""Unit of port_xmit_data and port_rcv_data."""
ERRORS = (
    "symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_rcv_remote_physical_errors",
    "port_xmit_discards", "local_link_integrity_errors", "excessive_buffer_overrun_errors", "VL15_dropped",
)  # fmt: skip
HARDWARE_ERRORS = (
    "out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err", "roce_adp_retrans_to", "req_cqe_error",
    "resp_cqe_error",
)  # fmt: skip
"""Of mlx5 (docs.nvidia.com, "Understanding mlx5 counters"): packets lost on the way, answers that never came."""


class _Counts(Struct, frozen=True):
    at: float
    sent: int | None
    received: int | None
    errors: dict[str, int]


class FabricReader:
    """Errors count from its first look on."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._first: dict[str, _Counts] = {}
        self._last: dict[str, _Counts] = {}

    def read(self, now: float) -> tuple[FabricPort, ...]:
        """All ports by name, `mlx5_0/1`; none where there is no such card."""
        ports = sorted(self._root.glob("*/ports/*"))
        return tuple(self._port(f"{port.parent.parent.name}/{port.name}", port, now) for port in ports)

    def _port(self, name: str, port: Path, now: float) -> FabricPort:
        counts = _Counts(now, _words(port, "port_xmit_data"), _words(port, "port_rcv_data"), _errors(port))
        first, last = self._first.setdefault(name, counts), self._last.get(name)
        self._last[name] = counts
        came = {error: count - first.errors.get(error, count) for error, count in counts.errors.items()}
        return FabricPort(
            name,
            state=read_text(port / "state").partition(": ")[2],
            link=read_text(port / "link_layer"),
            rate=read_text(port / "rate"),
            errors={error: count for error, count in came.items() if count > 0},
            since_s=round(now - first.at, 1),
            sent_b_s=_rate(last, counts, "sent"),
            received_b_s=_rate(last, counts, "received"),
        )


def _errors(port: Path) -> dict[str, int]:
    places = [*((port / "counters", name) for name in ERRORS), *((port / "hw_counters", name) for name in HARDWARE_ERRORS)]
    told = {name: read_text(folder / name) for folder, name in places}
    return {name: int(text) for name, text in told.items() if text.isdecimal()}


def _words(port: Path, name: str) -> int | None:
    text = read_text(port / "counters" / name)
    return int(text) * WORD_BYTES if text.isdecimal() else None


def _rate(last: _Counts | None, counts: _Counts, name: str) -> float | None:
    before, after = getattr(last, name, None), getattr(counts, name)
    if last is None or before is None or after is None or counts.at <= last.at or after < before:
        return None
    return float(round((after - before) / (counts.at - last.at)))
