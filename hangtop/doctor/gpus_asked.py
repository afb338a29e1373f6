"""GPUs that the command asks for against those that are there and may be seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from hangtop.common.text import some
from hangtop.doctor.check_types import Check, Subject, fail, ok, warn
from hangtop.doctor.command_words import flags, named_values
from hangtop.records.gpu import Gpu

VISIBLE = "CUDA_VISIBLE_DEVICES"
RANKS_OF_NODE = ("nproc_per_node", "num_gpus", "num_gpus_per_node")
"""Options of torchrun, DeepSpeed and others: processes of one node, each on a GPU of its own."""
POOLS = ("trainer.n_gpus_per_node", "rollout.n_gpus_per_node")
"""verl's pools of GPUs. Recipes with a pool of its own for rollout (GKD, one_step_off_policy, fully_async_policy) take both at a
time (recipe/gkd/main_gkd.py: actor_pool, rollout_pool)."""
POOL_NODES = ("trainer.nnodes", "rollout.nnodes")
OF_A_ROLE = ("actor_num_gpus_per_node", "ref_num_gpus_per_node", "critic_num_gpus_per_node", "reward_num_gpus_per_node")
"""OpenRLHF's, each by itself: roles may share GPUs (--colocate_all_models)."""
ALL_OF_THEM = frozenset(("gpu", "auto", "cpu", "xpu"))
"""Words of torchrun instead of a number."""


class Asked(Struct, frozen=True):
    """GPUs of one node. `why`: what of the command asks for them."""

    gpus: int
    why: str


def asked(command: Sequence[str], *, one_node: bool = True) -> tuple[Asked, ...]:
    """What the command asks of one node, each by itself. `one_node`: all pools must find room on one node."""
    given = dict(flags(command))
    found = [Asked(int(value), f"--{name}={value}") for name in (*RANKS_OF_NODE, *OF_A_ROLE) if (value := _number(given, name))]
    if processes := _number(given, "num_processes"):
        machines = int(_number(given, "num_machines") or "1") or 1
        found.append(Asked(int(processes) // machines, f"--num_processes={processes}"))
    settings = dict(named_values(command))
    pools = [Asked(int(value), f"{name}={value}") for name in POOLS if (value := _number(settings, name))]
    alone = one_node and all(settings.get(name, "1") == "1" for name in POOL_NODES)
    if len(pools) > 1 and alone:
        pools = [Asked(sum(pool.gpus for pool in pools), " + ".join(pool.why for pool in pools))]
    return (*found, *pools)


def _number(given: Mapping[str, str], name: str) -> str:
    value = given.get(name, "")
    return value if value.isdecimal() else ""


def fit(subject: Subject, gpus: Sequence[Gpu], *, one_node: bool) -> Iterator[Check]:
    """Whether the GPUs of this node are as many as the command asks for. `gpus`: those that the driver knows. `one_node`: no
    other node gives any."""
    listing = subject.environ.get(VISIBLE)
    seen, unknown_entry = visible(listing, gpus)
    if unknown_entry and gpus:
        there = f"GPUs 0 to {len(gpus) - 1} are here" if len(gpus) > 1 else "GPU 0 is here"
        detail = f"{listing}: {there}; CUDA hides {unknown_entry} and all behind it, {some(seen, 'GPU')} left"
        yield fail("gpu", VISIBLE, detail, f"export {VISIBLE}={','.join(str(gpu.index) for gpu in gpus)}")
    wishes = asked(subject.command, one_node=one_node)
    for wish in wishes:
        if wish.gpus <= seen:
            yield ok("gpu", "GPUs asked for", f"{wish.gpus} of {seen} ({wish.why})")
            continue
        hidden = f", {VISIBLE}={listing} shows {seen} of {len(gpus)}" if listing is not None and seen < len(gpus) else ""
        detail = f"{wish.why} asks for {wish.gpus}; {some(seen, 'GPU')} {'is' if seen == 1 else 'are'} there{hidden}"
        check = fail if gpus else warn  # without any the run may be meant for another machine
        yield check("gpu", "GPUs asked for", detail, _mend(wish, seen, hidden=bool(hidden) and wish.gpus <= len(gpus)))


def _mend(wish: Asked, seen: int, *, hidden: bool) -> str:
    if hidden:
        return f"unset {VISIBLE}"
    if " + " in wish.why and seen > 1:
        names = [word.partition("=")[0] for word in wish.why.split(" + ")]
        return " ".join(f"{name}={seen // len(names)}" for name in names)
    return f"{wish.why.partition('=')[0]}={seen}" if seen and " + " not in wish.why else "start it where the GPUs are"


def visible(listing: str | None, gpus: Sequence[Gpu]) -> tuple[int, str]:
    """How many GPUs a program sees, and the first entry that no GPU has. Devices behind an invalid entry are hidden too, entries
    are indices or UUIDs, in full or their beginning (CUDA programming guide, environment variables). MIG instances are taken
    as they are."""
    if listing is None:
        return len(gpus), ""
    found = 0
    for entry in (word.strip() for word in listing.split(",")):
        if entry.startswith("MIG-") or _is_here(entry, gpus):
            found += 1
        else:
            return found, "" if entry in ("", "-1") else entry  # a usual way to hide all
    return found, ""


def _is_here(entry: str, gpus: Sequence[Gpu]) -> bool:
    if entry.isdecimal():
        return int(entry) < len(gpus)
    return bool(entry) and any(gpu.uuid is None or gpu.uuid.startswith(entry) for gpu in gpus if entry.startswith("GPU-"))
