"""Addresses as people, logs and command lines write them, and whether two of them are the same. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit


def host_port(text: str) -> str | None:
    """`host:port` of `http://10.0.0.1:8265`, `ray://head:10001`, `10.0.0.1:6379`; `None` if no port is named: `auto`, `head`.

    `localhost` becomes its number."""
    try:
        parts = urlsplit(text if "://" in text else f"//{text}")
        port = parts.port
    except ValueError:
        return None
    host = "127.0.0.1" if parts.hostname == "localhost" else parts.hostname
    return f"{host}:{port}" if host and port else None


def is_loopback(address: str) -> bool:
    """Whether this `host:port` is the machine or container itself."""
    known = _ip(address.rpartition(":")[0])
    return known is not None and known.is_loopback


def is_one_of(address: str, places: Iterable[str]) -> bool | None:
    """Whether this `host:port` is one of `places`. `None` if that is open: a name is compared with a number, or a loopback
    address with one of another machine."""
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
