"""Ranks compared inside their own parallel groups, where these are known: a tensor group stands in one collective or hangs.

Ranks of other pipeline stages legitimately wait elsewhere: one for activations, the next for gradients. So the odd one is looked
for in the innermost group first (tensor, else context), then among the replicas of one stage, and between stages only by how they
wait: for a byte from another process, or inside their own. ByteRobust (2025) finds the parallel group; this the rank in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from msgspec import Struct

from hangtop.common.grouped import grouped
from hangtop.diagnosis.status.majority import as_waiting, leaf_call, place_of, waits_for_others
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.parallel_layout import Place

INNER = {"tp": "tensor group", "sp": "sequence group", "cp": "context group", "ep": "expert group"}
"""Dimensions whose groups meet many times in one layer; the fastest of a rank's dimensions alone is looked at."""
PAIRWISE = frozenset({
    "send", "recv", "isend", "irecv", "batch_isend_irecv", "send_object_list", "recv_object_list", "_communicate", "_p2p_ops",
    "_batched_p2p_ops", "_batch_p2p", "_wait_batch_p2p",
})  # fmt: skip
"""Calls between two ranks, as neighbouring stages make."""
FOR_A_BYTE = ("socket", "poll", "pipe")
"""Kernel waits that another process ends; a lock, a file, a sleep is an affair of one's own."""


def inner_group(place: Place) -> Place | None:
    """What names the innermost group of a rank: its place in the slower dimensions."""
    return place[:-1] if place and place[-1][0] in INNER else None


def stage_of(place: Place) -> Place:
    """What names the pipeline stage of a rank; the same for all where there are no stages."""
    return tuple(coordinate for coordinate in place if coordinate[0] == "pp")


def by_groups(members: tuple[MemberStatus, ...]) -> tuple[MemberStatus, ...]:
    """The members, with every one that waits with its group, or for another group, as waiting in a collective.

    Nothing changes where no groups are known, or where they tell nothing.
    """
    here = [member for member in members if member.status != "gone"]
    if not all(inner_group(member.place) is not None or stage_of(member.place) for member in here):
        return members
    groups = list(grouped(here, lambda member: inner_group(member.place) or stage_of(member.place)).values())
    most = [_together(group, _place) for group in groups]
    whole = [group for group, chosen in zip(groups, most, strict=True) if len(chosen) == len(group)]
    parted = [member for group, chosen in zip(groups, most, strict=True) if len(chosen) < len(group) for member in chosen]
    sure = [*parted, *(member for group in whole for member in group)] if parted else _waiting_groups(groups, whole)
    unnamed = [member for member in _with_alike(here, sure) if not member.waits_for_peers]
    places = {_place(member): {frame.name for frame in member.frames} for member in unnamed}
    told = {
        id(member): as_waiting(member, frozenset().union(*(names for place, names in places.items() if place != _place(member))))
        for member in unnamed
    }
    return tuple(told.get(id(member), member) for member in members)


def _waiting_groups(groups: Sequence[list[MemberStatus]], whole: Sequence[list[MemberStatus]]) -> list[MemberStatus]:
    """Members of groups that wait for other groups, where no group has an odd member: groups that wait as most groups do, or
    that wait for a byte where others do not."""
    if not whole:
        return []
    sizes = Counter(_call(group[0]) for group in whole)
    call, size = sizes.most_common(1)[0]
    linked = [group for group in whole if _for_a_byte(group[0])]
    if 2 * size > len(groups) > size:
        chosen = [group for group in whole if _call(group[0]) == call]
    elif len(linked) < len(groups) or any(group[0].waits_for_peers for group in linked):
        chosen = linked
    else:
        return []
    return [member for group in chosen for member in group]


def _with_alike(here: Sequence[MemberStatus], sure: list[MemberStatus]) -> list[MemberStatus]:
    """The members that surely wait, and others that wait as they do, as long as some member waits otherwise: they wait for
    that one."""
    calls = {_call(member) for member in sure}
    for alike in (lambda member: _call(member) in calls, _for_a_byte):
        known = {id(member) for member in sure}
        left = [member for member in here if id(member) not in known]
        found = [member for member in left if (member.waits_for_peers or waits_for_others(member)) and alike(member)]
        sure = sure + (found if len(found) < len(left) else [])
    return sure if calls else []


def odd_in_groups(waiting: Sequence[MemberStatus]) -> list[MemberStatus] | None:
    """Of members that all wait in collectives, the ones whose call is not that of most of their group. `None`: no groups are
    known.

    A rank that waits for its neighbour stage, while another stands odd in a collective of its own, waits for that one.
    """
    if not all(member.place for member in waiting):
        return None
    for level in (lambda member: inner_group(member.place) or member.place, lambda member: stage_of(member.place)):
        groups = list(grouped(waiting, level).values())
        most = [{id(member) for member in _together(group, lambda member: member.call)} for group in groups]
        parted = [(group, chosen) for group, chosen in zip(groups, most, strict=True) if chosen]
        if odd := [member for group, chosen in parted for member in group if id(member) not in chosen]:
            return [member for member in odd if member.call not in PAIRWISE] or odd
    return []


def undecided(odd: Sequence[MemberStatus]) -> bool:
    """Whether two members of one group both wait for a byte at different places: one waits for the other, and nothing tells
    which."""
    if len(odd) != 2 or inner_group(odd[0].place) is None or inner_group(odd[0].place) != inner_group(odd[1].place):
        return False
    alike = _call(odd[0]) == _call(odd[1]) and all(_for_a_byte(member) for member in odd)
    return alike and _place(odd[0]) != _place(odd[1])


class InnerGroup(Struct, frozen=True):
    """The other ranks of a rank's innermost group, all of them waiting in one collective."""

    name: str
    call: str | None
    others: tuple[MemberStatus, ...]


def group_of(member: MemberStatus, members: Iterable[MemberStatus]) -> InnerGroup | None:
    """The group that waits for this rank: `None` where it waits with them, or they are not all in one collective."""
    key = inner_group(member.place)
    others = tuple(other for other in members if key is not None and other is not member and inner_group(other.place) == key)
    calls = {other.call for other in others if other.waits_for_peers}
    if len(calls) != 1 or not all(other.waits_for_peers for other in others) or (member.waits_for_peers and member.call in calls):
        return None
    return InnerGroup(INNER[member.place[-1][0]], next(iter(calls)), others)


def _together(group: Sequence[MemberStatus], key: Callable[[MemberStatus], Hashable]) -> list[MemberStatus]:
    """The members of a group that share one place, if they are more than half of it; else nobody."""
    keys = [key(member) for member in group]
    place, size = Counter(keys).most_common(1)[0]
    if place is None or 2 * size <= len(group):
        return []
    return [member for member, at in zip(group, keys, strict=True) if at == place]


def _place(member: MemberStatus) -> Hashable:
    """Where it waits for others: the name of a known collective, else the way through its own functions; `None`: it does not."""
    if member.waits_for_peers:
        return member.call
    return place_of(member.activity) if waits_for_others(member) and member.activity is not None else None


def _call(member: MemberStatus) -> Hashable:
    return "collective" if member.waits_for_peers else leaf_call(member)


def _for_a_byte(member: MemberStatus) -> bool:
    return member.waits_for_peers or (member.activity is not None and member.activity.thread.wait in FOR_A_BYTE)
