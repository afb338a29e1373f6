"""The rendezvous of the ranks: where it is, does its name resolve, is its port free, do the named interfaces exist?"""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Iterator, Mapping, Sequence

import psutil
from msgspec import Struct

from hangtop.doctor.check_types import Check, Subject, fail, ok, unknown, warn
from hangtop.doctor.command_words import flags
from hangtop.probe.processes.launch_source import interfaces as interface_names

INTERFACE_SETTINGS = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
CONNECT_S = 2.0


class Meeting(Struct, frozen=True):
    """`address` is `None` where the launcher chooses. `nodes`: the most that the run may have."""

    address: str | None
    port: str
    nodes: int


def meeting(command: Sequence[str], environ: Mapping[str, str]) -> Meeting:
    """Where the ranks meet: options of the launcher hold over the environment, as torchrun, accelerate and DeepSpeed do it."""
    options = dict(flags(command))

    def option(*names: str) -> str | None:
        return next((options[name] for name in names if options.get(name)), None)

    address, port = option("master_addr", "main_process_ip"), option("master_port", "main_process_port")
    if both := option("rdzv_endpoint"):
        head, colon, tail = both.rpartition(":")
        address, port = (head.strip("[]"), tail) if colon and tail.isdigit() else (both, port)
    nodes = option("nnodes", "num_machines", "num_nodes") or environ.get("NNODES") or environ.get("SLURM_NNODES") or "1"
    most = nodes.rpartition(":")[2]
    return Meeting(
        address=address or environ.get("MASTER_ADDR"),
        port=port or environ.get("MASTER_PORT", "29500"),
        nodes=int(most) if most.isdigit() else 1,
    )


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
        addresses = _resolved(name, int(port_text))
    except OSError as error:
        yield fail("network", "MASTER_ADDR", f"{name} does not resolve: {error.strerror or error}", f"getent hosts {name}")
        return
    if at.nodes > 1 and all(map(_is_loopback, addresses)):
        detail = f"{name} is loopback, other nodes cannot reach it"
        yield fail("network", "MASTER_ADDR", detail, f"export MASTER_ADDR={_own_address() or 'ADDRESS-OF-RANK-0'}")
    else:
        yield ok("network", "MASTER_ADDR", f"{name} is {', '.join(addresses)}")
    yield _port(name, int(port_text), addresses)


def _port(name: str, port: int, addresses: Sequence[str]) -> Check:
    """Free where the store will listen, reachable where it listens already."""
    own = {address.address.partition("%")[0] for entries in psutil.net_if_addrs().values() for address in entries}
    if here := next((address for address in addresses if address in own), None):
        with socket.socket(socket.AF_INET6 if ":" in here else socket.AF_INET) as probe:
            try:
                probe.bind((here, port))
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
        addresses = _resolved(name)
    except OSError:
        mend = f"echo '{_own_address() or '10.0.0.1'} {name}' | sudo tee -a /etc/hosts"
        yield warn("network", "own host name", f"{name} does not resolve", mend)
        return
    if all(map(_is_loopback, addresses)) and _own_address():
        detail = f"{name} resolves to {', '.join(addresses)}: on several nodes Gloo would listen on loopback"
        yield warn("network", "own host name", detail, f"export GLOO_SOCKET_IFNAME={next(iter(interface_names()), 'NAME')}")
    else:
        yield ok("network", "own host name", f"{name} is {', '.join(addresses)}")


def _resolved(name: str, port: int | None = None) -> list[str]:
    """Its addresses, sorted. Raises `OSError`."""
    return sorted({str(entry[4][0]) for entry in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)})


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _own_address() -> str | None:
    """An address of this machine that is no loopback."""
    known = (address for entries in psutil.net_if_addrs().values() for address in entries if address.family == socket.AF_INET)
    return next((address.address for address in known if not address.address.startswith("127.")), None)
