"""The rendezvous of the ranks: does its name resolve, is its port free, do the named interfaces exist?"""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Iterator

import psutil

from hangtop.doctor.check import Check, Subject, fail, ok, unknown, warn
from hangtop.doctor.meeting import meeting
from hangtop.probe.processes.launch_source import interfaces as interface_names

INTERFACE_SETTINGS = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
CONNECT_S = 2.0


def master(subject: Subject) -> Iterator[Check]:
    """Address and port of the rendezvous, from the command line or from MASTER_ADDR and MASTER_PORT."""
    at = meeting(subject.command, subject.environ)
    name, port_text = at.address, at.port
    if name is None:
        yield ok("network", "MASTER_ADDR", "not set: the launcher chooses")
        return
    if not port_text.isdigit():
        yield fail("network", "MASTER_PORT", f"{port_text!r} is no port", "export MASTER_PORT=29500")
        return
    try:
        addresses = sorted({entry[4][0] for entry in socket.getaddrinfo(name, int(port_text), type=socket.SOCK_STREAM)})
    except OSError as error:
        yield fail("network", "MASTER_ADDR", f"{name} does not resolve: {error.strerror or error}", f"getent hosts {name}")
        return
    if at.nodes > 1 and all(ipaddress.ip_address(str(address).partition("%")[0]).is_loopback for address in addresses):
        detail = f"{name} is loopback, other nodes cannot reach it"
        yield fail("network", "MASTER_ADDR", detail, f"export MASTER_ADDR={_own_address() or 'ADDRESS-OF-RANK-0'}")
    else:
        yield ok("network", "MASTER_ADDR", f"{name} is {', '.join(map(str, addresses))}")
    yield _port(name, int(port_text), {str(address) for address in addresses})


def _port(name: str, port: int, addresses: set[str]) -> Check:
    """Free where the store will listen, reachable where it listens already."""
    here = addresses & _own_addresses()
    if here:
        with socket.socket(socket.AF_INET6 if ":" in next(iter(here)) else socket.AF_INET) as probe:
            try:
                probe.bind((next(iter(here)), port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    return unknown("network", "MASTER_PORT", f"port {port}: {error.strerror}")
                return fail("network", "MASTER_PORT", f"port {port} is taken", f"ss -ltnp 'sport = :{port}'")
        return ok("network", "MASTER_PORT", f"port {port} is free here")
    try:
        socket.create_connection((name, port), CONNECT_S).close()
    except OSError as error:
        detail = f"{name}:{port} does not answer yet: {error.strerror or error}"
        return warn("network", "MASTER_PORT", detail, f"nc -zv {name} {port}")
    return ok("network", "MASTER_PORT", f"{name}:{port} answers")


def interfaces(subject: Subject) -> Iterator[Check]:
    """Interfaces named in the environment. NCCL takes prefixes, `=` for exact names and `^` to leave out (NCCL docs); Gloo and
    TensorPipe take exact names only (pytorch ProcessGroupGloo.cpp)."""
    there = set(psutil.net_if_addrs())
    for setting in INTERFACE_SETTINGS:
        value = subject.environ.get(setting)
        if not value:
            continue
        of_nccl = setting == "NCCL_SOCKET_IFNAME"
        leave_out, exact = of_nccl and value.startswith("^"), not of_nccl or "=" in value[:2]
        names = [name for name in (value.lstrip("^=") if of_nccl else value).split(",") if name]
        found = {name for name in names if name in there or (not exact and any(have.startswith(name) for have in there))}
        if leave_out or found:
            yield ok("network", setting, value)
        else:
            mend = f"export {setting}={next(iter(interface_names()), 'NAME')}   (there are: {', '.join(sorted(there))})"
            yield fail("network", setting, f"no interface here is named {', '.join(names)}", mend)


def own_name(_: Subject) -> Iterator[Check]:
    """A host name that resolves to loopback makes Gloo and Ray listen where no other node can connect."""
    name = socket.gethostname()
    try:
        addresses = {str(entry[4][0]) for entry in socket.getaddrinfo(name, None)}
    except OSError:
        mend = f"echo '{_own_address() or '10.0.0.1'} {name}' | sudo tee -a /etc/hosts"
        yield warn("network", "own host name", f"{name} does not resolve", mend)
        return
    loops = [address for address in addresses if ipaddress.ip_address(address.partition("%")[0]).is_loopback]
    if len(loops) == len(addresses) and _own_address():
        detail = f"{name} resolves to {', '.join(sorted(loops))}: on several nodes Gloo would listen on loopback"
        yield warn("network", "own host name", detail, f"export GLOO_SOCKET_IFNAME={next(iter(interface_names()), 'NAME')}")
    else:
        yield ok("network", "own host name", f"{name} is {', '.join(sorted(addresses))}")


def _own_addresses() -> set[str]:
    return {address.address.partition("%")[0] for entries in psutil.net_if_addrs().values() for address in entries}


def _own_address() -> str | None:
    """An address of this machine that is no loopback."""
    for entries in psutil.net_if_addrs().values():
        for address in entries:
            if address.family == socket.AF_INET and not address.address.startswith("127."):
                return address.address
    return None
