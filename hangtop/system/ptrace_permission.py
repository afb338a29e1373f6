"""Why another process's memory may not be read, and the command that permits it (ptrace(2), capabilities(7))."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from msgspec import Struct

from hangtop.system.processes.proc_files import read_text, status_of

CAP_SYS_PTRACE = 19


class PtracePermission(Struct, frozen=True):
    """What decides the permission. `scope`: Yama's ptrace_scope, `None` without Yama. Other `None`s: not known."""

    user: int
    owner: int | None
    may_trace: bool | None
    scope: int | None
    container: bool


def ptrace_permission(pid: int) -> PtracePermission:
    """Our permission for this process."""
    held, scope = status_of("self").get("CapEff"), read_text("/proc/sys/kernel/yama/ptrace_scope")
    return PtracePermission(
        user=os.geteuid(),
        owner=_owner(pid),
        may_trace=None if held is None else bool(int(held, 16) >> CAP_SYS_PTRACE & 1),
        scope=int(scope) if scope.isdecimal() else None,
        container=_in_container(),
    )


def _owner(pid: int) -> int | None:
    """Its real user; `None` when it is gone."""
    if users := status_of(pid).get("Uid"):
        return int(users.split()[0])
    import psutil  # macOS

    try:
        return int(psutil.Process(pid).uids().real)
    except psutil.Error:
        return None


def refusal(at: PtracePermission, command: tuple[str, ...]) -> tuple[str, str]:
    """(what is missing, the command that mends it). `command`: what was refused."""
    again = f"sudo {shlex.join(command)}"
    foreign = at.owner is not None and at.owner != at.user and at.user != 0
    if foreign:
        return f"not permitted: it belongs to user {at.owner}, hangtop runs as {at.user}", again
    if at.container and not at.may_trace:
        mend = "docker run --cap-add SYS_PTRACE …   (Kubernetes: securityContext.capabilities.add: [SYS_PTRACE])"
        return "not permitted: this container lacks CAP_SYS_PTRACE", mend
    if at.scope == 3:
        return (
            "not permitted: ptrace_scope is 3, which holds until the next boot",
            "remove kernel.yama.ptrace_scope=3 and boot again",
        )
    if at.scope:
        return (
            f"not permitted: ptrace_scope is {at.scope}",
            f"sudo sysctl kernel.yama.ptrace_scope=0   (or only this once: {again})",
        )
    return "not permitted by the system", again


def _in_container() -> bool:
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists() or "KUBERNETES_SERVICE_HOST" in os.environ:
        return True
    return "container=" in read_text("/proc/1/environ")
