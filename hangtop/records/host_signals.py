"""What the machine itself says: its kernel's log, network ports, file servers, and what holds its cores back."""

from __future__ import annotations

from msgspec import Struct


class KernelEvent(Struct, frozen=True, omit_defaults=True):
    """A line of the kernel's log of a known kind (`system/host_signals/kernel_messages.toml`). `at`: unix time, to a second.
    `pid`: in the machine's own numbers. `what`: a GPU's bus address, a server, a device. `code`: of an Xid."""

    at: float
    kind: str
    text: str
    pid: int | None = None
    what: str = ""
    code: int | None = None


class FabricPort(Struct, frozen=True, omit_defaults=True):
    """A port of InfiniBand or RoCE. `errors`: by the kernel's name, how many came since hangtop looks, which is `since_s`.
    `sent_b_s`, `received_b_s`: lately."""

    name: str
    state: str
    link: str = ""
    rate: str = ""
    errors: dict[str, int] = {}
    since_s: float = 0.0
    sent_b_s: float | None = None
    received_b_s: float | None = None


class ServedMount(Struct, frozen=True, omit_defaults=True):
    """A mount of NFS, or an object target of Lustre. `mean_ms`: of a request lately, from its call to its answer. `requests`,
    `again`, `late`: so many were answered in that time, sent again, and timed out."""

    path: str
    server: str
    mean_ms: float | None = None
    requests: int = 0
    again: int = 0
    late: int = 0


class HostSignals(Struct, frozen=True, omit_defaults=True, tag="host_signals"):
    """`kernel`: newest last. `kernel_unread`: why that log cannot be read; `pids_are_ours`: whether its pids are those that
    hangtop sees. `again_part`: of the TCP segments that were sent lately, those that were sent again. `swap_in_b_s`,
    `swap_out_b_s`: lately. `throttled`: so often the processor slowed itself down for its heat since hangtop looks.
    `quota_part`: of the periods lately in which the run's control group had used up its CPU quota; `quota_cores`: that quota.
    `pinned`: cores as the kernel lists them, and the pids of ranks that may run on these alone, where the ranks are more than
    the cores."""

    kernel: tuple[KernelEvent, ...] = ()
    kernel_unread: str | None = None
    pids_are_ours: bool = False
    ports: tuple[FabricPort, ...] = ()
    mounts: tuple[ServedMount, ...] = ()
    again_part: float | None = None
    swap_in_b_s: int | None = None
    swap_out_b_s: int | None = None
    throttled: int | None = None
    quota_part: float | None = None
    quota_cores: float | None = None
    pinned: tuple[tuple[str, tuple[int, ...]], ...] = ()
