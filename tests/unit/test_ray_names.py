"""What a log says of its Ray session: Ray's own words, from its versions, among all else that a log holds."""

from __future__ import annotations

import pytest

from hangtop.logs.digest import Digest
from hangtop.logs.extract.ray_sessions_named import MOST_SPEAKERS, together
from hangtop.records.log import RaySaid, RaySpeaker
from tests.fakes.read_log import INDEX

NAME = "session_2026-11-22_12-45-13_123456_7711"
JOINS = "2026-11-22 12:46:00,404\tINFO worker.py:1841 -- Connecting to existing Ray cluster at address: 10.3.0.11:6379...\n"
JOINED = (
    "2026-11-22 12:46:00,911\tINFO worker.py:2029 -- Connected to Ray cluster. View the dashboard at "
    "\x1b[1m\x1b[32mhttp://10.3.0.11:8265 \x1b[39m\x1b[22m\n"
)
STARTED = "2026-11-22 13:00:02,757\tINFO worker.py:1832 -- Started a local Ray instance. View the dashboard at 127.0.0.1:8265 \n"


def said(*lines: str) -> RaySaid | None:
    digest = Digest(INDEX, 0)
    digest.feed("".join(lines).encode())
    return digest.facts().ray


def test_a_log_that_says_nothing_of_ray():
    assert said("step 1 loss 0.1\n", "Training starts\n") is None


@pytest.mark.parametrize(
    ("lines", "joined", "started", "dashboard"),
    [
        ((JOINS, JOINED), "10.3.0.11:6379", False, "10.3.0.11:8265"),
        ((STARTED,), None, True, "127.0.0.1:8265"),
        (("2026-11-20 10:19:42,906\tINFO worker.py:2038 -- Started a local Ray instance.\n",), None, True, None),
        (
            (f"2026-03-05T09:12:06.839028088Z stdout F {STARTED}",),
            None, True, "127.0.0.1:8265",
        ),
        ((f"[rank0]: {JOINS}",), "10.3.0.11:6379", False, None),
        (("Connecting to existing Ray cluster at address: auto...\n",), None, False, None),
    ],
)  # fmt: skip
def test_ray_says_where_the_run_is(lines, joined, started, dashboard):
    found = said(*lines)
    assert (found.joined, found.started, found.dashboard) == (joined, started, dashboard) if found else not joined


def test_of_several_attempts_in_one_log_the_last_word_holds():
    first = (JOINS, JOINED, "(TaskRunner pid=900) hello world size: 8\n", f"(raylet) /tmp/ray/{NAME} is over 95% full\n")
    assert said(*first).speakers == (RaySpeaker("TaskRunner", 900),)
    assert said(*first).sessions == (NAME,)
    then = said(*first, STARTED)
    assert (then.joined, then.started, then.dashboard) == (None, True, "127.0.0.1:8265")
    assert (then.speakers, then.sessions) == ((), ())


def test_a_worker_that_joins_ray_speaks_for_itself():
    found = said(f"(WorkerDict pid=1107) {JOINS}")
    assert found.joined is None
    assert [(speaker.name, speaker.pid) for speaker in found.speakers] == [("WorkerDict", 1107)]


def test_who_spoke_is_known_by_class_pid_and_node():
    found = said("(WorkerDict pid=954, ip=127.0.0.4) rank 3 starts\n", "\x1b[36m(TaskRunner pid=12)\x1b[0m step:3 - loss:1\n")
    assert {(speaker.name, speaker.pid, speaker.ip) for speaker in found.speakers} == {
        ("WorkerDict", 954, "127.0.0.4"),
        ("TaskRunner", 12, ""),
    }
    many = said(*(f"(WorkerDict pid={pid}) rank {pid} of 4096\n" for pid in range(2_000)))
    assert len(many.speakers) <= MOST_SPEAKERS


def test_a_submitted_job_has_an_id():
    assert said("Job 'raysubmit_h3kQyWm2' submitted successfully\n", JOINS).submission == "raysubmit_h3kQyWm2"


def test_a_sample_of_the_model_that_quotes_ray_says_nothing():
    text = "(TaskRunner pid=12) DEBUG: <|im_start|>user\n"
    quoted = "(TaskRunner pid=12) Connecting to existing Ray cluster at address: 6.6.6.6:6379...\n"
    assert said(JOINS, text, quoted).joined == "10.3.0.11:6379"


def test_of_two_files_the_later_word_holds_and_all_who_spoke_count():
    early = RaySaid(joined="10.0.0.1:6379", at=10.0, speakers=(RaySpeaker("A", 1),))
    late = RaySaid(joined="10.0.0.2:6379", at=20.0, speakers=(RaySpeaker("B", 2),))
    plain = RaySaid(speakers=(RaySpeaker("C", 3),))
    for order in ((early, late, plain, None), (None, plain, late, early)):
        found = together(order)
        assert found.joined == "10.0.0.2:6379"
        assert {speaker.name for speaker in found.speakers} == {"A", "B", "C"}
    assert together((None, None)) is None
