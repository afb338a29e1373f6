"""Whether the next `ray.init()` would try to join a cluster that is gone: what `ray start` left in Ray's temporary folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from hangtop.doctor.check_types import Check, Subject, fail, ok, unknown, warn
from hangtop.probe.leftovers.leftover_places import RAY_ADDRESS, RAY_LINK, candidates, usual_places
from hangtop.probe.leftovers.open_handles import command_lines
from hangtop.probe.ray.local.address_file import read_address, why_current
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.users import Users


def addresses(subject: Subject) -> Iterator[Check]:
    """One check for each folder in which something is left. `RAY_ADDRESS` overrides all of it."""
    if subject.environ.get("RAY_ADDRESS"):
        return
    places = usual_places(dict(subject.environ))
    table = open_table()
    table.refresh(())
    commands = command_lines(table, [pid for pid, stat in table.stats.items() if not stat.kernel])
    for left in candidates(places):
        if left.kind == RAY_ADDRESS:
            yield _address(left.path, commands)
        elif left.kind == RAY_LINK:
            detail = f"{left.path} leads to a session that is gone, and Ray will not set it again"
            yield warn("ray", "latest session", detail, _mend(left.path))


def _address(path: str, commands: Mapping[int, str]) -> Check:
    try:
        address, alive = read_address(path), why_current(path, commands)
    except OSError as error:
        return unknown("ray", "address", f"{path}: {error.strerror}", f"ls -l {path}")
    if alive is not None:
        return ok("ray", "address", f"{path}: {alive}")
    detail = f"{path} names {address}, where no cluster is: ray.init() would try to join it, and fail"
    return fail("ray", "address", detail, _mend(path))


def _mend(path: str) -> str:
    """In a folder like /tmp only its owner may remove it."""
    try:
        owner = os.lstat(path).st_uid
    except OSError:  # gone meanwhile
        return "hangtop clean"
    return "hangtop clean" if owner == os.geteuid() else f"it is {Users().name(owner) or owner}'s: RAY_TMPDIR=… of your own"
