"""The output files of a Ray run's ranks, laid out as a session lays them out: true progress, where the driver's log has gaps."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.common import clock
from hangtop.probe.context import ProbeContext
from hangtop.probe.log.log_source import LogSource
from hangtop.probe.log.pages import PageSource
from hangtop.probe.ray.local.worker_files import rank_files, worker_files
from hangtop.records.ask import PageAsk
from hangtop.records.log import BESIDE, PageReading
from hangtop.records.process import ProcessReading, Writer
from hangtop.records.ray.cluster import RayActor, RayCluster, RayDriver
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from tests.fakes.processes import PATIENCE_S

RANKS = 4
JOB = "01000000"


def bar(step: int, pid: int, total: int = 30) -> str:
    return (
        f'{{"__magic_token__": "__ray_tqdm_magic_token__", "x": {step}, "pos": 0, "desc": "train", "total": {total}, '
        f'"unit": "it", "ip": "127.0.0.1", "pid": {pid}, "uuid": "u{pid}", "closed": false}}\n'
    )


class Run:
    """A driver's log, deduplicated, and the files of its workers in the session's folder."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "train.log"
        self.session = folder / "session_2026-01-11_10-00-00_000000_7"
        (self.session / "logs").mkdir(parents=True)
        self.log.write_text("(TaskRunner pid=90) Training Progress:   3%|3         | 1/30 [00:02<00:58,  2.00s/it]\n")
        for rank in range(RANKS):
            self.say(rank, f":job_id:{JOB}\n:actor_name:WorkerDict\nstarting\n")
        self.context = ProbeContext(WatchSpec(logs=(str(self.log),)))
        self.source = LogSource(self.context)
        self.state = RunState()

    def path(self, rank: int, stream: str = "out") -> Path:
        return self.session / "logs" / f"worker-{rank:056x}-{JOB}-{100 + rank}.{stream}"

    def say(self, rank: int, text: str, stream: str = "out") -> None:
        with self.path(rank, stream).open("a") as file:
            file.write(text)

    def actors(self, job: str = JOB) -> tuple[RayActor, ...]:
        return tuple(
            RayActor("WorkerDict", "running", f"a{rank}", job=job, pid=100 + rank, rank=rank, log=str(self.path(rank)))
            for rank in range(RANKS)
        )

    def cluster(self) -> RayCluster:
        return RayCluster(
            self.session.name,
            actors=self.actors(),
            drivers=(RayDriver(JOB, 90, "n", "python train.py", local=True, started_at=0.0),),
        )

    def meet(self) -> None:
        self.context.workers = rank_files((self.cluster(),), {})

    def read(self, until) -> RunState:
        end = time.monotonic() + PATIENCE_S
        while not (self.state.log and until(self.state)):
            assert time.monotonic() < end, (self.state.log, self.state.ranks)
            for value in self.source.read(clock.now()):
                self.state = fold(self.state, Reading("log", "here", clock.now(), value))
            time.sleep(0.02)
        return self.state


@pytest.fixture
def run(tmp_path):
    watched_run = Run(tmp_path)
    yield watched_run
    watched_run.source.close()


def steps(state: RunState) -> dict[int, int | None]:
    return {number: rank.step for number, rank in state.ranks.items()}


def test_each_rank_has_the_step_that_its_own_file_tells(run):
    run.meet()
    for rank in range(RANKS):
        run.say(rank, bar(2 if rank == 3 else 7, 100 + rank))
    state = run.read(lambda s: steps(s) == {0: 7, 1: 7, 2: 7, 3: 2})
    assert {rank.total for rank in state.ranks.values()} == {30}
    run.say(3, bar(8, 103))
    run.read(lambda s: steps(s)[3] == 8)


def test_files_of_workers_say_nothing_of_how_the_run_goes(run):
    state = run.read(lambda s: s.log.caught_up and s.log.progress.step == 1)
    before = state.log
    run.meet()
    run.say(0, bar(7, 100))
    state = run.read(lambda s: steps(s).get(0) == 7)
    assert state.log.last_output_at == before.last_output_at
    assert (state.log.progress.step, state.log.bytes, state.log.last_line) == (1, before.bytes, before.last_line)
    assert [file.path for file in state.log.files] == [str(run.log)]
    assert len(run.context.beside) == 2 * RANKS
    assert all("actor_name" not in line.text and "magic" not in line.text for line in state.tail)


def test_an_error_in_one_file_is_a_finding_of_its_rank(run):
    run.meet()
    run.say(2, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n", "err")
    state = run.read(lambda s: any(f.file >= BESIDE for f in s.log.findings))
    (found,) = (f for f in state.log.findings if f.file >= BESIDE)
    assert found.ranks == (2,)


def test_a_worker_that_died_keeps_its_file(run):
    run.meet()
    run.say(1, bar(5, 101))
    run.read(lambda s: steps(s).get(1) == 5)
    run.context.workers = tuple(file for file in rank_files((run.cluster(),), {}) if file.rank != 1)
    run.say(1, bar(6, 101))
    run.read(lambda s: steps(s)[1] == 6)


def test_another_job_of_the_session_starts_over(run):
    run.meet()
    run.say(1, bar(5, 101))
    run.read(lambda s: steps(s).get(1) == 5)
    next_job = tuple(replace(file, job="02000000", path=file.path.replace(JOB, "02000000")) for file in run.context.workers)
    Path(next_job[2].path).write_text(bar(1, 101))
    run.context.workers = next_job
    state = run.read(lambda s: steps(s).get(1) == 1)
    assert set(steps(state)) == {1}


def test_lines_of_a_worker_s_file_can_be_asked_for_by_its_number(run):
    run.meet()
    run.read(lambda s: len(run.context.beside) == 2 * RANKS)
    number = BESIDE + next(place for place, file in enumerate(run.context.beside) if file.path == str(run.path(2)))
    *_, page = PageSource(run.context).answer(PageAsk(1, number, 1 << 40), 0.0)
    assert isinstance(page, PageReading)
    assert [(line.rank, line.text) for line in page.lines][-1] == (2, "starting")


def test_ranks_of_several_jobs_are_nobody_s(run):
    both = replace(run.cluster(), actors=(*run.actors(), *run.actors("02000000")))
    assert rank_files((both,), {}) == ()
    assert len(worker_files(both)) == 4 * RANKS


def test_the_ray_source_finds_the_files_of_the_job_whose_driver_writes_the_log(run):
    from hangtop.diagnosis.members.ray_ownership import clusters_of_run
    from hangtop.probe.ray.ray_source import RaySource
    from hangtop.records.ray.cluster import RayReading

    both = replace(run.cluster(), actors=(*run.actors(), *run.actors("02000000")))
    source = RaySource(run.context)
    run.context.procs = ProcessReading(writers=(Writer(90, 0.0, 0, "python", "python train.py", (str(run.log),)),))
    found = rank_files(clusters_of_run(source.run_with(RayReading((both,)))), {})
    assert {file.job for file in found} == {JOB}
    source.close()
