"""What was written before the present processes started is the past."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.logs.attempts import Attempts, Restart, since_start
from hangtop.logs.file_facts import FileFacts, StageMark
from hangtop.probe.processes.present_attempt import LOOKS, present
from hangtop.probe.processes.run_members import _of_this_attempt
from hangtop.records.log import Finding, WrittenAt, at_once
from hangtop.records.process import Process
from hangtop.system.processes.table import Identity, Stat

LOG = "/runs/train.log"
TRAIN = Process(77, 1_000.0, 900, 70, "python", "python train.py", "S", role="other", wrote_bytes=0)
SHELL = Process(70, 500.0, 400, 1, "bash", "bash run.sh", "S", role="other", wrote_bytes=0)
KEEPER = Process(78, 1_000.0, 900, 70, "sleep", "sleep infinity", "S", role="other", wrote_bytes=0)
STATS = {pid: Stat(pid, "x", "S", parent, 70, 70, ticks) for pid, parent, ticks in ((70, 1, 400), (77, 70, 900), (78, 70, 900))}


def test_a_log_that_was_written_last_before_the_process_began_is_all_past() -> None:
    told = present(None, (SHELL, TRAIN), STATS, {LOG: (500, 990.0)}, None, {77})
    assert told is not None
    assert (told.at, told.older) == (1_000.0, {LOG: 500})


def test_what_is_more_than_the_run_has_ever_written_is_past() -> None:
    told = present(None, (SHELL, TRAIN), STATS, {LOG: (500, 1_010.0)}, 120, {77})
    assert told is not None
    assert told.older == {LOG: 380}
    blind = present(None, (SHELL, TRAIN), STATS, {LOG: (500, 1_010.0)}, None, {77})
    assert blind is not None
    assert blind.older == {LOG: 0}


def test_a_process_that_was_left_by_its_parent_is_not_all_that_wrote() -> None:
    left = {**STATS, 77: replace(STATS[77], ppid=1), 1: Stat(1, "init", "S", 0, 1, 1, 0)}
    told = present(None, (replace(TRAIN, ppid=1),), left, {LOG: (500, 1_010.0)}, 0, {77})
    assert told is not None
    assert told.older == {LOG: 0}


def test_what_only_keeps_a_container_alive_begins_no_attempt() -> None:
    assert present(None, (SHELL, KEEPER), STATS, {LOG: (500, 990.0)}, None, frozenset()) is None


def test_a_driver_of_ray_began_the_attempt_and_not_the_actors_that_it_starts_anew() -> None:
    driver = replace(TRAIN, role="launcher")
    actor = replace(TRAIN, pid=79, started_at=1_060.0, start_ticks=6_900, ppid=1, role="ray worker", wrote_bytes=9)
    stats = {**STATS, 79: Stat(79, "ray::Worker", "S", 1, 79, 79, 6_900)}
    told = present(None, (SHELL, driver, actor), stats, {LOG: (500, 1_010.0)}, None, {77, 79}, drivers={77})
    assert told is not None
    assert (told.at, told.older) == (1_000.0, {LOG: 0})


def test_the_attempt_is_kept_when_its_processes_end_and_when_it_was_looked_at_often_enough() -> None:
    told = present(None, (TRAIN,), STATS, {LOG: (500, 990.0)}, None, {77})
    assert present(told, (), STATS, {LOG: (900, 1_020.0)}, None, ()) is told
    for _ in range(LOOKS):
        told = present(told, (TRAIN,), STATS, {LOG: (900, 1_020.0)}, 10, {77})
    assert told is not None
    assert present(told, (TRAIN,), STATS, {LOG: (9_900, 1_090.0)}, 0, {77}) is told


def facts(*marks: StageMark, **more: object) -> FileFacts:
    return replace(FileFacts(0), marks=marks, **more)


def test_messages_before_the_start_are_of_an_earlier_attempt_by_time_or_by_offset() -> None:
    crash = Finding("py.traceback", "fatal", "cause", 300, "RuntimeError: x", at=900.0)
    attempts = since_start(Attempts(), [facts(findings=(crash,))], 1_000.0, {})
    assert attempts.count == 2
    assert attempts.number(0, 300, at_once(900.0)) == (1, True)
    assert attempts.number(0, 400, at_once(1_001.0)) == (2, True)
    unstamped = facts(findings=(replace(crash, at=None),))
    assert since_start(Attempts(), [unstamped], 1_000.0, {}).count == 1, "nothing proves that it is older"
    by_offset = since_start(Attempts(), [unstamped], 1_000.0, {0: 350})
    assert by_offset.number(0, 300, WrittenAt()) == (1, True)
    assert by_offset.number(0, 360, WrittenAt()) == (2, True)
    is_present = by_offset.is_present(0)
    assert (is_present(300, None), is_present(360, None), is_present(300, 1_200.0)) == (False, True, True)


def test_a_restart_that_the_log_shows_itself_is_not_counted_twice() -> None:
    old = StageMark("generic", "config", 10, 900.0, ())
    shown = Attempts((Restart(at_once(1_002.0), {0: 400}),))
    assert since_start(shown, [facts(old)], 1_000.0, {0: 350}) is shown
    before = Attempts((Restart(at_once(800.0), {0: 100}),))
    assert since_start(before, [facts(old)], 1_000.0, {0: 350}).count == 3


def test_how_a_rank_of_an_earlier_attempt_ended_says_nothing_of_this_one() -> None:
    ended = replace(TRAIN, pid=40, role="rank", rank=3, state="X", exit_code=1, started_at=600.0, state_since=1_001.0)
    known = {Identity(40, 9): ended}
    assert _of_this_attempt(known, (TRAIN,), (TRAIN,)) == {}
    peer = replace(TRAIN, started_at=601.0)
    assert _of_this_attempt(known, (peer,), (peer,)) == known, "its peers run on"
    assert _of_this_attempt(known, (KEEPER,), ()) == known, "what only keeps a container alive is no attempt"
