"""Run by the cluster's own Python, not by hangtop's: the tables of the GCS, once, as one line of JSON on stdout.

Usage: hangtop_tables.py GCS_ADDRESS SECONDS. It only reads: no `ray.init`, so that no job, driver or actor of it appears in the
cluster (`GlobalStateAccessor` is what `ray status` and `ray.nodes()` read with). It ends itself after so many seconds, because
Ray's own code waits 15 to 40 s for a GCS that is silent. For Python 3.8 and later; names of fields are those of the dashboard.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

MOST_DEAD = 1_000
OF_RANK = ("RANK", "WORLD_SIZE")
HEAD = "node:__internal_head__"


def main() -> None:
    signal.alarm(int(sys.argv[2]))
    import ray
    from ray.core.generated import gcs_pb2 as messages

    table = accessor(sys.argv[1])
    actors = [messages.ActorTableData.FromString(row) for row in actor_rows(table)]
    dead = sorted((actor for actor in actors if state_of(actor) == "DEAD"), key=lambda actor: -int(actor.end_time))
    kept = [actor for actor in actors if state_of(actor) != "DEAD"] + dead[:MOST_DEAD]
    jobs = [messages.JobTableData.FromString(row) for row in table.get_job_table()]
    available = [messages.AvailableResources.FromString(row) for row in table.get_all_available_resources()]
    free = {node.node_id.hex(): dict(node.resources_available) for node in available}
    nodes = table.get_node_table()
    said = {
        "version": ray.__version__,
        "actors": {actor.actor_id.hex(): actor_row(actor) for actor in kept},
        "nodes": [node_row(node, kept, jobs) for node in nodes],
        "logical": {node["NodeID"]: logical(node.get("Resources") or {}, free.get(node["NodeID"], {})) for node in nodes},
        "groups": [group_row(messages.PlacementGroupTableData.FromString(row)) for row in table.get_placement_group_table()],
        "runtimeEnvs": {a.actor_id.hex(): ranks for a in kept if state_of(a) == "ALIVE" and (ranks := of_rank(a))},
    }
    sys.stdout.write("hangtop " + json.dumps(said) + "\n")


def accessor(address: str) -> Any:
    """A connection to the GCS. How its options are made changed with Ray 2.10."""
    from ray._raylet import GcsClientOptions, GlobalStateAccessor

    if hasattr(GcsClientOptions, "create"):
        options = GcsClientOptions.create(address, None, allow_cluster_id_nil=True, fetch_cluster_id_if_nil=False)
    else:
        options = GcsClientOptions.from_gcs_address(address)
    found = GlobalStateAccessor(options)
    if not found.connect():
        raise SystemExit(f"the GCS at {address} does not let us in")
    return found


def actor_rows(table: Any) -> Any:
    """Old versions know no filters."""
    try:
        return table.get_actor_table(None, None)
    except TypeError:
        return table.get_actor_table()


def state_of(message: Any, field: str = "state") -> str:
    """The name of the value of an enumeration."""
    return str(message.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number[getattr(message, field)].name)


def actor_row(actor: Any) -> dict[str, Any]:
    return {
        "actorId": actor.actor_id.hex(),
        "jobId": actor.job_id.hex(),
        "state": state_of(actor),
        "name": actor.name,
        "className": actor.class_name,
        "pid": actor.pid,
        "numRestarts": actor.num_restarts,
        "startTime": actor.start_time,
        "endTime": actor.end_time,
        "exitDetail": death(actor),
        "requiredResources": dict(actor.required_resources),
        "address": {
            "nodeId": home(actor.address),
            "ipAddress": actor.address.ip_address,
            "workerId": actor.address.worker_id.hex(),
        },
    }


def home(address: Any) -> str:
    """The id of a node, which was `raylet_id` once."""
    return str((address.node_id if hasattr(address, "node_id") else address.raylet_id).hex())


def death(actor: Any) -> str:
    """What the dashboard calls the exit detail."""
    which = actor.death_cause.WhichOneof("context")
    context = getattr(actor.death_cause, which) if which else None
    return getattr(context, "error_message", "") or getattr(context, "formatted_exception_string", "") or "-"


def of_rank(actor: Any) -> str:
    """Only what tells its rank: other variables may be secrets."""
    try:
        variables = json.loads(actor.serialized_runtime_env or "{}").get("env_vars") or {}
    except ValueError:
        return ""
    kept = {name: variables[name] for name in OF_RANK if name in variables}
    return json.dumps({"env_vars": kept}) if kept else ""


def node_row(node: dict[str, Any], actors: Any, jobs: Any) -> dict[str, Any]:
    """A node with its actors and drivers, without what they do, which the GCS does not know."""
    here, alive = node["NodeID"], bool(node.get("Alive", node.get("alive")))
    living = [actor for actor in actors if alive and state_of(actor) == "ALIVE" and home(actor.address) == here]
    drivers = [job for job in jobs if alive and not job.is_dead and driver_home(job, node)]
    return {
        "hostname": node.get("NodeManagerHostname", ""),
        "ip": node.get("NodeManagerAddress", ""),
        "raylet": {
            "nodeId": here,
            "state": "ALIVE" if alive else "DEAD",
            "stateMessage": node.get("DeathReasonMessage") or "",
            "isHeadNode": HEAD in (node.get("Resources") or {}),
            "sessionDir": node.get("RayletSocketName", "").rpartition("/sockets/")[0],
            "rayletSocketName": node.get("RayletSocketName", ""),
            "dashboardAgentListenPort": node.get("DashboardAgentListenPort"),
        },
        "workers": [
            *(worker_row(actor.pid, actor.job_id, "WORKER", actor.actor_id.hex()) for actor in living),
            *(worker_row(job.driver_pid, job.job_id, "DRIVER", "", job.entrypoint) for job in drivers),
        ],
    }


def driver_home(job: Any, node: dict[str, Any]) -> bool:
    """Whether this job's driver runs on this node: by its id, in old versions by its address alone."""
    if hasattr(job, "driver_address") and home(job.driver_address):
        return bool(home(job.driver_address) == node["NodeID"])
    return bool(job.driver_ip_address == node.get("NodeManagerAddress"))


def worker_row(pid: int, job: bytes, kind: str, actor_id: str, command: str = "") -> dict[str, Any]:
    core = {"actorId": actor_id, "workerType": kind}
    return {"pid": pid, "jobId": job.hex(), "cmdline": command.split(" "), "coreWorkerStats": [core]}


def logical(total: dict[str, float], free: dict[str, float]) -> str:
    """As the dashboard writes it: `0.5/4.0 CPU`, a line each."""
    return "\n".join(f"{max(0.0, amount - free.get(name, 0.0)):.4f}/{amount:.4f} {name}" for name, amount in total.items())


def group_row(group: Any) -> dict[str, Any]:
    return {
        "placement_group_id": group.placement_group_id.hex(),
        "name": group.name,
        "state": state_of(group),
        "bundles": [{"unit_resources": dict(bundle.unit_resources)} for bundle in group.bundles],
        "stats": {
            "scheduling_state": state_of(group.stats, "scheduling_state"),
            "creation_request_received_ns": group.stats.creation_request_received_ns,
        },
    }


if __name__ == "__main__":
    main()
