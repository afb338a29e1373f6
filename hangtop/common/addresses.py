"""Addresses as people, logs and command lines write them, and whether two of them mean the same place. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit


def host_port(text: str) -> str | None:
    """`host:port` of `http://10.0.0.1:8265`, `ray://head:10001`, `10.0.0.1:6379`; `None` where no port is named: `auto`, `head`.

    `localhost` is written as its number."""
    try:
        parts = urlsplit(text if "://" in text else f"//{text}")
        port = parts.port
    except ValueError:
        return None
    host = "127.0.0.1" if parts.hostname == "localhost" else parts.hostname
    return f"{host}:{port}" if host and port else None


def is_loopback(address: str) -> bool:
    """Whether it means the machine, or container, where it is said."""
    known = _ip(address.rpartition(":")[0])
    return known is not None and known.is_loopback


def is_one_of(address: str, places: Iterable[str]) -> bool | None:
    """Whether this `host:port` is one of these. `None` where nobody can tell: a name stands against a number, or an address of
    the machine where it was said against one of another."""
    host, _, port = address.rpartition(":")
    told = False
    for place in places:
        there, _, other = place.rpartition(":")
        if place == address:
            return True
        if other == port:
            told = told or is_loopback(address) or is_loopback(place) or _ip(host) is None or _ip(there) is None
    return None if told else False


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
