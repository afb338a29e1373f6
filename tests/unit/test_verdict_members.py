"""Who waits for whom: verdicts over ranks whose processes and stacks are known, one state a rule."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.checkpoints import CheckpointReading
from hangtop.records.host import HostReading
from hangtop.records.log import Finding, RankLog
from hangtop.records.process import Process, ProcessReading, RecentActivity, Rendezvous, Writer
from hangtop.records.stack import Excerpt, Frame, Loop, Stack, StacksReading, Thread
from hangtop.records.verdict import Evidence
from hangtop.state.run_state import RunState
from tests.fakes.members import (
    ALL_REDUCE,
    BROADCAST,
    BUSY,
    C10D,
    DATA,
    IDLE,
    LOCK,
    MEETING,
    NOW,
    PACK,
    SAVE,
    SPEC,
    SPIN,
    STEP,
    THREADING,
    USER,
    four,
    process,
    run,
    thread,
)

BELOW = thread(Frame("step", "/venv/lib/python3.11/site-packages/engine/core.py", 9), Frame("poll_flag", USER, 70), state="R")
PAIR = thread(Frame("recv", C10D, 2200))
SYNC = thread(Frame("receive_weights", USER, 64), wait="socket")
GENERATE = thread(Frame("generate_sequences", USER, 66), wait="socket")
ASKS = thread(Frame("ask_rewards", USER, 67), wait="socket")
IDLE_WORKER = Thread(
    "MainThread", (Frame("main_loop", "/venv/lib/python3.11/site-packages/ray/_private/worker.py", 900),), state="S"
)
BATCH = thread(Frame("get", "/usr/lib/python3.11/multiprocessing/queues.py", 103), Frame("next_batch", USER, 68), wait="pipe")


def looping(
    loop: Any, stack: Thread = SPIN, silence_s: float = 200, busy_children: bool = False, counted: bool = False
) -> RunState:
    """Rank 2 burns a core in one line, and its source tells this of the loop around it."""
    more: dict[str, Any] = {"subtree_size": 3, "subtree_cpu_percent": 190.0} if busy_children else {}
    state = four(replace(stack, owns_gil=True), process(2, BUSY, "R", **more), silence_s=silence_s)
    excerpt = Excerpt(USER, 69, ("while True:", "    number += 1"), at=70, loop=loop, counted=counted)
    return replace(state, looks=tuple(replace(look, excerpts=(excerpt,)) for look in state.looks))


def half_read() -> RunState:
    state = looping("endless")
    other = replace(SPIN, frames=(Frame("poll_flag", USER, 69), STEP))
    last = replace(
        state.looks[1],
        stacks=tuple(replace(stack, threads=(other,)) if stack.pid == 102 else stack for stack in state.looks[1].stacks),
    )
    return replace(state, looks=(state.looks[0], last))


def p2p() -> RunState:
    return run({0: ALL_REDUCE, 1: PAIR, 2: PAIR, 3: ALL_REDUCE}, tuple(process(rank) for rank in range(4)))


def left_over(*ranks: int) -> RunState:
    return run(dict.fromkeys(ranks, ALL_REDUCE), tuple(process(rank) for rank in ranks))


def most(odd: Thread) -> RunState:
    return run({0: ALL_REDUCE, 1: odd, 2: odd, 3: odd}, tuple(process(rank) for rank in range(4)))


def asks(switches_s: float, silence_s: float = 200) -> RunState:
    """Rank 2 waits for the network, and its main thread wakes up so often."""
    return four(ASKS, process(2, replace(IDLE, switches_s=switches_s)), silence_s=silence_s)


def orphan() -> RunState:
    state = four(BATCH)
    assert state.procs is not None
    dead = Process(500, 1.0, 9, 102, "python", "", "Z")
    return replace(state, procs=replace(state.procs, processes=(*state.procs.processes, dead)))


def loader(busy: int, does: str = "__getitem__", **recent: float) -> RunState:
    """Rank 2 waits for its data; of its two workers so many burn a core each."""
    state = four(DATA)
    assert state.procs is not None
    burns = replace(BUSY, main_cpu_part=0.97, **recent)
    workers = tuple(
        replace(process(2, burns if number < busy else IDLE), pid=500 + number, ppid=102, role="data worker", rank=None)
        for number in range(2)
    )
    in_item = Thread("MainThread", (Frame(does, USER, 31),), state="R", owns_gil=True)
    stacks = tuple(Stack(500 + number, NOW, (in_item,), started_ticks=7) for number in range(busy))
    looks = tuple(replace(look, stacks=(*look.stacks, *stacks)) for look in state.looks)
    return replace(state, looks=looks, procs=replace(state.procs, processes=(*state.procs.processes, *workers)))


def wrong_port() -> RunState:
    state = four(MEETING, peers=MEETING, stage="dist_init")
    assert state.procs is not None
    meeting = Rendezvous("127.0.0.1", 29500, 4, listening=True, established=3, joined=(0, 1, 3), missing=(2,))
    return replace(state, procs=replace(state.procs, rendezvous=meeting))


@pytest.mark.parametrize(
    ("state", "word", "kind", "culprits"),
    [
        pytest.param(four(LOCK), "hung", "cpu_collective", [2], id="a lock, its peers wait"),
        pytest.param(looping("endless"), "hung", "python_loop", [2], id="a loop that its source shows to be endless"),
        pytest.param(half_read(), "hung", "python_loop", [2], id="the source of its other line is not read yet"),
        pytest.param(looping("waits"), "hung", "python_loop", [2], id="a busy wait"),
        pytest.param(looping(None), "slow", None, [2], id="one line of C code, or a long loop: it may work"),
        pytest.param(looping(None, silence_s=400), "hung", "python_loop", [2], id="in one line for three limits"),
        pytest.param(looping("ends", silence_s=400, counted=True), "slow", None, [2], id="rounds that are counted, for as long"),
        pytest.param(looping("endless", BELOW), "slow", None, [2], id="the loop is endless, but calls a library that works"),
        pytest.param(looping("endless", busy_children=True), "slow", None, [], id="an endless loop whose children work"),
        pytest.param(left_over(0, 1, 3), "crashed", "dead_process", [2], id="a rank between two others has no process"),
        pytest.param(left_over(0, 1), "hung", "cpu_collective", [], id="two of four are elsewhere, or gone: nobody is blamed"),
        pytest.param(most(LOCK), "hung", "cpu_collective", [1, 2, 3], id="three of four stand still, the fourth waits for them"),
        pytest.param(most(IDLE_WORKER), "stalled", "unknown", [], id="three idle workers are not to blame"),
        pytest.param(asks(0.0), "hung", "cpu_collective", [2], id="a server that is silent"),
        pytest.param(asks(3.0), "slow", None, [], id="answers that come slowly"),
        pytest.param(asks(3.0, silence_s=400), "hung", "cpu_collective", [2], id="answers that come slowly for three limits"),
        pytest.param(four(PAIR), "hung", "desync", [2], id="a receive from one, where the others are in a collective of all"),
        pytest.param(p2p(), "hung", "desync", [1, 2], id="two of four receive from each other"),
        pytest.param(four(SYNC), "hung", "weight_sync", [2], id="its functions name the kind"),
        pytest.param(four(GENERATE), "hung", "generation", [2], id="a rollout that never comes back"),
        pytest.param(loader(1), "slow", "dataloader", [None], id="one of two data workers may loop without end"),
        pytest.param(loader(2), "slow", "dataloader", [], id="both data workers work"),
        pytest.param(
            four(replace(SPIN, frames=(Frame("reward", USER, 9),)), process(2, BUSY)), "slow", None, [2], id="reward, at one line"
        ),
        pytest.param(four(replace(SPIN, frames=(Frame("save_best", USER, 9),)), process(2, BUSY)), "slow", None, [], id="a save"),
        pytest.param(loader(1, "save_cache"), "slow", "dataloader", [], id="its name says what takes so long"),
        pytest.param(loader(1, passed_b_s=9e6), "slow", "dataloader", [], id="it passes bytes"),
        pytest.param(orphan(), "hung", "dataloader", [2], id="its loader process has died"),
        pytest.param(wrong_port(), "hung", "rendezvous", [2], id="all wait to meet, one is not connected"),
        pytest.param(four(PACK, process(2, BUSY, "R")), "slow", None, [], id="C code works, without the GIL"),
        pytest.param(four(SAVE, process(2, BUSY, "R")), "slow", None, [], id="it saves: slow, do not kill"),
        pytest.param(
            four(LOCK, process(2, subtree_cpu_percent=150.0, subtree_size=3)), "slow", None, [], id="its compiler works"
        ),
        pytest.param(four(LOCK, process(2, replace(IDLE, io_b_s=4e8), subtree_io_b_s=4e8)), "slow", None, [], id="it reads"),
        pytest.param(four(BROADCAST), "hung", "desync", [2], id="another collective than its peers"),
        pytest.param(four(ALL_REDUCE), "hung", "cpu_collective", [], id="all in one collective, none stands out"),
        pytest.param(four(LOCK, process(2, state="T")), "hung", "stopped", [2], id="stopped by a signal"),
        pytest.param(four(LOCK, process(2, state="Z", exit_code=-9)), "crashed", "dead_process", [2], id="a zombie"),
        pytest.param(
            four(
                LOCK,
                process(2, replace(IDLE, blocked_part=1.0, wchan="rpc_wait_bit_killable"), "D", wchan="rpc_wait_bit_killable"),
            ),
            "hung",
            "io_blocked",
            [2],
            id="blocked in a dead mount",
        ),
        pytest.param(
            four(LOCK, process(2, replace(IDLE, blocked_part=1.0, wchan="folio_wait", io_b_s=3e9), "D", subtree_io_b_s=3e9)),
            "slow",
            None,
            [],
            id="in D, but gigabytes move",
        ),
        *(
            pytest.param(four(LOCK, process(2, replace(IDLE, blocked_part=1.0, wchan=wchan), "D")), "hung", kind, [2], id=wchan)
            for kind, names in {
                "driver_hung": ("nvidia_ioctl", "nv_open_device", "_nv012345rm", "uvm_va_space_down_read", "os_acquire_mutex"),
                "io_blocked": ("nvme_submit_user_cmd", "nvmet_execute_io", "nvmem_reg_read", "nvdimm_flush", "rmap_walk_anon"),
            }.items()
            for wchan in names
        ),
        pytest.param(four(LOCK, peers=MEETING, stage="dist_init"), "hung", "rendezvous", [2], id="it never joined the group"),
        pytest.param(four(LOCK, stage="weight_sync"), "hung", "weight_sync", [2], id="the stage names the kind"),
        pytest.param(four(LOCK, silence_s=30), "running", None, [], id="not quiet yet"),
    ],
)
def test_the_verdict(state: RunState, word: str, kind: str | None, culprits: list[int]) -> None:
    verdict = diagnose(state, SPEC, NOW)
    assert (verdict.word, verdict.kind, [culprit.rank for culprit in verdict.culprits]) == (word, kind, culprits)


@pytest.mark.parametrize("recent", [IDLE, BUSY], ids=["hung", "works"])
def test_who_is_only_probably_of_the_run_makes_nothing_certain(recent: RecentActivity) -> None:
    state = four(LOCK, process(2, recent))
    assert state.procs is not None
    note = "nobody holds the log open; pid 100 is probably its writer"
    verdict = diagnose(replace(state, procs=replace(state.procs, taken=(100,), note=note)), SPEC, NOW)
    assert verdict.confidence == "possible"
    assert all(culprit.confidence == "possible" for culprit in verdict.culprits)
    assert any(evidence.text == note for evidence in verdict.evidence)
    assert diagnose(state, SPEC, NOW).confidence != "possible"


def test_a_rank_whose_share_of_a_core_is_limited_by_stop_and_continue_is_alive() -> None:
    verdict = diagnose(four(LOCK, process(2, state="T", cpu_percent=15.0)), SPEC, NOW)
    assert verdict.kind != "stopped"
    assert verdict.word in ("running", "slow")


def test_who_is_held_by_another_look_at_its_stack_is_not_stopped() -> None:
    held = process(2, state="t", tracer_pid=77)
    at_once = diagnose(four(LOCK, replace(held, state_since=NOW - 0.5)), SPEC, NOW)
    later = diagnose(four(LOCK, replace(held, state_since=NOW - 60)), SPEC, NOW)
    assert at_once.kind != "stopped"
    assert (later.kind, [culprit.rank for culprit in later.culprits]) == ("stopped", [2])


def test_a_rank_that_never_started_is_named() -> None:
    processes = tuple(process(rank) for rank in (0, 1, 3))
    meeting = Rendezvous("127.0.0.1", 29500, world=4, listening=True, established=2)
    state = run(dict.fromkeys((0, 1, 3), MEETING), processes, procs=ProcessReading(processes=processes, rendezvous=meeting))
    verdict = diagnose(state, SPEC, NOW)
    assert (verdict.word, verdict.kind) == ("hung", "rendezvous")
    assert [culprit.rank for culprit in verdict.culprits] == [2]
    assert "127.0.0.1:29500" in verdict.headline
    assert any("the run listens" in fact.text for fact in verdict.evidence)


@pytest.mark.parametrize(
    ("from_elsewhere", "culprits", "says"),
    [
        pytest.param(0, [4, 5, 6, 7], "Ranks 4-7 never came", id="nobody of the other node"),
        pytest.param(3, [], "3 connections came from other machines, where ranks 4-7 run", id="three of four, unnamed"),
        pytest.param(4, [], "4 connections came", id="all of them"),
        pytest.param(None, [], "no peer comes", id="the master is elsewhere"),
    ],
)
def test_ranks_of_another_node_are_named_only_where_nobody_came_from_there(
    from_elsewhere: int | None, culprits: list[int], says: str
) -> None:
    processes = tuple(process(rank, world=8) for rank in range(4))
    listens = from_elsewhere is not None
    meeting = Rendezvous("n1", 29500, 8, listening=listens, established=4 + (from_elsewhere or 0), from_elsewhere=from_elsewhere)
    state = run(dict.fromkeys(range(4), MEETING), processes, procs=ProcessReading(processes=processes, rendezvous=meeting))
    verdict = diagnose(state, SPEC, NOW)
    assert [culprit.rank for culprit in verdict.culprits] == culprits
    assert says in verdict.headline


def test_who_waits_elsewhere_and_has_not_joined_its_peers_is_named_for_both() -> None:
    meeting = Rendezvous("127.0.0.1", 29500, 4, listening=True, established=3, joined=(0, 1, 3), missing=(2,))
    state = four(LOCK, stage="dist_init")
    assert state.procs is not None
    early = {rank: replace(log, step=None) for rank, log in state.ranks.items()}
    (culprit,) = diagnose(replace(state, ranks=early, procs=replace(state.procs, rendezvous=meeting)), SPEC, NOW).culprits
    assert (culprit.rank, "has not joined its peers at the master port" in culprit.why) == (2, True)
    (culprit,) = diagnose(replace(state, procs=replace(state.procs, rendezvous=meeting)), SPEC, NOW).culprits
    assert "has not joined its peers at the master port" not in culprit.why


def test_a_rank_that_is_gone_while_others_wait_is_dead_and_memory_may_be_why() -> None:
    left = tuple(process(rank) for rank in (0, 1, 3))
    procs = ProcessReading(processes=left, ended=(process(2, exit_code=-9),))
    state = run(dict.fromkeys((0, 1, 3), ALL_REDUCE), left, procs=procs, silence_s=30)
    verdict = diagnose(state, SPEC, NOW)
    assert (verdict.kind, verdict.confidence) == ("dead_process", "certain")
    assert "killed by SIGKILL" in verdict.headline
    starved = diagnose(replace(state, machine=HostReading(cores=2, oom_at=NOW - 40)), SPEC, NOW)
    assert "want of memory" in starved.headline


@pytest.mark.parametrize(
    ("others", "silence_s", "word"),
    [
        ({"step": 6, "total": 30}, 200, "hung"),
        ({"step": 6, "total": 30}, 20, "running"),
        ({"step": 6}, 200, "hung"),
        ({"step": 30, "total": 30}, 20, "finished"),
        ({"step": 6, "total": 30, "stage": "finish"}, 20, "finished"),
        ({}, 20, "finished"),
    ],
)
@pytest.mark.parametrize("seen_to_end", [True, False])
def test_a_rank_that_said_it_finished_and_left_is_not_the_end_of_a_run_whose_others_go_on(
    others: dict[str, Any], silence_s: float, word: str, seen_to_end: bool
) -> None:
    left = tuple(process(rank) for rank in (0, 1, 2))
    procs = ProcessReading(processes=left, ended=(process(3, state="X", exit_code=0),) if seen_to_end else ())
    state = run(dict.fromkeys((0, 1, 2), ALL_REDUCE), left, procs=procs, silence_s=silence_s)
    end = replace(state.log.stages[0], id="finish", title="finished", offset=90, at=NOW - silence_s)
    state = replace(state, log=replace(state.log, stages=(*state.log.stages, end)))
    ranks = (*(RankLog(rank, world=4, **others) for rank in (0, 1, 2)), RankLog(3, world=4, step=5, total=30, stage="finish"))
    verdict = diagnose(replace(state, ranks={rank.rank: rank for rank in ranks}), SPEC, NOW)
    assert verdict.word == word
    assert verdict.stage.id == ("finish" if word == "finished" else "train_loop")


def test_of_two_ranks_one_that_said_it_finished_and_is_not_here_is_not_the_end_of_the_other() -> None:
    left = (process(0, world=2),)
    state = run({0: ALL_REDUCE}, left)
    end = replace(state.log.stages[0], id="finish", title="finished", offset=90)
    ranks = {0: RankLog(0, world=2, step=6, total=30), 1: RankLog(1, world=2, step=6, total=30, stage="finish")}
    verdict = diagnose(replace(state, log=replace(state.log, stages=(*state.log.stages, end)), ranks=ranks), SPEC, NOW)
    assert (verdict.word, verdict.stage.id) == ("hung", "train_loop")


@pytest.mark.parametrize(("after_s", "word"), [(60.0, "slow"), (1.0, "hung")])
def test_a_script_that_goes_from_command_to_command_is_at_work_and_one_child_that_never_ends_is_not(
    after_s: float, word: str
) -> None:
    shell = thread(Frame("wait", "/usr/lib/python3.11/subprocess.py", 1264), Frame("upload", USER, 61), wait="child")
    known = process(2, subtree_size=3, subtree_started_at=NOW - 130 + after_s)
    assert diagnose(four(shell, known, silence_s=130), SPEC, NOW).word == word


def test_ranks_that_are_done_before_one_that_still_saves_are_no_dead_ones() -> None:
    ended = tuple(process(rank, exit_code=0) for rank in (1, 2, 3))

    def left(thread: Thread, recent: RecentActivity, silence_s: float = 200) -> RunState:
        saver = process(0, recent)
        return run({0: thread}, (saver,), procs=ProcessReading(processes=(saver,), ended=ended), silence_s=silence_s)

    assert diagnose(left(SAVE, BUSY), SPEC, NOW).word == "slow"
    assert diagnose(left(LOCK, IDLE, silence_s=30), SPEC, NOW).word == "running"
    assert diagnose(left(LOCK, IDLE), SPEC, NOW).kind == "dead_process"


def loader(recent: RecentActivity) -> RunState:
    trainer = process(0)
    worker = Process(500, 1.0, 9, trainer.pid, "pt_data_worker", "python", "S", role="data worker", recent=recent)
    worker = replace(worker, cpu_percent=recent.cpu_percent, subtree_cpu_percent=recent.cpu_percent)
    return run({0: DATA}, (trainer, worker))


def test_data_that_never_comes_and_data_that_comes_slowly_are_told_apart() -> None:
    idle, busy = diagnose(loader(IDLE), SPEC, NOW), diagnose(loader(BUSY), SPEC, NOW)
    assert (idle.word, idle.kind) == ("hung", "dataloader")
    assert (busy.word, busy.kind) == ("slow", "dataloader")


def test_a_data_worker_that_takes_its_time_for_each_sample_is_told_from_one_that_asks_for_its_file() -> None:
    state = loader(replace(IDLE, switches_s=0.7))
    place = Frame("__getitem__", USER, 31)
    sleeps = thread(place, wait="sleep")
    looks = tuple(replace(look, stacks=(*look.stacks, Stack(500, NOW, (sleeps,), started_ticks=9))) for look in state.looks)

    def around(loop: Loop) -> RunState:
        sources = tuple(Excerpt(frame.file, 1, (), at=frame.line, loop=found) for frame, found in ((place, loop), (STEP, "none")))
        return replace(state, looks=tuple(replace(look, excerpts=sources) for look in looks))

    assert diagnose(around("none"), SPEC, NOW).word == "slow"
    assert diagnose(around("asks"), SPEC, NOW).word == "hung"


def test_a_run_of_one_process_whose_threads_wait_for_each_other_has_nobody_else_to_blame() -> None:
    said = diagnose(run({0: thread(Frame("Barrier._wait", THREADING, 690))}, (replace(process(0), world=1),)), SPEC, NOW)
    assert (said.word, [culprit.rank for culprit in said.culprits]) == ("hung", [0])


def test_a_growing_checkpoint_is_a_sign_of_life() -> None:
    saved = CheckpointReading("/ckpt", "--ckpt", newest="model.pt", growth_b_s=4e8, grown_at=NOW - 3)
    assert diagnose(four(LOCK, checkpoints=saved), SPEC, NOW).word == "slow"
    old = replace(saved, grown_at=NOW - 120)
    assert diagnose(four(LOCK, checkpoints=old), SPEC, NOW).word == "hung"


def test_who_stands_at_one_place_is_told_in_one_piece_of_evidence() -> None:
    said = diagnose(run(dict.fromkeys(range(4), LOCK), tuple(process(rank) for rank in range(4))), SPEC, NOW)
    assert said.headline == "Ranks 0-3 stand still; rank 0 waits for a lock in load_shard (train.py:61)."
    assert [fact.text.partition(":")[0] for fact in said.evidence if fact.source == "stacks"] == ["Ranks 0-3"]


@pytest.mark.parametrize(
    ("found_by", "passed_b_s", "world", "word"),
    [
        ("its name", 0.0, 4, "hung"),
        ("its name", 4e8, 4, "slow"),
        ("the command line", 0.0, 4, "hung"),
        ("the command line", 4e8, 4, "slow"),
        pytest.param("the command line", 0.0, 8, "slow", id="a rank on a machine that nobody watches may save"),
        ("--ckpt", 0.0, 4, "slow"),
    ],
)
def test_a_checkpoint_that_another_run_writes_into_the_same_folder_is_no_sign_of_life(
    found_by: str, passed_b_s: float, world: int, word: str
) -> None:
    saved = CheckpointReading("/ckpt", found_by, newest="model.pt", growth_b_s=4e8, grown_at=NOW - 3)
    state = four(LOCK, checkpoints=saved)
    assert state.procs is not None
    lately = RecentActivity(10.0, 10, 0.0, passed_b_s=passed_b_s)
    table = tuple(replace(member, recent=lately, world=world) for member in state.procs.processes)
    assert diagnose(replace(state, procs=replace(state.procs, processes=table)), SPEC, NOW).word == word


def test_of_ranks_that_all_wait_for_their_workers_the_one_whose_worker_died_is_to_blame() -> None:
    processes = tuple(process(rank) for rank in range(4))
    worker = Process(500, 1.0, 9, 102, "python", "", "Z", role="data worker", exit_code=-9)
    state = run(dict.fromkeys(range(4), BATCH), processes, procs=ProcessReading(processes=(*processes, worker)))
    verdict = diagnose(state, SPEC, NOW)
    assert (verdict.word, verdict.kind, [culprit.rank for culprit in verdict.culprits]) == ("hung", "dataloader", [2])
    assert verdict.evidence[0].text == "rank 2: its child, pid 500, is a zombie, killed by SIGKILL"
    done = replace(worker, exit_code=0)  # a helper that did its work, and that nobody asked for
    state = run(dict.fromkeys(range(4), BATCH), processes, procs=ProcessReading(processes=(*processes, done)))
    assert diagnose(state, SPEC, NOW).culprits == ()


def test_two_signals_that_agree_are_likely_and_one_is_possible() -> None:
    still = diagnose(four(LOCK), SPEC, NOW)
    assert still.confidence == "likely"
    assert "its stack stands still" in still.culprits[0].why
    once = four(LOCK)
    once = replace(once, looks=once.looks[:1])
    assert diagnose(once, SPEC, NOW).confidence == "possible"


def test_who_raised_and_was_kept_alive_is_where_its_peers_are_not() -> None:
    state = four(thread(Frame("_shutdown", THREADING, 1590)))
    assert state.log is not None
    error = Finding("py.traceback", "fatal", "cause", 100, "RuntimeError: expected scalar type Half", hang="crash")
    said = diagnose(replace(state, log=replace(state.log, findings=(error,))), SPEC, NOW)
    assert (said.word, [culprit.rank for culprit in said.culprits]) == ("crashed", [2])


def test_no_right_to_read_stacks_gives_stalled_never_an_invented_culprit() -> None:
    blind = replace(four(LOCK), looks=())
    refused = tuple(Stack(100 + rank, NOW, problem="not permitted: ptrace_scope is 1", mend="sudo hangtop") for rank in range(4))
    for looks in ((), (StacksReading(1, stacks=refused, done=True, started_at=NOW - 5),)):
        verdict = diagnose(replace(blind, looks=looks), SPEC, NOW)
        assert (verdict.word, verdict.culprits) == ("stalled", ())
    assert verdict.evidence[-1] == Evidence("stacks", "not permitted: ptrace_scope is 1: sudo hangtop", None)


def test_processes_that_may_not_be_seen_are_no_proof_that_there_are_none() -> None:
    note = "sudo hangtop (or as that user) shows 3 hidden processes of the log's owner: one may write it"
    verdict = diagnose(run({}, (), procs=ProcessReading(hidden=3, note=note)), SPEC, NOW)
    assert (verdict.word, "no process here" in verdict.headline) == ("stalled", False)
    assert Evidence("procs", note, None) in verdict.evidence


def test_a_look_from_before_the_silence_is_no_movement() -> None:
    """Rank 2 worked then and waits for a lock now."""
    state = four(LOCK)
    before = replace(four(SAVE).looks[0], ask=9, started_at=NOW - 400)
    verdict = diagnose(replace(state, looks=(before, *state.looks)), SPEC, NOW)
    assert (verdict.word, [culprit.rank for culprit in verdict.culprits]) == ("hung", [2])


def test_stacks_of_an_earlier_process_with_the_same_pid_do_not_count() -> None:
    state = four(LOCK)
    looks = tuple(replace(look, stacks=tuple(replace(stack, started_ticks=6) for stack in look.stacks)) for look in state.looks)
    assert diagnose(replace(state, looks=looks), SPEC, NOW).word == "stalled"


def test_the_rank_that_works_while_others_wait_for_it_is_named_for_the_screen_and_blamed_nowhere() -> None:
    said = diagnose(four(SAVE, process(2, BUSY, "R")), SPEC, NOW)
    assert (said.word, said.at_work, said.apart, said.culprits) == ("slow", (2,), (2,), ())


def test_where_most_work_none_of_them_stands_apart() -> None:
    threads = {0: ALL_REDUCE, 1: SAVE, 2: SAVE, 3: SAVE}
    processes = (process(0), process(1, BUSY, "R"), process(2, BUSY, "R"), process(3, BUSY, "R"))
    said = diagnose(run(threads, processes), SPEC, NOW)
    assert (said.word, said.at_work) == ("slow", ())


@pytest.mark.parametrize("recent", [replace(IDLE, cpu_percent=14.0), replace(IDLE, running_part=0.5)])
def test_a_worker_of_ray_without_a_call_does_no_work_whatever_its_own_threads_take(recent: RecentActivity) -> None:
    verdict = diagnose(four(IDLE_WORKER, process(2, recent)), SPEC, NOW)
    assert (verdict.word, "is at work" in verdict.headline) == ("hung", False)


@pytest.mark.parametrize("below", [{"subtree_cpu_percent": 95.0}, {"subtree_io_b_s": 2e6}, {"subtree_running_part": 0.6}])
def test_what_an_idle_worker_of_ray_started_may_be_at_work(below: dict[str, float]) -> None:
    parent = process(2, IDLE, subtree_size=2, **below)
    assert diagnose(four(IDLE_WORKER, parent), SPEC, NOW).word == "slow"


CALLS = replace(thread(Frame("is_ready", USER, 4), Frame("wait_for_flag", USER, 22), state="R"), owns_gil=True)
LOOKS_AGAIN = replace(thread(Frame("is_set", USER, 5), Frame("wait_for_flag", USER, 23), state="R"), owns_gil=True)
BURNS = replace(BUSY, main_cpu_part=0.6, delay_part=0.39)


def burns(recent: RecentActivity = BURNS, later: Thread = LOOKS_AGAIN, **more: Any) -> list[int | None]:
    said = diagnose(
        four(CALLS, process(2, recent, "R", **more), later={0: ALL_REDUCE, 1: ALL_REDUCE, 2: later, 3: ALL_REDUCE}), SPEC, NOW
    )
    assert said.word == "slow"
    assert [culprit.confidence for culprit in said.culprits] in ([], ["possible"])
    return [culprit.rank for culprit in said.culprits]


def test_a_rank_that_burns_one_core_while_its_peers_wait_may_loop_whatever_lines_it_passes() -> None:
    assert burns() == [2]
    assert burns(later=SAVE) == [], "its name tells what it does"
    assert burns(replace(BURNS, passed_b_s=5e6)) == [], "it passes bytes"
    assert burns(subtree_cpu_percent=190.0, subtree_size=3) == [], "its children work too"


def test_a_program_that_computes_for_the_process_that_writes_the_log_may_loop() -> None:
    """Alone it is the only member, and whoever started it waits."""
    child = replace(process(2, BURNS, "R"), rank=None, world=None, role="other", ppid=50)
    parent = replace(child, pid=50, ppid=1, recent=IDLE, cpu_percent=0.0, state="S")
    state = run(
        {2: SPIN, -50: thread(Frame("communicate", "/usr/lib/python3.11/subprocess.py", 2000), wait="poll")}, (parent, child)
    )
    assert state.procs is not None
    assert not diagnose(state, SPEC, NOW).culprits, "it may be the run itself"
    writes = replace(state.procs, writers=(Writer(50, 1.0, "python", "python train.py"),))
    said = diagnose(replace(state, procs=writes), SPEC, NOW)
    assert (said.word, [culprit.pid for culprit in said.culprits]) == ("slow", [102])


def test_where_no_two_are_in_one_call_the_rank_in_another_function_than_most_went_another_way() -> None:
    forward, backward = (replace(each, frames=(*each.frames, STEP)) for each in (ALL_REDUCE, BROADCAST))
    gather = thread(Frame("all_gather", ALL_REDUCE.frames[0].file, 3000), Frame("evaluate", USER, 90))
    ranks = tuple(process(rank, world=3) for rank in range(3))
    said = diagnose(run({0: forward, 1: backward, 2: gather}, ranks), SPEC, NOW)
    assert (said.kind, [culprit.rank for culprit in said.culprits]) == ("desync", [2])
    other = thread(Frame("all_gather", ALL_REDUCE.frames[0].file, 3000), STEP)
    assert diagnose(run({0: forward, 1: backward, 2: other}, ranks), SPEC, NOW).culprits == ()
