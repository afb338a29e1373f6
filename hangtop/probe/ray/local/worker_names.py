"""What the name of a worker's output file and the names of verl's actors say. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_VERL_NAME = re.compile(r"(?P<prefix>[A-Za-z0-9]{6})?(?P<cls>.*?)_(?P<group>\d+):(?P<local>\d+)")


def verl_ranks(names: Iterable[str]) -> dict[str, int]:
    """Actor name → global rank, for names as verl gives them: `<6 letters><class>_<node group>:<local rank>`.

    Ranks count through the groups in order (verl/single_controller/ray/base.py), so a group is left out, and all after it, when
    the one before it has a gap.
    """
    pools: dict[tuple[str, str], dict[int, dict[int, str]]] = {}
    for name in names:
        if match := _VERL_NAME.fullmatch(name):
            pool = pools.setdefault((match["prefix"] or "", match["cls"]), {})
            pool.setdefault(int(match["group"]), {})[int(match["local"])] = name
    ranks: dict[str, int] = {}
    for pool in pools.values():
        first = 0
        for group in range(len(pool)):
            members = pool.get(group, {})
            if set(members) != set(range(len(members))) or not members:
                break
            ranks.update((name, first + local) for local, name in members.items())
            first += len(members)
    return ranks
