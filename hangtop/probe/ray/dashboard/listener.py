"""Whose process is at the other end of a connection, where that is on this machine: the kernel's table of sockets tells.

A dashboard that has died leaves its port to whoever takes it next. What that one says is nothing of the cluster, and the
cluster's token is nothing for it.
"""

from __future__ import annotations

import socket
from ipaddress import IPv6Address, ip_address

from hangtop.system.network.connections import ANYWHERE, ESTABLISHED, LISTEN, read_connections

ROOT = 0


def strangers(sock: socket.socket, allowed: int) -> frozenset[int]:
    """User ids other than `allowed` and root that listen where this connection leads; empty when it leads to another machine, or
    where the kernel does not tell."""
    near, far = sock.getsockname(), sock.getpeername()
    there = _plain(far[0])
    if there != _plain(near[0]) and not ip_address(there).is_loopback:
        return frozenset()
    try:
        table = read_connections("self")
    except OSError:  # not Linux: then sockets do not tell their users
        return frozenset()
    ends = [
        connection for connection in table if connection.local_port == far[1] and connection.local_address in {there, *ANYWHERE}
    ]
    listening = {connection.uid for connection in ends if connection.state == LISTEN}
    accepted = {connection.uid for connection in ends if connection.state == ESTABLISHED and connection.remote_port == near[1]}
    return frozenset(listening | accepted) - {allowed, ROOT}


def _plain(address: str) -> str:
    """Without a zone; an IPv4 address inside of IPv6 as IPv4, as in the table."""
    plain = ip_address(address.partition("%")[0])
    return str((plain.ipv4_mapped or plain) if isinstance(plain, IPv6Address) else plain)
