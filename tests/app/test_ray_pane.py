"""The Ray pane under keys: choose, filter, sort, open an actor's page."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.records.ask import ActorLogAsk, Ask
from hangtop.records.log import LogFile, LogReading
from hangtop.records.ray.cluster import Death, RayActor, RayCluster, RayNode, RayReading
from hangtop.records.ray.remote_workers import ActorLogReading, WorkerOutput
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.ray.ray_rows import key_of
from hangtop.tui.app import HangtopApp
from hangtop.tui.pages.actor_page import ActorScreen
from hangtop.tui.panes.ray_pane import RayPane
from tests.app.play import Clock, MemoryFeed, screen_text, settle, until

NOW = 1_768_125_000.0
LOGS = "/tmp/ray/session_x/logs"


def worker(rank: int, **known: object) -> RayActor:
    plain = {
        "id": f"id{rank}", "name": f"abcdefWorkerDict_0:{rank}", "rank": rank, "world": 4, "pid": 100 + rank, "host": "n1",
        "node": "n" * 56, "method": "update_actor", "since": NOW - 40, "rss_bytes": (rank + 1) << 30, "gpus": (rank,),
        "resources": {"GPU": 1.0}, "restarts": 2, "log": f"{LOGS}/worker-{rank:056x}-01000000-{100 + rank}.out",
    }  # fmt: skip
    return RayActor(**{"cls": "WorkerDict", "state": "running"} | plain | known)  # type: ignore[arg-type]


def cluster(*actors: RayActor) -> RayCluster:
    node = RayNode("n" * 56, "n1", moved_at=NOW - 1, head=True, local=True)
    return RayCluster("session_x", nodes=(node,), actors=actors, actors_total=len(actors))


FLEET = cluster(RayActor("TaskRunner", "running", "runner", method="run", pid=90, since=NOW - 900), *map(worker, range(4)))
OUTPUTS = (
    WorkerOutput("n1:/tmp/out", ("loading shard 7 of rank 2",), age_s=95.0),
    WorkerOutput("n1:/tmp/err", problem="not written yet, or removed"),
)


class Workers(MemoryFeed):
    """Whoever asks for an actor's output gets `OUTPUTS`."""

    def __init__(self, *readings: Reading) -> None:
        super().__init__(readings)
        self.logs: list[ActorLogAsk] = []

    def ask(self, ask: Ask) -> None:
        if isinstance(ask, ActorLogAsk):
            self.logs.append(ask)
            self.put(Reading("rayworkers", "n1", NOW, ActorLogReading(ask.ask, OUTPUTS)))
        super().ask(ask)


def readings(ray: RayCluster) -> list[Reading]:
    log = LogReading((LogFile("train.log", "ok", 9, 9, 1, NOW),), last_output_at=NOW, profiles=("verl", "ray"), fresh=True)
    return [Reading("log", "n1", NOW, log), Reading("ray", "n1", NOW, RayReading((ray,), named=True))]


def app_with(ray: RayCluster) -> tuple[HangtopApp, Workers]:
    feed = Workers(*readings(ray))
    return HangtopApp(WatchSpec(logs=("train.log",)), feed, now=Clock(NOW)), feed


@pytest.fixture
async def opened():
    app, feed = app_with(FLEET)
    async with app.run_test(size=(160, 50)) as pilot:
        await settle(pilot, app)
        await pilot.press("5")
        await settle(pilot, app)
        yield app, feed, pilot


async def test_enter_on_alike_actors_unfolds_them_and_on_one_opens_its_page(opened):
    app, feed, pilot = opened
    assert "WorkerDict ×4" in screen_text(app)
    await pilot.press("down", "end", "enter")
    await settle(pilot, app)
    assert "WorkerDict ×4" not in screen_text(app)
    await pilot.press("end", "up", "enter")
    await settle(pilot, app)
    assert isinstance(app.screen, ActorScreen)
    await settle(pilot, app)
    said = screen_text(app)
    for word in (
        "WorkerDict rank 2",
        "id2",
        "2 of 4",
        "GPU 1",
        "restarts      2",
        "102",
        "update_actor",
        "written 1:30 ago",
        "loading shard 7 of rank 2",
        "not written yet",
    ):
        assert word in said, said
    (ask,) = feed.logs
    assert (ask.session, ask.actor, ask.log) == ("session_x", "id2", worker(2).log)
    await pilot.press("escape")
    await until(pilot, lambda: app.screen is app.watch_screen)


async def test_the_output_of_an_actor_is_asked_for_only_while_its_page_is_open():
    far = worker(2, pid=None, ray_pid=77, log=None)
    app, feed = app_with(cluster(worker(0), far))
    async with app.run_test(size=(120, 45)) as pilot:
        await settle(pilot, app)
        assert not feed.logs
        app.show_actor(key_of(far))
        for _ in range(3):
            await settle(pilot, app)
        assert "loading shard 7 of rank 2" in screen_text(app)
        assert [(ask.actor, ask.log) for ask in feed.logs] == [("id2", None)]
        app.now.now += 5
        app.tick()
        await settle(pilot, app)
        assert len(feed.logs) == 2, "again after a few seconds"
        await pilot.press("escape")
        app.now.now += 60
        app.tick()
        await settle(pilot, app)
        assert len(feed.logs) == 2


async def test_the_choice_stays_with_the_actor_whatever_the_order(opened):
    app, _, pilot = opened
    pane = app.watch_screen.query_one(RayPane)
    await pilot.press("down", "end", "right", "end")
    assert pane.chosen == key_of(worker(3))
    orders = []
    for _ in range(4):
        await pilot.press("o")
        await settle(pilot, app)
        orders.append((pane.shape.order, [row.first.pid for row in pane._table]))
        assert pane.chosen == key_of(worker(3))
    assert orders[0] == ("rank", [100, 101, 102, 103, 90])
    assert orders[1][0] == "age"
    assert orders[1][1][0] == 90
    assert orders[2] == ("memory", [103, 102, 101, 100, 90])
    await pilot.press("escape")
    assert pane.shape.order == "oddness"


async def test_a_shows_nodes_with_a_cell_for_each_rank_and_enter_on_one_its_actors():
    far = RayNode("f" * 56, "n2", moved_at=NOW - 1)
    away = worker(3, node=far.id, host="n2", pid=None, ray_pid=103)
    ray = replace(cluster(worker(0), worker(1), worker(2), away), nodes=(cluster().nodes[0], far))
    app, _ = app_with(ray)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        await pilot.press("5", "a")
        await settle(pilot, app)
        said = screen_text(app)
        assert "■■■" in said, said
        rows = [line[61:].split()[:2] for line in said.splitlines() if "update_actor" in line and "■" in line[61:]][:2]
        assert rows == [["n1", "0-2"], ["n2", "3"]], said
        await pilot.press("down", "down", "enter")
        await settle(pilot, app)
        pane = app.watch_screen.query_one(RayPane)
        assert [row.first.rank for row in pane._table] == [3]
        await pilot.press("escape", "escape", "escape")
        await settle(pilot, app)
        assert not pane.by_node
        assert len(pane._table) == 1, "actors again, alike ones as one row"


async def test_slash_filters_the_actors_while_they_have_the_focus(opened):
    app, _, pilot = opened
    await pilot.press("slash", *"rank 1", "enter")
    await settle(pilot, app)
    pane = app.watch_screen.query_one(RayPane)
    assert [row.first.rank for row in pane._table] == [1]
    assert "with “rank 1”" in screen_text(app)


async def test_the_page_of_a_dead_actor_says_why_and_stays_when_ray_forgets_it():
    crash = Death("its __init__ raised", "RuntimeError: no model", ('File "a.py", line 1, in __init__', "RuntimeError: no model"))
    dead = worker(1, state="dead", method=None, pid=None, death=crash)
    app, feed = app_with(cluster(dead, worker(0)))
    async with app.run_test(size=(120, 45)) as pilot:
        await settle(pilot, app)
        await pilot.press("5", "home", "enter")
        await settle(pilot, app)
        assert 'File "a.py", line 1, in __init__' in screen_text(app)
        feed.put(Reading("ray", "n1", NOW, RayReading((replace(cluster(worker(0))),), named=True)))
        await settle(pilot, app)
        assert "its __init__ raised: RuntimeError: no model" in screen_text(app)
