"""The processes pane row by row, from records alone: the tree, its folds, what stands apart, is hidden, old or left over."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from hangtop.common.text import ascii_only
from hangtop.records.checkpoints import CheckpointReading
from hangtop.records.gpu import Gpu, GpuProcess, GpuReading, NodeGpus
from hangtop.records.health import SourceHealth
from hangtop.records.host import Disk, HostReading
from hangtop.records.process import Process, ProcessReading, RecentActivity, Rendezvous, Writer
from hangtop.records.verdict import Culprit, Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.processes.life_signs import life_signs
from hangtop.render.processes.process_lines import (
    PLAIN,
    TreeOptions,
    lines,
    missing_right,
    nothing,
    outline,
    readings_of,
    summary,
)
from hangtop.render.processes.process_rows import RowLook, table_rows
from hangtop.render.processes.process_tree import Folds, TreeLine
from hangtop.render.spans import Row, width_of
from hangtop.render.view import View
from hangtop.state.run_state import RunState
from hangtop.system.processes.tree import with_subtrees

G = 2**30
NOW = 1_768_126_000.0


@pytest.fixture(autouse=True)
def _utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def process(pid: int, ppid: int = 100, command: str = "python train.py", **more: Any) -> Process:
    known: dict[str, Any] = {
        "started_at": NOW - 600, "start_ticks": pid, "name": "python", "state": "S", "user": "ada", "threads": 2,
        "cpu_percent": 10.0, "rss_bytes": G, "read_b_s": 0.0, "write_b_s": 0.0,
    }  # fmt: skip
    return Process(pid=pid, ppid=ppid, command=command, **{**known, **more})


def rank(number: int, **more: Any) -> Process:
    return process(200 + number, role="rank", rank=number, world=8, **more)


def torchrun(ranks: int = 4, workers: int = 2, **odd: Process) -> tuple[Process, ...]:
    """A launcher, its ranks, and the data loader workers of each. `odd`: ranks to put in, as `rank_3=…`."""
    found = [process(100, 1, "/opt/env/bin/torchrun --nproc-per-node 4 train.py", role="launcher", cpu_percent=0.0)]
    for number in range(ranks):
        found.append(odd.get(f"rank_{number}", rank(number)))
        found += [
            process(1_000 + 10 * number + n, 200 + number, role="data worker", rank=number, cpu_percent=1.0, rss_bytes=G // 4)
            for n in range(workers)
        ]
    return with_subtrees(found)


def view_of(reading: ProcessReading | dict[str, ProcessReading], *culprits: int, word: str = "hung", **state: Any) -> View:
    hosts = reading if isinstance(reading, dict) else {"n1": reading}
    blamed = tuple(Culprit(number, None, None, "likely", ()) for number in culprits)
    verdict = Verdict(word, "", "", culprits=blamed)  # type: ignore[arg-type]
    known = RunState(procs=next(iter(hosts.values())), processes=hosts, **state)
    return View(known, verdict, WatchSpec(logs=("train.log",)), NOW)


def nodes_of(view: View, shape: TreeOptions = PLAIN) -> list[TreeLine]:
    return lines(view, readings_of(view), shape)


def table(view: View, width: int = 58, shape: TreeOptions = PLAIN, **look: Any) -> list[Row]:
    nodes = nodes_of(view, shape)
    return table_rows(nodes, RowLook(NOW, single=shape.single, hosts=len(view.state.processes), **look), width, full=width >= 76)


def plain(rows: Sequence[Row]) -> list[str]:
    return ["".join(text for text, _ in row).rstrip() for row in rows]


def head(view: View, width: int = 118) -> str:
    return "".join(text for text, _ in summary(view, readings_of(view), width))


def roles_of(row: Row) -> set[str]:
    return {role for text, role in row if text.strip()}


def test_alike_ones_share_a_line_and_the_tree_shows_who_started_them() -> None:
    assert plain(table(view_of(ProcessReading(processes=torchrun()), word="running"))) == [
        "      pid  s   cpu  rss G  what",
        "      100  S    48    1.0  torchrun --nproc-per-node 4 tr…",
        "   4 pids  S    48    4.0  └ ranks 0-3 ×4  python train.py",
        "   8 pids  S     8    2.0    └ data loader workers ×8",
    ]


def test_only_the_culprit_is_red_and_it_stands_apart_and_first() -> None:
    rows = table(view_of(ProcessReading(processes=torchrun()), 3))
    assert plain(rows)[2:] == [
        "▸     203  S    12    1.0  ├ rank 3",
        "   2 pids  S     2    0.5  │ └ data loader workers ×2",
        "   3 pids  S    36    3.0  └ ranks 0-2 ×3  python train.py",
        "   6 pids  S     6    1.5    └ data loader workers ×6",
    ]
    assert "bad bold" in roles_of(rows[2])
    assert not any("bad" in role for row in (*rows[:2], *rows[3:]) for role in roles_of(row))


def test_one_that_works_in_a_slow_run_is_amber_and_says_what_it_writes() -> None:
    writes = rank(0, write_b_s=412e6)
    rows = table(view_of(ProcessReading(processes=torchrun(rank_0=writes)), 0, word="slow"), role="warn")
    assert plain(rows)[2] == "▸     200  S    12    1.0  ├ rank 0  w 412 MB/s"
    assert not any("bad" in role for row in rows for role in roles_of(row))


@pytest.mark.parametrize(
    ("more", "letter", "words"),
    [
        ({"state": "Z", "exit_code": -9}, "Z", "zombie, killed by SIGKILL"),
        ({"state": "T"}, "T", "stopped"),
        ({"state": "t", "tracer_pid": 77}, "t", "held by a debugger (pid 77)"),
        (
            {"state": "D", "wchan": "nfs_wait", "recent": RecentActivity(30, 30, 0.0, 1.0, "nfs_wait", 0.0, 0.0)},
            "D",
            "blocked in nfs_wait",
        ),
    ],
)
def test_what_is_dead_stopped_or_blocked_for_good_stands_apart_in_words(more: dict[str, Any], letter: str, words: str) -> None:
    rows = table(view_of(ProcessReading(processes=torchrun(rank_2=rank(2, **more))), word="running"), 100)
    row = next(row for row in rows if "rank 2" in plain([row])[0])
    assert plain([row])[0].endswith(words)
    assert (letter, "bad") in row


def test_a_passing_d_is_no_news() -> None:
    reads = rank(2, state="D", wchan="folio_wait", recent=RecentActivity(30, 30, 0.1, 0.6, None, 5.0, 200e6))
    assert "ranks 0-3 ×4" in "\n".join(plain(table(view_of(ProcessReading(processes=torchrun(rank_2=reads)), word="running"))))


def test_a_line_of_alike_ones_unfolds_and_what_is_below_a_line_folds() -> None:
    view = view_of(ProcessReading(processes=torchrun()), word="running")
    ranks = nodes_of(view)[1].path
    opened = TreeOptions(folds=Folds(frozenset({ranks})))
    assert [row[26:] for row in plain(table(view, shape=opened))[2:6]] == [
        " ├ rank 0  python train.py",
        " │ └ data loader workers ×2",
        " ├ rank 1  python train.py",
        " │ └ data loader workers ×2",
    ]
    closed = TreeOptions(folds=Folds(closed=frozenset({ranks})))
    assert plain(table(view, shape=closed))[2:] == ["   4 pids  S    48    6.0  └ ranks 0-3 ×4  + 8 below  pyt…"]


def test_a_fold_outlives_an_update_that_brings_and_takes_processes() -> None:
    before = view_of(ProcessReading(processes=torchrun()), word="running")
    shape = TreeOptions(folds=Folds(frozenset({nodes_of(before)[1].path})))
    later = view_of(ProcessReading(processes=torchrun(5, workers=0)), word="running")
    assert sum("  python train.py" in row for row in plain(table(later, shape=shape))) == 5


def test_sorted_by_cpu_memory_or_storage_each_process_stands_for_itself() -> None:
    view = view_of(ProcessReading(processes=torchrun(rank_2=rank(2, rss_bytes=9 * G, read_b_s=5e6))), word="running")
    by_cpu = plain(table(view, shape=TreeOptions(order="cpu")))
    assert len(by_cpu) == 1 + 13
    assert [row.split()[1:3] for row in by_cpu[1:5]] == [["S", "10"]] * 4
    assert by_cpu[-1].endswith("torchrun --nproc-per-node 4 tr…")
    assert "rank 2" in plain(table(view, shape=TreeOptions(order="memory")))[1]
    assert "rank 2" in plain(table(view, shape=TreeOptions(order="io")))[1]


@pytest.mark.parametrize(
    ("pattern", "count"), [("rank 2", 1), ("DATA LOADER", 8), ("203", 1), ("torchrun", 1), ("nothing like it", 0)]
)
def test_a_filter_keeps_what_says_that_text(pattern: str, count: int) -> None:
    view = view_of(ProcessReading(processes=torchrun()))
    assert len(nodes_of(view, TreeOptions(pattern=pattern))) == count


def test_the_others_are_listed_apart_when_asked_for() -> None:
    orphan = process(900, 1, "python old.py", rss_bytes=30 * G)
    reading = ProcessReading(
        processes=torchrun(2, 0),
        orphans=(orphan, process(901, 900, "python old.py", role="data worker")),
        zombies=(process(950, 1, "[pt_main_thread]", state="Z", exit_code=1),),
        ended=(rank(1, state="X", state_since=NOW - 60, exit_code=1),),
    )
    view = view_of(reading, word="running")
    assert len(nodes_of(view)) == 2
    rows = plain(table(view, 100, TreeOptions(everything=True)))
    assert [row for row in rows if not row.startswith(" ")] == ["orphans  2", "zombies  1", "ended  1"]
    assert any("└ data loader worker" in row for row in rows)
    assert rows[-1].endswith("rank 1  exit code 1, gone at 10:05:40")
    assert head(view).endswith("1 ended · 3.0 G · 1 zombie · 2 orphans")


def test_a_culprit_that_is_gone_stands_first_below_its_launcher() -> None:
    gone = rank(2, state="X", state_since=NOW - 60, exit_code=-9)
    reading = ProcessReading(processes=tuple(p for p in torchrun(4, 0) if p.rank != 2), ended=(gone,))
    rows = table(view_of(reading, 2, word="crashed"), 100)
    assert plain(rows)[2].startswith("✗     202  –     –")
    assert plain(rows)[2].endswith("rank 2  killed by SIGKILL, gone at 1…")
    assert "bad bold" in roles_of(rows[2])


def test_another_users_process_is_a_question_not_an_ok() -> None:
    hidden = {"rss_bytes": None, "cpu_percent": None, "read_b_s": None, "write_b_s": None, "missing_right": "sudo hangtop"}
    reading = ProcessReading(processes=(process(300, 1, "", name="python", user="bob", **hidden),), missing_right="sudo hangtop")
    view = view_of(reading, word="running")
    assert plain(table(view, 118))[1].split()[:6] == ["300", "S", "?", "?", "?", "2"]
    assert "?/?" in plain(table(view, 118))[1]
    assert "1 of another user" in head(view)
    assert missing_right(readings_of(view)) == "sudo hangtop"


@pytest.mark.parametrize(("age_s", "said"), [(2, ""), (6, "late: 5s old · "), (30, "no answer for 25s · ")])
def test_old_values_say_how_old_they_are(age_s: float, said: str) -> None:
    health = {"procs": SourceHealth("procs", read_at=NOW - age_s)}
    assert head(view_of(ProcessReading(processes=torchrun(1, 0)), word="running", health=health)).startswith(
        f"{said}2 of this run"
    )


def test_the_head_has_the_memory_of_the_run_and_of_what_it_may_use() -> None:
    machine = HostReading(cores=8, load_1m=4.6, memory_bytes=32 * G)
    reading = ProcessReading(processes=torchrun(1, 0))
    assert head(view_of(reading, machine=machine)) == "2 of this run · 2.0 G of 32.0 G · 8 cores, load 4.6"
    limited = HostReading(cores=8, memory_bytes=32 * G, cgroup_limit_bytes=16 * G)
    assert head(view_of(reading, machine=limited), 58) == "2 of this run · 2.0 G of 16.0 G"


def test_gpu_memory_of_a_rank_is_what_the_driver_says_it_holds() -> None:
    gpus = NodeGpus(GpuReading((Gpu(0, "ok", processes=(GpuProcess(200, 61 * G),)), Gpu(1, "ok"))), NOW)
    view = view_of(ProcessReading(processes=torchrun(2, 0)), 0, gpus={"n1": gpus})
    assert "gpu G" in plain(table(view, 118))[0]
    assert " 61.0 " in plain(table(view, 118))[2]


def test_many_nodes_fold_over_their_hosts() -> None:
    hosts = {f"n{node:02d}": ProcessReading(processes=node_of(node)) for node in range(32)}
    view = view_of(hosts, 217)
    rows = plain(table(view, 80))
    assert rows[1].split()[:4] == ["32", "nodes", "32", "pids"]
    assert rows[2].split()[:3] == ["▸", "n27", "10217"]
    assert rows[3].split()[:4] == ["32", "nodes", "255", "pids"]
    assert head(view) == "256 of 256 ranks seen · 32 launchers"


def node_of(node: int) -> tuple[Process, ...]:
    ranks = [process(10_000 + 8 * node + n, 9_000, role="rank", rank=8 * node + n, world=256) for n in range(8)]
    return with_subtrees([process(9_000, 1, "torchrun train.py", role="launcher"), *ranks])


def test_numbers_alone_do_not_change_the_outline_trouble_does() -> None:
    reading = ProcessReading(processes=torchrun())
    busier = ProcessReading(processes=torchrun(rank_1=rank(1, cpu_percent=90.0)))
    stopped = ProcessReading(processes=torchrun(rank_1=rank(1, state="T")))
    assert outline({"n1": reading}) == outline({"n1": busier})
    assert outline({"n1": reading}) != outline({"n1": stopped})


def test_nothing_says_why() -> None:
    def said(reading: ProcessReading) -> str:
        return "".join(text for text, _ in nothing(view_of(reading)))

    assert said(ProcessReading()) == "no process of this run found on n1"
    orphan = process(900, 1, "python old.py")
    assert said(ProcessReading(orphans=(orphan,))) == "no process of this run found on n1 · 1 orphan: a shows it"
    assert nothing(view_of(ProcessReading(orphans=(orphan,))), "A")[-1][0].endswith(": A shows it")
    gone = Writer(pid=7, started_at=NOW, name="python", command="python t.py", alive=False, gone_at=NOW - 60, exit_code=1)
    assert said(ProcessReading((gone,))) == "gone: python pid 7 at 10:05:40, exit code 1"


def test_signs_of_life_and_of_trouble() -> None:
    state = RunState(
        procs=ProcessReading(rendezvous=Rendezvous("10.0.0.1", 29500, 8, True, 3, (0, 1, 2), (3,))),
        machine=HostReading(
            8, memory_bytes=100 * G, available_bytes=50 * G, cgroup_limit_bytes=10 * G, cgroup_used_bytes=int(9.5 * G),
            oom_at=NOW - 60, disks=(Disk("/dev/shm", 100 * G, 2 * G, 20 * 2**20), Disk("/runs", 0, 0, problem="does not answer")),
        ),
        checkpoints=CheckpointReading("/c", "--ckpt", "/c/step_120/a.pt", 31 * G, growth_b_s=412e6, grown_at=NOW - 1),
    )  # fmt: skip
    assert plain(life_signs(state, NOW, trouble=True)) == [
        "the kernel killed a process for want of memory at 10:05:40",
        "memory 95% of the limit of 10.0 G",
        "/dev/shm 98% full, 2.0 G free, full in 1:40",
        "/runs: does not answer",
        "rank 3 not connected to 10.0.0.1:29500 (3 of 8 here are)",
        "checkpoint grows by 412 MB/s, step_120/a.pt 31.0 G",
    ]
    assert "rank 3" not in "".join(plain(life_signs(state, NOW, trouble=False)))
    usual = HostReading(8, memory_bytes=100 * G, available_bytes=50 * G, disks=(Disk("/", 100 * G, 50 * G, 1e6),))
    assert life_signs(RunState(machine=usual), NOW, trouble=True) == []


@pytest.mark.parametrize("width", [30, 44, 58, 78, 118, 198])
def test_no_row_is_wider_than_the_pane_and_ascii_keeps_the_width(width: int) -> None:
    for view in (view_of(ProcessReading(processes=torchrun()), 3), view_of({"a": ProcessReading(processes=torchrun())}, 1)):
        for row in table(view, width, TreeOptions(everything=True)):
            assert width_of(row) <= width
            assert len(ascii_only(plain([row])[0])) == len(plain([row])[0])


def test_a_broken_recording_with_a_process_of_itself_does_not_hang() -> None:
    loop = (process(10, 11), process(11, 10), process(12, 12))
    assert [node.first.pid for node in nodes_of(replace(view_of(ProcessReading(processes=loop)), verdict=None))] == [12]


def test_a_deep_chain_stays_in_sight() -> None:
    chain = tuple(process(100 + n, 99 + n, f"bash -c {n}") for n in range(3_000))
    rows = plain(table(view_of(ProcessReading(processes=chain))))
    assert len(rows) == 3_001
    assert "bash" in rows[-1]
