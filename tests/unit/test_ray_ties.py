"""What ties a process to a Ray session: the files it holds open, and addresses in its environment and on its command line."""

from __future__ import annotations

import pytest

from hangtop.common.addresses import host_port, is_loopback, is_one_of
from hangtop.probe.processes.ray_ties import RayTieTable
from hangtop.probe.ray.local.daemons import addresses_of, daemon_of
from hangtop.records.process import Process
from hangtop.system.processes.environments import ProcessFacts
from hangtop.system.processes.table import OpenFile

NAME = "session_2026-11-22_12-45-13_123456_7711"
FOLDER = f"/tmp/ray/{NAME}"
DRIVER_LOG = f"{FOLDER}/logs/python-core-driver-02000000ffffffffffffffffffffffffffffffffffffffff_500.log"
WORKER_LOG = f"{FOLDER}/logs/worker-{'ab' * 28}-02000000-601.out"


def process(pid: int = 500) -> Process:
    return Process(pid, 10.0, 1_000, 1, "python", "python main.py", "S")


def ties(*targets: str, command: str = "python main.py", environ: dict[str, str] | None = None, logs=(), near: bool = True):
    files = {500: tuple(OpenFile(fd, target, writable=True) for fd, target in enumerate(targets, 3))}
    facts = {500: ProcessFacts.of("python", tuple(command.split()), environ or {})}
    found = RayTieTable().update((process(),), files, facts, logs, lambda pid: near)
    return [(tie.kind, tie.name, tie.job) for tie in found]


def test_open_files_tell_what_a_process_is_in_its_session():
    assert ties(DRIVER_LOG) == [("drives", FOLDER, "02000000")]
    assert ties(WORKER_LOG) == [("works", FOLDER, "02000000")]
    assert ties(f"{FOLDER}/logs/job-driver-raysubmit_x.log") == [("holds", FOLDER, "")]
    assert ties("/tmp/ray/session_latest/logs/x.log", "/tmp/ray", "/data/session_3/x", f"{FOLDER}2/x") == [
        ("holds", f"{FOLDER}2", "")
    ]


def test_a_log_in_the_folder_of_a_session_is_of_it():
    assert ties(logs=(f"{FOLDER}/logs/worker-1.out", "/runs/train.log")) == [("log", FOLDER, "")]


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({"RAY_ADDRESS": "10.0.0.1:6379"}, "10.0.0.1:6379"),
        ({"RAY_ADDRESS": "ray://head:10001"}, "head:10001"),
        ({"RAY_API_SERVER_ADDRESS": "http://10.0.0.1:8265"}, "10.0.0.1:8265"),
        ({"RAY_ADDRESS": "auto"}, None),
        ({"RAY_ADDRESS": "localhost"}, None),
        ({"RAY_ADDRESS": ""}, None),
        ({"OTHER_ADDRESS": "10.0.0.1:6379"}, None),
    ],
)
def test_an_address_in_the_environment_has_its_port(environ, name):
    assert ties(environ=environ) == ([("environment", name, "")] if name else [])


def test_addresses_and_sessions_on_the_command_line():
    line = (
        f"python main.py --address=10.0.0.1:6379 ray_init.address=http://h:8265/ --at {FOLDER}/logs out:3 a:b:c lr=1e-5 12:30:11"
    )
    assert ties(command=line) == [("argument", "10.0.0.1:6379", ""), ("argument", "h:8265", ""), ("argument", NAME, "")]


def test_this_machine_is_another_one_in_another_network():
    assert ties(environ={"RAY_ADDRESS": "localhost:6379"}) == [("environment", "127.0.0.1:6379", "")]
    assert ties(environ={"RAY_ADDRESS": "localhost:6379"}, near=False) == []
    assert ties(environ={"RAY_ADDRESS": "10.0.0.1:6379"}, near=False) == [("environment", "10.0.0.1:6379", "")]


def test_what_a_process_was_seen_to_hold_is_kept_and_marked_once_it_is_gone():
    known = RayTieTable()
    files = {500: (OpenFile(3, DRIVER_LOG, writable=True),)}
    (tie,) = known.update((process(),), files, {}, (), lambda pid: True)
    assert not tie.gone
    (kept,) = known.update((process(),), {}, {}, (), lambda pid: True)
    assert not kept.gone
    (past,) = known.update((), {}, {}, (), lambda pid: True)
    assert past.gone
    (again,) = known.update((process(),), files, {}, (), lambda pid: True)
    assert not again.gone


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10.0.0.1:6379", "10.0.0.1:6379"),
        ("http://10.0.0.1:8265/", "10.0.0.1:8265"),
        ("LOCALHOST:1", "127.0.0.1:1"),
        ("auto", None),
        ("local", None),
        ("", None),
        ("host:notaport", None),
        ("host:99999", None),
        ("[", None),
    ],
)
def test_an_address_needs_host_and_port(text, found):
    assert host_port(text) == found


def test_whether_two_addresses_are_one_place_may_be_unknown():
    assert is_one_of("10.0.0.1:6379", ("10.0.0.2:6379", "10.0.0.1:6379")) is True
    assert is_one_of("10.0.0.1:6379", ("10.0.0.2:6379", "10.0.0.1:6380")) is False
    assert is_one_of("head:6379", ("10.0.0.2:6379",)) is None
    assert is_one_of("127.0.0.1:6379", ("10.0.0.2:6379",)) is None
    assert is_one_of("127.0.0.1:6380", ("10.0.0.2:6379",)) is False
    assert is_one_of("10.0.0.1:6379", ()) is False
    assert is_loopback("127.0.0.1:1")
    assert not is_loopback("head:1")


def test_a_session_is_reached_by_every_name_of_the_machine_where_it_listens():
    from msgspec.structs import replace

    gcs = daemon_of(("/ray/gcs_server", "--gcs_server_port=6379", "--node-ip-address=10.0.0.1", f"--session-dir={FOLDER}"))
    raylet = daemon_of(("/ray/raylet", "--gcs-address=10.0.0.1:6379", f"--session_dir={FOLDER}"))
    assert gcs is not None
    assert raylet is not None
    assert addresses_of([raylet], "here") == ("10.0.0.1:6379",)
    assert addresses_of([raylet, gcs], "here") == ("10.0.0.1:6379",), "in a network of its own"
    near = [raylet, replace(gcs, on_our_network=True)]
    assert addresses_of(near, "here") == ("10.0.0.1:6379", "127.0.0.1:6379", "here:6379")
    own = daemon_of(("/ray/raylet", "--gcs-address=127.0.0.1:6379", f"--session_dir={FOLDER}"))
    assert own is not None
    assert addresses_of([own], "here") == ()
