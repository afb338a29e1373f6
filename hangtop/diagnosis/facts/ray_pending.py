"""Actors, groups and tasks that wait for resources in a Ray cluster, and why they do not get them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hangtop.common.grouped import grouped
from hangtop.common.memo import memoized
from hangtop.records.ray.cluster import Demand, PlacementGroup, RayActor, RayCluster, RayNode

PLAIN_RESOURCES = {"CPU", "GPU", "memory"}


class PendingResource(Struct, frozen=True):
    """Actors, a placement group or tasks that wait for resources. `lack`: what no node can give, in words. `since_seen`: they
    waited already when they were first seen. `asked`: names of the resources."""

    who: str
    asks: str
    lack: str
    since: float | None
    impossible: bool
    since_seen: bool = False
    asked: tuple[str, ...] = ()


@memoized
def pending_resources(cluster: RayCluster) -> tuple[PendingResource, ...]:
    """Actors, placement groups and tasks that wait for resources, and why they do not get them. What can never be granted
    comes first. An actor whose resources are free waits for something else (`starting_actors`)."""
    waiting = (actor for actor in cluster.actors if actor.state == "resources" and _lacks(actor, cluster))
    alike = grouped(waiting, lambda actor: (actor.cls, tuple(sorted(actor.resources.items()))))
    found = [_pending_actors(cls, dict(asks), actors, cluster.nodes) for (cls, asks), actors in alike.items()]
    found += [_pending_group(group, cluster.nodes) for group in cluster.groups]
    found += [
        pending for demand in cluster.demand if (pending := _pending_tasks(demand, cluster)) is not None and pending.impossible
    ]
    return tuple(sorted(found, key=lambda pending: not pending.impossible))


def queued_tasks(cluster: RayCluster) -> tuple[PendingResource, ...]:
    """Tasks that find nothing free. They are a queue, which is nothing unusual, as long as anything runs that will free it."""
    found = (_pending_tasks(demand, cluster) for demand in cluster.demand)
    return tuple(pending for pending in found if pending is not None and pending.lack)


def idle_holders(cluster: RayCluster, lacked: Iterable[str]) -> str:
    """`Env ×2 keep CPU 2 between calls`: actors that hold what others lack, and do nothing. Empty where there are none."""
    wanted = set(lacked)
    holders = [actor for actor in cluster.actors if actor.state == "idle" and wanted & actor.resources.keys()]
    if not holders:
        return ""
    held = {name: sum(actor.resources.get(name, 0.0) for actor in holders) for name in sorted(wanted)}
    classes = ", ".join(f"{cls} ×{len(alike)}" if len(alike) > 1 else cls for cls, alike in grouped(holders, _class).items())
    return f"{classes} keep{'s' if len(holders) == 1 else ''} {resources(held)} between calls"


def _class(actor: RayActor) -> str:
    return actor.cls


def starting_actors(cluster: RayCluster) -> tuple[RayActor, ...]:
    """The actors that lack nothing, and have no process: a worker is being started for them, or its runtime environment made."""
    return tuple(actor for actor in cluster.actors if actor.state == "resources" and not _lacks(actor, cluster))


def _lacks(actor: RayActor, cluster: RayCluster) -> bool:
    return bool(lacking(actor.resources, cluster.nodes)[0])


def _pending_actors(cls: str, asks: dict[str, float], actors: Sequence[RayActor], nodes: Sequence[RayNode]) -> PendingResource:
    lack, impossible = lacking(asks, nodes)
    first = min((actor for actor in actors if actor.since is not None), key=lambda actor: actor.since or 0.0, default=None)
    since, seen = (None, False) if first is None else (first.since, first.since_seen)
    who = cls if len(actors) == 1 else f"{cls} ×{len(actors)}"
    return PendingResource(who, resources(asks) or "a worker process", lack, since, impossible, seen, tuple(asks))


def _pending_group(group: PlacementGroup, nodes: Sequence[RayNode]) -> PendingResource:
    asks = " + ".join(f"{count} × {resources(bundle)}" if count > 1 else resources(bundle) for bundle, count in group.bundles)
    said = [lacking(bundle, nodes) for bundle, _ in group.bundles]
    lack, impossible = next((why for why in said if why[1]), next((why for why in said if why[0]), ("", False)))
    name, says = f"placement group {group.name or group.id[:8]}", "infeasible, says Ray" if group.infeasible else ""
    return PendingResource(name, asks, lack or says, group.since, impossible or group.infeasible)


def _pending_tasks(demand: Demand, cluster: RayCluster) -> PendingResource | None:
    """Tasks that wait for a place. The dashboard changes the names of custom resources, so these are not looked for."""
    if not demand.resources.keys() <= PLAIN_RESOURCES:
        return None
    waiting = [actor for actor in cluster.actors if actor.state == "resources"]
    tasks = demand.count - sum((actor.resources or {"CPU": 1.0}) == demand.resources for actor in waiting)
    lack, impossible = lacking(demand.resources, cluster.nodes)
    if tasks <= 0:
        return None
    return PendingResource(
        "task" if tasks == 1 else f"task ×{tasks}",
        resources(demand.resources),
        lack,
        None,
        impossible,
        asked=tuple(demand.resources),
    )


def lacking(asks: dict[str, float], nodes: Iterable[RayNode]) -> tuple[str, bool]:
    """(why no node grants this, whether none ever can). Empty when one could now."""
    alive = [node for node in nodes if node.alive and node.total]
    if not alive:
        return "", False
    for name, amount in asks.items():
        most = max(node.total.get(name, 0.0) for node in alive)
        if most < amount:
            return (f"no node has {name}" if most == 0 else f"the largest node has {name} {most:g}"), True
    for name, amount in asks.items():
        free = max(node.total.get(name, 0.0) - node.used.get(name, 0.0) for node in alive)
        if free < amount:
            return f"{name}: {max(0.0, free):g} free on the freest node", False
    if asks and not any(
        all(node.total.get(name, 0.0) - node.used.get(name, 0.0) >= asks[name] for name in asks) for node in alive
    ):
        return f"no node has {resources(asks)} free at once", False
    return "", False


def resources(asks: dict[str, float]) -> str:
    """`GPU 8, CPU 4`; what a placement group adds to the names is left out."""
    plain = {name.partition("_group_")[0]: amount for name, amount in asks.items() if not name.startswith("bundle")}
    return ", ".join(f"{name} {amount:g}" for name, amount in plain.items())
