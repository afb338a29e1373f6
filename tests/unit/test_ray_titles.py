"""What titles, names, file names and Ray's last words say."""

from __future__ import annotations

import msgspec
import pytest

from hangtop.probe.ray.actor_records import death_of, verl_ranks
from hangtop.probe.ray.dashboard.api_schema import WorkerStats
from hangtop.probe.ray.local.daemons import daemon_of, without_secrets
from hangtop.probe.ray.local.session_files import WORKER_LOG
from hangtop.records.ray.titles import WorkerTitle, assigned_title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("ray::WorkerDict", WorkerTitle("WorkerDict")),
        ("ray::WorkerDict.actor_rollout_update_actor", WorkerTitle("WorkerDict", "actor_rollout_update_actor")),
        ("ray::slow_init:SlowInit.__init__", WorkerTitle("SlowInit", "__init__", "slow_init")),
        ("ray::abc123WorkerDict_0:3:WorkerDict.__init__", WorkerTitle("WorkerDict", "__init__", "abc123WorkerDict_0:3")),
        ("ray::create_cls.<locals>.WorkerDict.f", WorkerTitle("WorkerDict", "f")),
        ("ray::never", WorkerTitle("never")),
        ("ray::IDLE", None),
        ("python train.py", None),
        ("", None),
    ],
)
def test_a_title_says_class_method_and_name(text, title):
    assert assigned_title(text) == title


@pytest.mark.parametrize(
    ("cmdline", "title"),
    [
        (b'["ray::Worker.step", "", ""]', "ray::Worker.step"),
        (b' [ "ray::a\\", b:Worker" ]', 'ray::a", b:Worker'),
        (b"[]", ""),
        (b"null", ""),
        (b"[null]", ""),
    ],
)
def test_the_title_in_a_dashboard_s_answer_is_the_first_word_whatever_else_stands_there(cmdline, title):
    assert msgspec.json.decode(b'{"cmdline":%b}' % cmdline, type=WorkerStats).title == title


def test_a_worker_s_file_names_its_session_and_its_job():
    folder = "/tmp/ray/session_2026-01-10_08-00-00_1_5"
    name = f"{folder}/logs/worker-{'a' * 56}-01000000-4242"
    for path in (f"{name}.out", f"{name}.err", f"{name}.out.1"):
        found = WORKER_LOG.fullmatch(path)
        assert found is not None
        assert (found["folder"], found["job"]) == (folder, "01000000")
        assert found["path"] == path.removesuffix(".1"), "where the newest lines are"
    assert WORKER_LOG.fullmatch(f"{folder}/logs/raylet.out") is None


def test_ranks_count_through_the_node_groups_of_verl():
    names = [f"abc123WorkerDict_{group}:{local}" for group in range(2) for local in range(4)]
    assert verl_ranks([*names, "task_runner"]) == {name: number for number, name in enumerate(names)}


def test_a_gap_in_a_group_leaves_all_later_ranks_unknown():
    names = ["abc123WorkerDict_0:0", "abc123WorkerDict_0:2", "abc123WorkerDict_1:0"]
    assert verl_ranks(names) == {}


def test_a_worker_that_died_says_its_exit_type_without_the_list_of_common_causes():
    death = death_of(
        "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker "
        "unexpectedly exits with a connection error code 2. End of file. Some common causes include: (1) the process was killed"
    )
    assert death.cause == "its process ended: SYSTEM_ERROR"
    assert death.detail == "Worker unexpectedly exits with a connection error code 2. End of file."
    assert not death.intended


def test_an_init_that_raised_shows_the_persons_own_line_and_error():
    death = death_of(
        'Traceback (most recent call last):\n\n  File "python/ray/_raylet.pyx", line 2198, in ray._raylet.execute_task\n\n'
        '  File "/site-packages/ray/_private/function_manager.py", line 740, in executor\n    return method(*args)\n'
        '           ^^^^^\n\n  File "/home/me/train.py", line 81, in __init__\n    raise RuntimeError("model path not found")\n\n'
        "RuntimeError: model path not found\n\nThe actor died because of an error raised in its creation task, "
        "\x1b[36mray::A\x1b[39m\n"
    )
    assert death.cause == "its __init__ raised"
    assert death.traceback == (
        'File "/home/me/train.py", line 81, in __init__',
        'raise RuntimeError("model path not found")',
        "RuntimeError: model path not found",
    )


@pytest.mark.parametrize(
    "words",
    [
        "The actor is dead because all references to the actor were removed.",
        "The actor is dead because it was killed by `ray.kill`.",
        "The actor is dead because its owner has died. Owner Id: 01",
    ],
)
def test_an_end_that_was_meant_is_no_trouble(words):
    assert death_of(words).intended


def test_nothing_said_is_not_a_guess():
    assert death_of("-").cause == "not told by Ray"


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("--redis-password=hunter2", "--redis-password=***"),
        (
            "train.py --hf-token abc trainer.api_key=abc --max_tokens=512",
            "train.py --hf-token *** trainer.api_key=*** --max_tokens=512",
        ),
        ("redis://user:hunter2@host:6379", "redis://***@host:6379"),
        ("--port=6379", "--port=6379"),
    ],
)
def test_a_command_line_is_told_without_its_secrets(word, shown):
    assert without_secrets(word) == shown


def test_daemons_are_told_by_their_command_lines():
    raylet = daemon_of(
        (
            "/x/ray/core/src/ray/raylet/raylet",
            "--node_id=abc",
            "--session_dir=/tmp/ray/session_1",
            "--gcs-address=10.0.0.1:6379",
            "--python_worker_command=python default_worker.py --webui=10.0.0.1:8265 X",
        )
    )
    assert (raylet.kind, raylet.session, raylet.node) == ("raylet", "session_1", "abc")
    assert (raylet.gcs_address, raylet.dashboard) == ("10.0.0.1:6379", "10.0.0.1:8265")
    dashboard = daemon_of(
        ("python", "/x/ray/dashboard/dashboard.py", "--host=0.0.0.0", "--port=8266", "--session-dir=/r/session_2")
    )
    assert (dashboard.kind, dashboard.dashboard) == ("dashboard", "127.0.0.1:8266")
    assert daemon_of(("python", "monitor.py", "--logs-dir=/x")) is None
    assert daemon_of(("vim", "/x/ray/_private/log_monitor.py.bak")) is None
