"""The plan to stop a run never holds pid 1, hangtop or what it runs in, another user's process, or one that is not the run's."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from hangtop.actions.plans.restart_plan import top
from hangtop.actions.plans.saving import saved_first
from hangtop.actions.plans.stop_plan import stop_plan
from hangtop.records.gpu import Gpu, GpuProcess, GpuReading, NodeGpus
from hangtop.records.plan import OwnProcess, Plan, Refusal
from hangtop.records.process import Process, ProcessReading
from hangtop.render.plan_rows import rows
from hangtop.render.spans import plain
from hangtop.state.run_state import RunState
from hangtop.tui.dialogs.start_changes import StartChanges

ME = OwnProcess(pid=50, ancestors=frozenset({1, 40, 45}), uid=1000)


def process(pid: int, ppid: int, **more: object) -> Process:
    return Process(
        **{
            "pid": pid,
            "started_at": 1.0,
            "start_ticks": pid,
            "ppid": ppid,
            "name": "python",
            "uid": 1000,
            **more,
            "command": "python train.py",
            "state": more.get("state", "S"),
        }
    )  # type: ignore[arg-type]


def run(*processes: Process) -> RunState:
    return RunState(procs=ProcessReading(processes=processes))


TREE = (
    process(100, 45, role="launcher"),
    process(101, 100, role="rank", rank=0),
    process(102, 100, role="rank", rank=1),
    process(103, 102, role="data worker"),
)


def test_children_come_before_their_parents() -> None:
    stop = stop_plan(run(*TREE), ME)
    assert isinstance(stop, Plan)
    assert [target.pid for target in stop.targets] == [103, 101, 102, 100]
    assert stop.title == "Stop the run: 4 processes"


def test_what_the_targets_start_meanwhile_is_said_to_end_too() -> None:
    stop = stop_plan(run(*TREE), ME)
    assert isinstance(stop, Plan)
    assert "what they start meanwhile ends too where it is proven to be theirs" in "\n".join(map(plain, rows(stop, 200)))


def test_one_rank_takes_what_it_started_with_it() -> None:
    stop = stop_plan(run(*TREE), ME, rank=1)
    assert isinstance(stop, Plan)
    assert [target.pid for target in stop.targets] == [103, 102]


def test_what_is_not_ours_is_named_and_spared() -> None:
    odd = (
        process(104, 100, uid=0, user="root"),
        process(105, 100, uid=None),
        process(106, 100, role="ray daemon"),
        process(107, 100, state="Z"),
        process(45, 1),
        process(50, 45),
    )
    stop = stop_plan(run(*TREE, *odd), ME)
    assert isinstance(stop, Plan)
    assert {target.pid for target in stop.targets} == {100, 101, 102, 103}
    reasons = {spared.what: spared.why for spared in stop.spared}
    assert "belongs to root" in reasons["pid 104 python"]
    assert "cannot be seen" in reasons["pid 105 python"]
    assert "Ray session" in reasons["pid 106 python"]
    assert "must reap it or end" in reasons["pid 107 python"]
    assert "your shell or session" in reasons["pid 45 python"]
    assert "this is hangtop" in reasons["pid 50 python"]


def test_a_process_blocked_in_the_kernel_is_warned_of_beforehand() -> None:
    stop = stop_plan(run(process(100, 45, state="D", wchan="rpc_wait_bit_killable")), ME)
    assert isinstance(stop, Plan)
    assert "no signal reaches it" in stop.warnings[0]


def test_ranks_that_can_be_asked_are_offered_to_save_their_weights_first() -> None:
    ranks = (process(101, 100, role="rank", rank=0), process(102, 100, role="rank", rank=1, can_be_asked=True))
    stop = stop_plan(run(TREE[0], *ranks), ME)
    assert isinstance(stop, Plan)
    assert not stop.evidence
    saved = saved_first(stop, "/ckpt/last/")
    assert saved.evidence[0].needed
    words = saved.evidence[0].words
    assert words[:5] == ("eval", "--ask", "checkpoint", "--set", "path=/ckpt/last/")
    assert words[-2:] == ("--pid", "102")
    assert stop.warnings[-1] == "what rank 0 alone holds cannot be saved: its process cannot be asked"
    assert "copies=no" not in words  # the rank that has the first copy cannot be asked
    assert words[words.index("--born-by") + 1] == str(stop.newest_ticks)


def test_on_the_screen_a_person_names_the_folder_and_can_take_it_back() -> None:
    stop = stop_plan(run(process(102, 45, can_be_asked=True)), ME)
    assert isinstance(stop, Plan)
    changes = StartChanges(stop, lambda start: (), (), "/runs/a")
    (edit,) = changes.edits()
    assert (edit.key.keys, edit.text) == ("ctrl+s", "/runs/a")
    edit.take("/ckpt")
    assert changes.plan.evidence[0].words[4] == "path=/ckpt/"
    (edit,) = changes.edits()  # the plan as it is now can be changed again
    edit.take(" ")
    assert changes.plan == stop


def test_of_a_rank_and_its_data_workers_which_are_forks_of_it_only_the_rank_is_asked() -> None:
    one = process(102, 45, can_be_asked=True)
    rank = process(102, 45, can_be_asked=True, role="rank", rank=0)
    worker = process(103, 102, can_be_asked=True, role="data worker", rank=0)
    for state in (run(rank, worker), run(one, process(103, 102, can_be_asked=True))):
        stop = stop_plan(state, ME)
        assert isinstance(stop, Plan)
        assert stop.saving is not None
        assert stop.saving.words[-3:] == ("--yes", "--pid", "102")


def test_copies_are_saved_once_where_all_ranks_can_be_asked_and_nobody_asks_one_that_is_stopped() -> None:
    ranks = [process(101 + rank, 100, role="rank", rank=rank, can_be_asked=True) for rank in range(2)]
    stop = stop_plan(run(TREE[0], *ranks), ME)
    assert isinstance(stop, Plan)
    assert stop.saving is not None
    assert stop.saving.words[-4:] == ("--pid", "101", "--pid", "102")
    assert "copies=no" in stop.saving.words
    assert not any("saved" in said for said in stop.warnings)
    (one,) = [plan for plan in [stop_plan(run(TREE[0], *ranks), ME, rank=1)] if isinstance(plan, Plan)]
    assert one.saving is not None
    assert "copies=no" not in one.saving.words  # the first copy is that of rank 0, which nobody asks
    halted = stop_plan(run(process(102, 45, role="rank", rank=1, can_be_asked=True, state="T")), ME)
    assert isinstance(halted, Plan)
    assert halted.saving is None
    assert saved_first(halted, "/ckpt") == halted


def test_no_plan_without_processes_and_the_reason_is_one_line() -> None:
    for state in (RunState(), run(), run(process(100, 1, uid=0))):
        refused = stop_plan(state, ME)
        assert isinstance(refused, Refusal)
        assert "\n" not in refused.why
    assert isinstance(stop_plan(run(*TREE), ME, rank=7), Refusal)


def forest(seed: int) -> tuple[tuple[Process, ...], OwnProcess, int | None]:
    """Processes with random parents (cycles too), users, states and roles, and a random place for hangtop among them."""
    chance = Random(seed)
    pids = chance.sample(range(61), chance.randint(1, 25))
    processes = tuple(
        process(
            pid,
            chance.choice([0, 1, *pids]),
            uid=chance.choice([None, 0, 1000, 1001]),
            state=chance.choice("RSDZTtX"),
            role=chance.choice(["launcher", "rank", "data worker", "ray daemon", "other"]),
            rank=chance.choice([None, None, 0, 1, 2, 3]),
        )
        for pid in pids
    )
    me = OwnProcess(chance.choice(pids), frozenset(chance.choices(pids, k=chance.randint(0, 4))), 1000)
    return processes, me, chance.choice([None, None, 0, 1, 2, 3])


@settings(max_examples=1_500, deadline=None)
@given(st.integers(0, 2**32))
def test_no_forest_makes_a_plan_that_leaves_the_run(seed: int) -> None:
    processes, me, rank = forest(seed)
    stop = stop_plan(run(*processes), me, rank)
    if isinstance(stop, Refusal):
        return
    known = {process.pid: process for process in processes}
    order = [target.pid for target in stop.targets]
    assert len(order) == len(set(order))
    for target in stop.targets:
        meant = known[target.pid]
        assert target.pid > 1
        assert target.pid != me.pid
        assert target.pid not in me.ancestors
        assert meant.uid == me.uid
        assert meant.role != "ray daemon"
        assert meant.state not in "ZX"
        assert target.start_ticks == meant.start_ticks
    for place, pid in enumerate(order):
        parent = known[pid].ppid
        if parent in order[:place]:
            assert _in_a_cycle(pid, known)


def _in_a_cycle(pid: int, known: dict[int, Process]) -> bool:
    seen: set[int] = set()
    while pid in known and pid not in seen:
        seen.add(pid)
        pid = known[pid].ppid
    return pid in seen


def test_a_chosen_process_takes_all_below_it_and_nothing_beside_it() -> None:
    stop = stop_plan(run(*TREE, process(104, 103)), ME, pid=102)
    assert isinstance(stop, Plan)
    assert stop.title == "Stop pid 102 and what it started: 3 processes"
    assert [target.pid for target in stop.targets] == [104, 103, 102]
    refused = stop_plan(run(*TREE), ME, pid=7)
    assert isinstance(refused, Refusal)
    assert "pid 7" in refused.why


def test_the_processes_of_others_are_looked_after_and_zombies_are_not() -> None:
    theirs = (process(104, 100, uid=7, user="bob"), process(105, 100, uid=7, state="Z"), process(106, 100, role="ray daemon"))
    stop = stop_plan(run(*TREE, *theirs), ME)
    assert isinstance(stop, Plan)
    assert [target.pid for target in stop.beyond] == [104]


def test_what_a_kill_will_not_mend_on_a_gpu_is_said_before_with_what_will() -> None:
    gpus = (
        Gpu(0, xid=79, processes=(GpuProcess(101, 10),)),
        Gpu(1, status="no answer", processes=(GpuProcess(102, 20),)),
        Gpu(2, xid=48),
    )
    state = RunState(procs=ProcessReading(processes=TREE), gpus={"": NodeGpus(GpuReading(gpus), 1.0)})
    stop = stop_plan(state, ME)
    assert isinstance(stop, Plan)
    assert [(target.pid, target.gpus, target.gpu_bytes) for target in stop.targets if target.gpus] == [
        (101, (0,), 10),
        (102, (1,), 20),
    ]
    xid, silent = stop.warnings
    assert "Xid 79" in xid
    assert "nvidia-smi --gpu-reset -i 0, or reboot" in xid
    assert "GPU 1: no answer" in silent
    assert "reset or the machine is rebooted" in silent


def test_who_only_may_be_the_run_is_never_in_a_plan():
    note = "no process here is known to write the log; process 300 names it on its command line: it may be the run"
    refused = stop_plan(RunState(procs=ProcessReading(leads=(300,), note=note)), ME)
    assert isinstance(refused, Refusal)
    assert "300" not in refused.why


def test_who_is_only_taken_for_the_writer_is_never_stopped() -> None:
    """A monitor that was given the log's name looks like a program that opens its log for each line."""
    state = RunState(procs=ProcessReading(processes=(process(300, 1),), taken=(300,)))
    refused = stop_plan(state, ME)
    assert isinstance(refused, Refusal)
    assert "--pid 300 says that it is the run" in refused.why
    assert isinstance(top(state.procs), Refusal)
