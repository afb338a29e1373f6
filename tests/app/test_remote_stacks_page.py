"""The stacks page of a run with workers on other nodes: asks the dashboard, and sends a task only after it said so."""

from __future__ import annotations

from hangtop.records.ask import Ask, RemoteStacksAsk
from hangtop.records.log import LogFile, LogReading
from hangtop.records.ray.cluster import RayActor, RayCluster, RayNode, RayReading
from hangtop.records.ray.remote_workers import RemoteStacksReading
from hangtop.records.reading import Reading
from hangtop.records.stack import Frame, Stack, Thread
from hangtop.records.watch_spec import WatchSpec
from hangtop.tui.app import HangtopApp
from tests.app.play import Clock, MemoryFeed, screen_text, settle

NOW = 1_768_125_000.0
OFF = "the dashboard does not permit profiling"
WAITS = Thread("MainThread", (Frame("wait", "/usr/lib/python3.11/threading.py", 1), Frame("update_actor", "/a/fleet.py", 16)))


class Nodes(MemoryFeed):
    """The dashboard gives no stacks; a task does."""

    def __init__(self, *readings: Reading) -> None:
        super().__init__(readings)
        self.far: list[RemoteStacksAsk] = []

    def ask(self, ask: Ask) -> None:
        super().ask(ask)
        if isinstance(ask, RemoteStacksAsk):
            self.far.append(ask)
            found = tuple(
                Stack(
                    worker.pid,
                    NOW,
                    (WAITS,) if ask.task else (),
                    worker.rank,
                    host=worker.host,
                    problem=None if ask.task else OFF,
                )
                for worker in ask.workers
            )
            told = RemoteStacksReading(ask.ask, NOW, len(found), found, task=ask.task, done=True)
            self.put(Reading("rayworkers", "n1", NOW, told))


def app(*, read_only: bool = False) -> tuple[HangtopApp, Nodes]:
    node = RayNode("f" * 56, "n2", moved_at=NOW - 1)
    plain = {"node": node.id, "host": "n2", "method": "update_actor", "since": NOW - 40, "world": 2}
    actors = tuple(RayActor("WorkerDict", "running", id=f"{n}", rank=n, ray_pid=77 + n, **plain) for n in range(2))  # type: ignore[arg-type]
    log = LogReading((LogFile("train.log", "ok", 9, 9, 1, NOW),), last_output_at=NOW, profiles=("verl", "ray"), fresh=True)
    ray = RayReading((RayCluster("session_x", nodes=(node,), actors=actors, actors_total=2),), named=True)
    feed = Nodes(Reading("log", "n1", NOW, log), Reading("ray", "n1", NOW, ray))
    return HangtopApp(WatchSpec(logs=("train.log",)), feed, now=Clock(NOW), read_only=read_only), feed


async def settled(pilot, hangtop: HangtopApp) -> str:
    for _ in range(3):
        await settle(pilot, hangtop)
    return screen_text(hangtop)


async def test_a_task_is_sent_only_by_the_key_that_the_page_offers():
    hangtop, feed = app()
    async with hangtop.run_test(size=(140, 40)) as pilot:
        await settled(pilot, hangtop)
        assert feed.far == [], "nothing is asked of other nodes before a key"
        await pilot.press("s")
        said = await settled(pilot, hangtop)
        assert [ask.task for ask in feed.far] == [False]
        assert [(worker.rank, worker.pid) for worker in feed.far[0].workers] == [(0, 77), (1, 78)]
        assert f"ranks 0-1: {OFF}" in said
        assert "x  runs one short task on each of 1 node, in your cluster, with its own Python" in said
        hangtop.now.now += 1
        await pilot.press("x")
        said = await settled(pilot, hangtop)
        assert [ask.task for ask in feed.far] == [False, True]
        assert "2 ranks   0-1" in said
        assert "fleet.py:16" in said
        assert "runs one short task" not in said
        await pilot.press("x")
        assert len(feed.far) == 2, "there is nothing left to ask for"


async def test_with_read_only_no_task_is_offered_or_sent():
    hangtop, feed = app(read_only=True)
    async with hangtop.run_test(size=(140, 40)) as pilot:
        await settled(pilot, hangtop)
        await pilot.press("s")
        said = await settled(pilot, hangtop)
        assert [ask.task for ask in feed.far] == [False]
        assert "runs one short task" not in said
        await pilot.press("x")
        assert not any(ask.task for ask in feed.far)
