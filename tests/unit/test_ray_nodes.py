"""Nodes × ranks: one row a node, one cell a rank, odd nodes first."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.probe.ray.cluster import logical_resources
from hangtop.records.ray.cluster import RayActor, RayApi, RayCluster, RayNode
from hangtop.render.ray.ray_nodes import LEGEND, node_rows, node_table

NOW = 1_768_125_000.0
G = 2**30
NODES, WORKERS = 4, 8


def node(number: int, **known: object) -> RayNode:
    plain = {"alive": True, "moved_at": NOW - 2, "cpu_percent": 12.0, "memory_used_bytes": 300 * G, "memory_bytes": 512 * G}
    held = {"used": {"GPU": 8.0}, "total": {"GPU": 8.0}, "workers": 9}
    return RayNode(f"{number:056x}"[::-1], f"n{number}", **(plain | held | known))  # type: ignore[arg-type]


def actor(rank: int, **known: object) -> RayActor:
    where = node(rank // WORKERS)
    plain = {"id": f"{rank:032x}", "rank": rank, "node": where.id, "host": where.host, "method": None, "rss_bytes": G}
    return RayActor("WorkerDict", **({"state": "idle", "gpu_memory_bytes": 70 * G} | plain | known))  # type: ignore[arg-type]


def cluster(*odd: RayActor, nodes: tuple[RayNode, ...] = ()) -> RayCluster:
    actors = {worker.rank: worker for worker in (*map(actor, range(NODES * WORKERS)), *odd)}
    where = {machine.host: machine for machine in (*map(node, range(NODES)), *nodes)}
    api = RayApi("127.0.0.1:8265", "ok", gcs_ok=True, actors_at=NOW)
    return RayCluster("s", api=api, nodes=tuple(where.values()), actors=tuple(actors.values()), actors_total=len(actors))


def lines(of: RayCluster, width: int = 140, *, trouble: bool = True) -> list[str]:
    return ["".join(words for words, _ in row) for row in node_table(node_rows(of, NOW, trouble), width)]


def test_a_row_says_what_a_node_has_and_what_its_workers_hold():
    title, first, *_ = lines(cluster())
    assert title.split() == [
        "node",
        "ranks",
        "workers",
        "cpu",
        "%",
        "mem",
        "G",
        "gpus",
        "rss",
        "G",
        "gpu",
        "G",
        "report",
        "doing",
    ]
    assert first.split() == ["n0", "0-7", "□" * 8, "12", "300/512", "8/8", "8.0", "560.0", "fresh", "alive", "×8"]


def test_the_node_of_the_rank_that_does_another_thing_comes_first():
    behind = actor(19, state="running", method="update_actor")
    rows = lines(cluster(behind))
    assert rows[1].split()[:4] == ["▸", "n2", "16-23", "□□□◆□□□□"]
    assert "alive ×7, update_actor" in rows[1]
    assert [row.split()[0] for row in rows[2:5]] == ["n0", "n1", "n3"]


def test_in_a_run_that_goes_on_nobody_is_odd_for_doing_another_thing():
    behind = actor(19, state="running", method="update_actor")
    assert lines(cluster(behind), trouble=False)[3].split()[:3] == ["n2", "16-23", "□□□■□□□□"]


def test_dead_ranks_dead_nodes_and_silent_nodes_are_told_apart():
    lost = node(3, alive=False, death="health check failed")
    mute = node(1, moved_at=NOW - 40)
    rows = {row.split()[1]: row for row in lines(cluster(actor(2, state="gone"), nodes=(lost, mute)))[1:4]}
    assert rows["n0"].split()[3] == "□□✗□□□□□"
    assert "40s" in rows["n1"]
    assert "dead" in rows["n3"]
    assert "health check failed" in rows["n3"]


def test_raylets_that_share_a_machine_are_told_apart_by_their_id():
    same = tuple(replace(node(number), host="vm") for number in range(2))
    rows = node_rows(RayCluster("s", nodes=same), NOW, True)
    assert len({row.label for row in rows}) == 2
    assert all(row.label.startswith("vm/") for row in rows)


def test_a_narrow_table_keeps_node_ranks_cells_and_doing():
    title, first, *_ = lines(cluster(), 60)
    assert len(first) <= 60
    assert {"node", "ranks", "workers", "doing"} <= set(title.split())
    assert first.split()[:3] == ["n0", "0-7", "□" * 8]


def test_the_legend_names_every_sign():
    signs = {sign for sign, _, _ in LEGEND}
    assert signs == {"■", "▲", "◆", "✗", "□"}


def test_what_is_reserved_in_placement_groups_is_no_part_of_a_name():
    text = "1.0/2.0 CPU (1.0 used of 2.0 reserved in placement groups)\n0B/4.00GiB memory\n0.0/1.0 node:127.0.0.1"
    used, total = logical_resources(text)
    assert (used["CPU"], total["CPU"], total["memory"], total["node:127.0.0.1"]) == (1.0, 2.0, 2.0**32, 1.0)
