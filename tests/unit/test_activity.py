"""What a process does, told by its stack. Frames are written innermost first, as `function file:line`."""

from __future__ import annotations

import pytest

from hangtop.records.stack import Frame, Stack, Thread, Wait
from hangtop.stacks.activity import Activity, activity_of
from hangtop.stacks.frames import owner, table

SITE = "/opt/venv/lib/python3.11/site-packages"
LIB = "/usr/lib/python3.11"
C10D = f"{SITE}/torch/distributed/distributed_c10d.py"
LOADER = f"{SITE}/torch/utils/data/dataloader.py"


def frames(*lines: str) -> tuple[Frame, ...]:
    found = []
    for line in lines:
        function, _, place = line.partition(" ")
        file, _, number = place.rpartition(":")
        found.append(Frame(function, file, int(number)))
    return tuple(found)


def thread(*lines: str, name: str = "MainThread", wait: Wait | None = "lock", state: str = "S", tid: int = 100) -> Thread:
    return Thread(name, frames(*lines), tid, state=state, wait=wait)


def of(*threads: Thread) -> Activity:
    known = activity_of(Stack(100, 0.0, threads))
    assert known is not None
    return known


MAIN = ("main /home/me/train.py:88", "<module> /home/me/train.py:90")


@pytest.mark.parametrize(
    ("inner", "wait", "kind", "text", "where"),
    [
        (
            [f"all_reduce {C10D}:2810", f"wrapper {SITE}/torch/distributed/c10d_logger.py:81"],
            "lock",
            "collective",
            "in all_reduce",
            "train.py:88",
        ),
        ([f"broadcast {C10D}:2726"], "lock", "collective", "in broadcast", "train.py:88"),
        (["all_reduce /home/me/ring.py:25"], "socket", "collective", "in all_reduce", "train.py:88"),
        (
            ["Group.all_reduce /home/me/ring.py:25", "Group.barrier /home/me/ring.py:32"],
            "socket",
            "collective",
            "in barrier",
            "train.py:88",
        ),
        (
            ["_recv_exact /home/me/ring.py:8", "allreduce /home/me/ring.py:25"],
            "socket",
            "collective",
            "in allreduce",
            "train.py:88",
        ),
        ([f"Barrier.wait {LIB}/threading.py:666"], "lock", "collective", "in Barrier.wait", "train.py:88"),
        (
            [f"_create_c10d_store {SITE}/torch/distributed/rendezvous.py:198"],
            "sleep",
            "rendezvous",
            "in _create_c10d_store",
            "train.py:88",
        ),
        (
            [f"_new_process_group_helper {C10D}:1900", f"init_process_group {C10D}:1700"],
            "poll",
            "rendezvous",
            "in _new_process_group_helper",
            "train.py:88",
        ),
        (
            [
                f"wait {LIB}/selectors.py:415",
                f"get {LIB}/multiprocessing/queues.py:113",
                f"_try_get_data {LOADER}:1275",
                f"_next_data {LOADER}:1400",
            ],
            "poll",
            "dataloader",
            "waits for the data loader in main",
            "train.py:88",
        ),
        ([f"get {LIB}/queue.py:171"], "lock", "queue", "waits for a queue in main", "train.py:88"),
        (
            [f"wait {LIB}/subprocess.py:1264", f"run {LIB}/subprocess.py:550"],
            "child",
            "child",
            "waits for a child process in main",
            "train.py:88",
        ),
        ([f"get {SITE}/ray/_private/worker.py:2900"], "lock", "remote", "waits for an answer in main", "train.py:88"),
        ([f"synchronize {SITE}/torch/cuda/__init__.py:1040"], "lock", "gpu", "waits for the GPU in main", "train.py:88"),
        ([f"save {SITE}/torch/serialization.py:940"], "file", "checkpoint", "saves in main", "train.py:88"),
        ([f"compile {SITE}/triton/compiler/compiler.py:300"], "child", "compile", "compiles in main", "train.py:88"),
        (["load_shard /home/me/data.py:38"], "lock", "lock", "waits for a lock in load_shard", "data.py:38"),
        (["load_shard /home/me/data.py:38"], "sleep", "sleep", "sleeps in load_shard", "data.py:38"),
        (["reward /home/me/reward.py:8"], "socket", "network", "waits for the network in reward", "reward.py:8"),
        (["load_shard /home/me/data.py:38"], "file", "io", "waits for a file in load_shard", "data.py:38"),
        (["load_shard /home/me/data.py:38"], None, "waits", "waits in load_shard", "data.py:38"),
    ],
)
def test_a_waiting_main_thread_says_in_what(inner: list[str], wait: Wait | None, kind: str, text: str, where: str) -> None:
    known = of(thread(*inner, *MAIN, wait=wait))
    assert (known.kind, known.text, known.where) == (kind, text, where)


def test_one_that_runs_works_in_its_own_code_whatever_its_name() -> None:
    known = of(thread("broadcast_params /home/me/model.py:7", *MAIN, wait=None, state="R"))
    assert (known.kind, known.text) == ("user", "works in broadcast_params")
    assert not known.waits_for_peers


def test_a_lock_inside_a_function_that_a_collective_calls_is_a_lock() -> None:
    known = of(thread("load_weights /home/me/model.py:7", "broadcast_params /home/me/model.py:70", *MAIN, wait="lock"))
    assert known.text == "waits for a lock in load_weights"


def test_a_collective_in_an_autograd_thread_speaks_for_the_process() -> None:
    """huggingface/accelerate#3104: MainThread sits in backward."""
    main = thread(f"backward {SITE}/torch/_tensor.py:581", *MAIN)
    autograd = thread(
        f"all_gather_into_tensor {C10D}:3000", f"hook {SITE}/deepspeed/runtime/zero/hooks.py:4", name="Dummy-4", tid=101
    )
    assert of(autograd, main).text == "in all_gather_into_tensor"


def test_a_main_thread_that_works_is_not_excused_by_a_thread_in_a_collective() -> None:
    main = thread("spin /home/me/train.py:12", *MAIN, wait=None, state="R")
    assert of(thread(f"all_reduce {C10D}:2810", name="comm", tid=101), main).text == "works in spin"


def test_a_main_thread_that_joins_lets_the_worker_speak() -> None:
    main = thread(f"join {LIB}/threading.py:1119", *MAIN)
    worker = thread("tokenize /home/me/data.py:5", f"run {LIB}/threading.py:982", name="worker", wait="lock", tid=101)
    idle = thread(f"_worker {LIB}/concurrent/futures/thread.py:81", name="pool", tid=102)
    assert of(idle, worker, main).text == "waits for a lock in tokenize"


def test_an_idle_ray_worker_is_idle_and_a_busy_one_is_named_by_its_framework() -> None:
    main_loop = f"main_loop {SITE}/ray/_private/worker.py:950"
    assert of(thread(main_loop, f"<module> {SITE}/ray/_private/workers/default_worker.py:330")).kind == "idle"
    busy = of(thread(f"update_actor {SITE}/verl/workers/fsdp_workers.py:500", main_loop, wait=None, state="R"))
    assert (busy.text, busy.where) == ("works in update_actor", "fsdp_workers.py:500")


def test_an_asyncio_driver_is_idle() -> None:
    loop = [f"select {LIB}/selectors.py:468", f"BaseEventLoop._run_once {LIB}/asyncio/base_events.py:1884"]
    driver = of(thread(*loop, *MAIN, wait="poll"))
    assert driver.kind == "idle"
    assert driver.text.startswith("waits in the event loop of ")


def test_what_the_own_code_is_about_is_told_by_its_names() -> None:
    assert (
        of(thread("write_part /home/me/ck.py:4", "save_checkpoint /home/me/ck.py:9", *MAIN, wait=None, state="R")).phase
        == "checkpoint"
    )
    assert of(thread("load_shard /home/me/data.py:38", *MAIN)).phase == "load"
    assert of(thread("evaluate /home/me/ev.py:3", *MAIN, wait=None, state="R")).phase == "eval"
    assert of(thread("step /home/me/tr.py:3", *MAIN, wait=None, state="R")).phase is None


def test_a_nameless_function_is_called_by_the_one_around_it() -> None:
    known = of(thread("score.<locals>.<genexpr> /home/me/ev.py:4", "score /home/me/ev.py:3", *MAIN, wait=None, state="R"))
    assert (known.text, known.where) == ("works in score", "ev.py:3")


def test_native_frames_do_not_hide_the_users_function() -> None:
    native = ["0x7fc38caa3f16 /usr/lib/libc.so.6:0", "lock_acquire /build/Modules/_threadmodule.c:100"]
    assert of(thread(*native, "load_shard /home/me/data.py:38", *MAIN)).text == "waits for a lock in load_shard"


def test_a_process_without_a_stack_does_nothing_known() -> None:
    assert activity_of(Stack(100, 0.0, problem="the process is gone")) is None
    assert activity_of(Stack(100, 0.0, threads=(Thread("MainThread", (), 100),))) is None


def test_a_lone_thread_speaks_even_when_it_idles() -> None:
    assert of(thread(f"_worker {LIB}/concurrent/futures/thread.py:81", name="pool", tid=102)).kind == "idle"


def test_the_one_thread_that_runs_while_the_main_thread_waits_for_it_speaks() -> None:
    """A call of an RPC runs in a thread of its own."""
    main = thread(f"wait {LIB}/threading.py:320", *MAIN)
    call = thread("score /home/me/reward.py:8", name="rpc", wait=None, state="R", tid=101)
    assert of(main, call).text == "works in score"
    assert of(main, call, thread("beat /home/me/watch.py:4", name="beat", wait=None, state="R", tid=102)).kind == "lock"
    assert of(thread(f"all_reduce {C10D}:2810", *MAIN), call).kind == "collective"


@pytest.mark.parametrize(
    ("file", "whose"),
    [
        ("/home/me/train.py", "user"),
        ("/tmp/ray/session_1/runtime_resources/working_dir/job.py", "user"),
        ("<string>", "user"),
        (f"{SITE}/torch/nn/modules/module.py", "plumbing"),
        (f"{SITE}/verl/trainer/ppo/ray_trainer.py", "framework"),
        (f"{SITE}/my_company_trainer/loop.py", "package"),
        (f"{LIB}/threading.py", "python"),
        ("<frozen runpy>", "python"),
        ("/usr/lib/x86_64-linux-gnu/libc.so.6", "native"),
        ("/build/Modules/socketmodule.c", "native"),
    ],
)
def test_whose_code_a_file_holds(file: str, whose: str) -> None:
    assert owner(file) == whose


def test_every_rule_names_a_file_or_a_function_and_every_pattern_compiles() -> None:
    assert all(rule.files or rule.functions for rule in table().rule)
    assert len(table().named) >= 2
