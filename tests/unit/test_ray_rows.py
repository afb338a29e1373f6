"""The Ray table: alike actors folded, odd ones first, old values dimmed."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.records.ray.cluster import Death, RayActor, RayApi, RayCluster
from hangtop.render.ray.ray_lines import death_rows, summary, trouble_rows
from hangtop.render.ray.ray_rows import actor_rows, table_rows
from tests.unit.test_ray_rules import HEALTHY, NOW, cluster, worker


def told(rows) -> list[str]:
    return ["".join(text for text, _ in row).rstrip() for row in rows]


def fleet() -> RayCluster:
    ranks = tuple(worker(rank, "update_actor" if rank == 3 else "sync_weights", since_seen=False) for rank in range(8))
    return cluster(
        actors=(*ranks, RayActor("TaskRunner", "running", method="run", since=NOW - 6200, since_seen=False)), actors_total=9
    )


def test_seven_alike_are_one_row_and_the_odd_one_stands_first_and_red():
    rows = actor_rows(fleet(), NOW, trouble=True)
    assert [(row.first.cls, len(row.actors), row.role) for row in rows] == [
        ("WorkerDict", 1, "bad"),
        ("TaskRunner", 1, ""),
        ("WorkerDict", 7, ""),
    ]
    _, first, runner, rest = told(table_rows(rows, 66))
    assert first.split() == ["WorkerDict", "3", "alive", "update_actor", "50s"]
    assert runner.split() == ["TaskRunner", "–", "alive", "run", "1h43"]
    assert rest.split() == ["WorkerDict", "×7", "0-2", "4-7", "alive", "sync_weights", "50s"]


def test_a_run_that_is_well_shows_no_red_for_peers_that_part_for_a_moment():
    assert all(not row.role for row in actor_rows(fleet(), NOW, trouble=False))


def test_every_row_is_exactly_as_wide_as_the_pane():
    for width in (40, 56, 66, 120):
        assert {len("".join(text for text, _ in row)) for row in table_rows(actor_rows(fleet(), NOW, trouble=True), width)} == {
            width
        }


def test_what_an_actor_waits_for_stands_in_its_row():
    actor = RayActor("Trainer", "resources", resources={"GPU": 16.0}, since=NOW - 9)
    _, row = told(table_rows(actor_rows(cluster(actors=(actor,)), NOW, trouble=False), 80))
    assert "waiting" in row
    assert "for GPU 16: the largest node has GPU 8" in row


def test_the_dead_show_cause_and_traceback_and_those_that_were_meant_to_end_are_only_counted():
    crash = Death("its __init__ raised", "RuntimeError: no model", ('File "a.py", line 1, in __init__', "RuntimeError: no model"))
    actors = (worker(0, None, state="dead", death=crash), worker(1, None, state="dead", death=Death("x", intended=True)))
    sick = cluster(actors=actors, actors_total=2)
    rows = actor_rows(sick, NOW, trouble=False)
    assert len(rows) == 1
    assert told(death_rows(rows, 80)) == ['  File "a.py", line 1, in __init__', "  RuntimeError: no model"]
    assert "1 dead · 0 alive · 0 pending · 1 ended · 1 node" in told([summary(sick, rows, NOW)])[0]


def test_old_values_say_how_old_they_are_and_are_dimmed():
    sick = replace(fleet(), api=replace(HEALTHY, gcs_ok=False, gcs_since=NOW - 44))
    rows = actor_rows(sick, NOW, trouble=False)
    assert told([summary(sick, rows, NOW)])[0].startswith("no answer for 40s")
    assert all(row.stale for row in rows)
    assert told(trouble_rows(sick, NOW, 80))[0].startswith("▸ the GCS does not answer")


def test_a_time_that_began_before_we_looked_is_at_least_so_long():
    _, row = told(table_rows(actor_rows(cluster(actors=(worker(0, "train"),)), NOW, trouble=False), 60))
    assert row.endswith("≥50s")


def test_enlarged_each_worker_says_its_memory_and_that_of_its_gpu():
    ranks = (worker(0, "train", rss_bytes=3 << 30, gpu_memory_bytes=71 << 30), worker(1, "train", rss_bytes=3 << 30))
    title, first, second = told(table_rows(actor_rows(cluster(actors=ranks), NOW, trouble=False, folded=False), 140, full=True))
    assert "rss G   gpu G" in title
    assert "3.0    71.0" in first
    assert "3.0       –" in second


def test_what_was_read_from_the_gcs_in_place_of_a_dashboard_says_so_and_how_old_it_is():
    bare = replace(fleet(), api=RayApi(answer="none", tables_at=NOW - 12))
    (said,) = told([summary(bare, actor_rows(bare, NOW, trouble=False), NOW)])
    assert said.startswith("from the GCS 10s ago · 9 alive")
    (said,) = told([summary(bare, actor_rows(bare, NOW + 60, trouble=False), NOW + 60)])
    assert said.startswith("no answer for 1"), "old values say their age"
    (said,) = told([summary(replace(bare, api=RayApi()), (), NOW)])
    assert said.startswith("processes only")
