"""Logs in forms that the corpus does not hold: other versions, other prefixes, prefixes in prefixes, several files, restarts."""

from __future__ import annotations

import pytest

from hangtop.logs.digest import Digest
from hangtop.logs.joined_logs import join_logs
from hangtop.records.log import LogFile, LogReading
from tests.fakes.read_log import INDEX
from tests.fakes.read_log import read as read_cut


def read(*texts: str | bytes, ranks: tuple[int | None, ...] = ()) -> LogReading:
    """The reading of these files, one text each."""
    facts = []
    for number, text in enumerate(texts):
        digest = Digest(INDEX, number, rank=ranks[number] if ranks else None)
        digest.feed(text if isinstance(text, bytes) else text.encode())
        facts.append(digest.facts())
    return join_logs(facts, [LogFile(f"{number}.log", modified_at=float(number)) for number in range(len(texts))], INDEX.catalog)


def steps(reading: LogReading) -> dict[int, int | None]:
    return {rank.rank: rank.step for rank in reading.ranks}


def ids(reading: LogReading) -> list[str]:
    return [finding.id for finding in reading.findings]


def lines(template: str, count: int) -> str:
    return "".join(template.format(i=i) for i in range(1, count + 1))


def test_kubernetes_around_ray_around_torch_tells_the_rank() -> None:
    text = "".join(
        f"2026-01-11T10:00:{step:02d}.5Z stderr F \x1b[36m(WorkerDict pid={100 + rank}, ip=10.0.0.{rank})\x1b[0m [rank{rank}]: "
        f"step {step - (rank == 2)}/50 loss 0.{step}\n"
        for step in range(1, 8)
        for rank in range(4)
    )
    reading = read(text)
    assert steps(reading) == {0: 7, 1: 7, 2: 6, 3: 7}
    assert [rank.host for rank in reading.ranks][3] == "10.0.0.3"


def test_srun_labels_nodes_when_torchrun_labels_local_ranks() -> None:
    text = "".join(f"{node}: [default{local}]:step {node + local + 1}/9 loss 1.0\n" for node in range(2) for local in range(4))
    assert steps(read(text)) == {0: 1, 1: 2, 2: 3, 3: 4, 4: 2, 5: 3, 6: 4, 7: 5}


def test_mpirun_tags_around_deepspeed() -> None:
    text = "".join(
        f"[1,{rank}]<stdout>:[2026-01-11 10:00:0{rank},123] [INFO] [logging.py:107:log_dist] [Rank {rank}] step=20, skipped=0, "
        "lr=[1e-05], mom=[[0.9, 0.95]]\n"
        for rank in range(3)
    )
    reading = read(text)
    assert reading.framework == "deepspeed"
    assert steps(reading) == {0: 20, 1: 20, 2: 20}


def test_compose_names_containers_and_the_bar_tells_the_steps() -> None:
    text = "trainer-1  | \r" + "\r".join(
        f"{i}%|#         | {i}/100 [00:{i:02d}<01:30,  1.00it/s, loss=0.{i}]" for i in range(1, 40)
    )
    reading = read(text)
    assert (reading.progress.step, reading.progress.total) == (39, 100)
    assert reading.progress.metrics["loss"] == 0.39


def test_transformers_5_prints_numbers_as_text() -> None:
    text = "***** Running training *****\n" + lines(
        "{{'loss': '4.{i}', 'grad_norm': '0.9', 'learning_rate': '8e-04', 'epoch': '0.0{i}'}}\n"
        "\r {i}%|x| {i}/100 [00:0{i}<01:00, 1.00it/s]",
        9,
    )
    reading = read(text)
    assert reading.framework == "hf"
    assert (reading.progress.step, reading.progress.total, reading.progress.metrics["loss"]) == (9, 100, 4.9)
    assert reading.progress.history["loss"][0] == 4.1


def test_verl_with_numpy_2_numbers() -> None:
    text = (
        "(TaskRunner pid=7) TaskRunner hostname: n1, PID: 7\n(TaskRunner pid=7) {'actor_rollout_ref': {'actor': 1}}\n"
        "(TaskRunner pid=7) Total training steps: 90\n"
        "(TaskRunner pid=7) step:3 - actor/pg_loss:np.float64(0.25) - actor/grad_norm:np.float64(nan) - perf/time_per_step:51.5\n"
    )
    reading = read(text)
    assert reading.framework == "verl"
    assert (reading.progress.step, reading.progress.total) == (3, 90)
    assert reading.progress.metrics["loss"] == 0.25
    assert reading.progress.metrics["grad_norm"] is None
    assert "num.grad_nan" in ids(reading)


def test_sglang_parts_are_ranks() -> None:
    text = "".join(f"[2026-03-11 13:53:32 DP0 TP{tp}] Load weight begin. avail mem=50.69 GB\n" for tp in range(2))
    reading = read(text)
    assert [rank.rank for rank in reading.ranks] == [0, 1]
    assert reading.stages[-1].id == "engine_load"


START = "W0111 10:00:01.120000 4242 torch/distributed/run.py:852] Setting OMP_NUM_THREADS environment variable for each process\n"
OOM = (
    '[rank1]: Traceback (most recent call last):\n[rank1]:   File "train.py", line 9, in main\n'
    "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79 GiB\n"
)


def rank_steps(first: int, last: int) -> str:
    return "".join(
        f"2026-01-11 10:00:{i % 60:02d},000 INFO [rank {rank}/2] train: step {i}/200 loss 1.0\n"
        for i in range(first, last + 1)
        for rank in (0, 1)
    )


def test_a_restart_in_the_same_file_is_a_new_attempt() -> None:
    reading = read(START + rank_steps(1, 50) + OOM + START + rank_steps(1, 5))
    assert reading.attempt == 2
    assert reading.progress.step == 5
    assert steps(reading) == {0: 5, 1: 5}
    assert [finding.attempt for finding in reading.findings if finding.id == "cuda.oom"] == [1]
    assert reading.stages[-1].attempt == 2


def test_an_error_that_the_run_survives_is_a_hint() -> None:
    reading = read(START + rank_steps(1, 5) + OOM + rank_steps(6, 20))
    assert reading.attempt == 1
    assert {finding.severity for finding in reading.findings if finding.id == "cuda.oom"} == {"hint"}


def test_an_error_that_ends_the_run_is_fatal_and_names_its_rank() -> None:
    reading = read(START + rank_steps(1, 5) + OOM)
    first = reading.findings[0]
    assert (first.id, first.severity, first.rank, first.attempt) == ("cuda.oom", "fatal", 1, 1)


def test_an_unknown_exception_is_told_by_its_own_line() -> None:
    reading = read(
        rank_steps(1, 3) + '[rank1]: Traceback (most recent call last):\n[rank1]:   File "a.py"\n[rank1]: MyOwnError: shard 7\n'
    )
    first = reading.findings[0]
    assert (first.id, first.role, first.text, first.rank) == ("py.traceback", "cause", "MyOwnError: shard 7", 1)


def test_a_traceback_that_is_printed_behind_a_bar_is_that_of_the_rank_that_prints_it() -> None:
    reading = read(
        "\r  3%|▎         | 13/400 [00:03<01:47,  3.60it/s]\r  4%|▎         | 14/400 [00:03<01:43,  3.73it/s]"
        '[rank1]: Traceback (most recent call last):\n[rank1]:   File "/home/u/hf.py", line 21, in on_step_end\n'
        "[rank1]: ValueError: bad sample 17 in shard 3\n"
        '[rank0]: Traceback (most recent call last):\n[rank0]:   File "/home/u/hf.py", line 9, in <module>\n'
        "[rank0]: RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:26523\n"
    )
    first = reading.findings[0]
    assert (first.id, first.text, first.rank) == ("py.traceback", "ValueError: bad sample 17 in shard 3", 1)


def test_what_a_model_says_is_no_message() -> None:
    sample = "(TaskRunner pid=7) [prompt] fix this\n(TaskRunner pid=7) Traceback (most recent call last):\n" + (
        "(TaskRunner pid=7) RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
        "(TaskRunner pid=7) [response] Killed\n(TaskRunner pid=7) [ground_truth] 4\n(TaskRunner pid=7) [score] 0.0\n"
    )
    step = "(TaskRunner pid=7) step:{i} - actor/pg_loss:0.1 - actor/grad_norm:0.2\n"
    reading = read("(TaskRunner pid=7) {'actor_rollout_ref': 1}\n" + lines(step, 3) + sample + step.format(i=4))
    assert ids(reading) == []
    assert reading.progress.step == 4


def test_rows_of_data_and_quoted_logs_are_no_messages() -> None:
    rows = '{"prompt": "why CUDA out of memory. Tried to allocate", "response": "Segmentation fault (core dumped)"}\n'
    quoted = "> 2026-01-10 09:00:00 ERROR RuntimeError: CUDA error: device-side assert triggered\n"
    assert ids(read(lines("step {i}/9 loss 0.5\n", 3) + rows * 3 + quoted)) == []


def test_rank_files_stand_in_one_table() -> None:
    reading = read(*(lines("step {i}/50 loss 0.5\n", 9 - rank) for rank in range(3)), ranks=(0, 1, 2))
    assert steps(reading) == {0: 9, 1: 8, 2: 7}
    assert reading.progress.step == 9


def test_utf_16_of_powershell_is_read_and_its_offsets_are_those_of_the_file() -> None:
    text = "\ufeffstep 1/9 loss 0.5\r\nstep 2/9 loss 0.5\r\nRuntimeError: CUDA error: device-side assert triggered\r\n"
    raw = text.encode("utf-16-le")
    reading = read(raw)
    assert reading.progress.step == 2
    assert raw[reading.findings[0].offset :].decode("utf-16-le").startswith("RuntimeError")


def test_a_pid_gets_its_rank_from_a_later_line() -> None:
    text = (
        "(WorkerDict pid=51) step 3/9 loss 0.1\n(WorkerDict pid=52) step 2/9 loss 0.1\n"
        "(WorkerDict pid=51) init_model done, rank 0 world 2\n(WorkerDict pid=52) init_model done, rank 1 world 2\n"
    )
    assert steps(read(text)) == {0: 3, 1: 2}


def test_ray_train_lists_the_ranks_of_its_workers() -> None:
    controller = "(TrainController pid=20472) "
    roster = "".join(
        f"{controller}- (ip=192.0.2.{2 + node}, pid={70 + 2 * node + local}) "
        f"world_rank={2 * node + local}, local_rank={local}, node_rank={node}\n"
        for node in (0, 1)
        for local in (0, 1)
    )
    worker = "(RayTrainWorker pid=71) step 3/9 loss 0.1\n(RayTrainWorker pid=72, ip=192.0.2.3) step 2/9 loss 0.1\n"
    reading = read(f"{controller}Started training worker group of size 4: \n{roster}{worker}")
    assert steps(reading) == {0: None, 1: 3, 2: 2, 3: None}
    assert [(rank.pid, rank.local_rank) for rank in reading.ranks] == [(70, 0), (71, 1), (72, 0), (73, 1)]


def test_nccl_tells_the_ranks_of_pids() -> None:
    text = "".join(
        f"n1:{50 + rank}:{90 + rank} [{rank}] NCCL INFO ncclCommInitRank comm 0x55d rank {rank} nranks 4 - Init START\n"
        for rank in range(4)
    )
    reading = read(text)
    assert [(rank.rank, rank.pid, rank.host) for rank in reading.ranks] == [(rank, 50 + rank, "n1") for rank in range(4)]
    assert reading.world == 4


def test_a_wait_that_is_announced_is_known() -> None:
    reading = read("2026-01-11 10:00:00,000 - INFO - sleeping 300s before the next poll\n")
    assert reading.announced_until is not None
    assert read("2026-01-11 10:05:00,000 - INFO - x\n").announced_until is None
    assert read("2026-01-11 10:00:00,000 - INFO - waiting 60 seconds for the reward model\n").announced_until is not None
    assert read("2026-01-11 10:00:00,000 - INFO - waiting for 3 workers\n").announced_until is None


def test_a_message_behind_a_bar_was_written_when_its_line_says() -> None:
    """To the thousandth of a second that the line tells, though what stands before the message itself tells no time."""
    bar = "2026-01-11 10:00:00,250 Training:  10%|█         | 1/10 [00:01<00:09,  1.00s/it]"
    (finding,) = read(f"{bar}(WorkerDict pid=9) RuntimeError: CUDA error: device-side assert triggered\n").findings
    assert finding.written.not_before is not None
    assert finding.written.not_after == pytest.approx(finding.written.not_before + 0.001, abs=1e-5)


@pytest.mark.parametrize(
    ("wait", "seconds"),
    [("500 ms", 0.5), ("2 min", 120.0), ("3 minutes", 180.0), ("1.5 hours", 5400.0), ("90 sec", 90.0), ("4 s", 4.0), ("7", 7.0)],
)
def test_an_announced_wait_is_read_in_its_unit(wait: str, seconds: float) -> None:
    told, plain = (
        read(f"2026-01-11 10:00:00,000 - INFO - retrying in {length} after an error\n").announced_until
        for length in (wait, "0 s")
    )
    assert told is not None
    assert plain is not None
    assert told - plain == pytest.approx(seconds)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_an_exit_code_belongs_to_the_rank_above_it_however_lines_end_and_arrive(end: str) -> None:
    rows = ["train.py FAILED\nFailures:"]
    for rank in (3, 1):
        rows += [f"  rank      : {rank} (local_rank: {rank})", "  exitcode  : -11 (pid: 5000)  (SIGSEGV)", "  error_file: <N/A>"]
    text = end.join([*rows, ""])
    for cuts in ((), (text.index("  exitcode"),)):
        (finding,) = read_cut(text, *cuts).findings
        assert (finding.id, finding.rank) == ("proc.sigsegv", 3)


def test_workers_are_counted_and_checkpoints_found() -> None:
    reading = read("Created 30/100 workers...\nSaving model checkpoint to /out/run1/checkpoint-200\n")
    assert reading.workers == (30, 100)
    assert reading.checkpoint_dir == "/out/run1"


def test_the_storm_of_one_message_is_counted() -> None:
    reading = read("RuntimeError: CUDA error: device-side assert triggered\n" * 50_000)
    finding = next(finding for finding in reading.findings if finding.id == "cuda.device_assert")
    assert finding.offset == 0
    assert 49_000 <= finding.count <= 51_000


def test_a_clock_that_jumps_back_breaks_nothing() -> None:
    text = "".join(f"2026-01-11 10:{i:02d}:00,000 - INFO - step {i}/50 loss 0.5\n" for i in range(1, 20))
    text += "".join(f"2025-12-31 10:{i:02d}:00,000 - INFO - step {i}/50 loss 0.5\n" for i in range(20, 40))
    reading = read(text)
    assert reading.progress.step == 39
    assert reading.longest_silence_s == 60.0


def test_a_crash_and_a_new_start_are_two_attempts_even_without_a_banner() -> None:
    start = "".join(
        f"2026-01-11 10:00:00,000 INFO [rank {rank}/2] train: initializing process group backend=nccl\n" for rank in (0, 1)
    )
    reading = read(start + rank_steps(1, 9) + OOM + start + rank_steps(1, 6))
    assert (reading.attempt, reading.progress.step) == (2, 6)
    assert {finding.attempt for finding in reading.findings} == {1}


ERROR = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"


@pytest.mark.parametrize(
    "said",
    [
        f"Question: why do I get {ERROR}?",
        f"Generated text: {ERROR} means that",
        f"[rank0]: sample 3: 'user: {ERROR} assistant: restart'",
        f"samples: [{{'role': 'user', 'content': 'Why {ERROR}?'}}]",
        f"INFO:root:completion='it says {ERROR}' reward=0.1",
        f"(Rollout pid=7) prompt: ['{ERROR}'] output: restart",
        f"> {ERROR}",
    ],
)
def test_prompts_and_answers_in_the_usual_forms_are_no_messages(said: str) -> None:
    assert ids(read(lines("step {i}/9 loss 0.5\n", 3) + said + "\n")) == []


@pytest.mark.parametrize("said", [ERROR, f"[rank0]: {ERROR}", f"Error in user code, prompt='x': {ERROR}", f"worker 3: {ERROR}"])
def test_an_error_beside_such_words_is_still_a_message(said: str) -> None:
    assert ids(read(lines("step {i}/9 loss 0.5\n", 3) + said + "\n")) == ["cuda.oom"]


@pytest.mark.parametrize(
    ("last", "finished"),
    [
        ("训练完成，模型已保存到 /data/out", True),
        ("2026-01-11 10:00:00 信息 模型训练已结束。", True),
        ("第 3 轮训练完成", False),
        ("Epoch 3 训练完成", False),
        ("训练完成度 30%", False),
    ],
)
def test_the_end_of_a_run_is_told_in_chinese_and_the_end_of_a_round_is_not(last: str, finished: bool) -> None:
    reading = read("开始训练\n" + "".join(f"步骤 {step}/20 损失 2.5\n" for step in range(1, 21)) + last + "\n")
    assert reading.progress.step == 20
    assert any(stage.id == "finish" for stage in reading.stages) == finished


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("download failed, will retry in 45 seconds", 45),
        ("trying again in 2 min", 120),
        ("fetch failed (try 3), next try in 55 s", 55),
        ("rate limited. Retry-After: 30", 30),
        ("backoff=32s", 32),
        ("pausing for 5 minutes", 300),
        ("resuming in 10m", 600),
    ],
)
def test_a_pause_is_announced_in_many_words(words: str, seconds: float) -> None:
    at = read("2026-01-11 10:00:00,000 - INFO - waiting 0 seconds\n").announced_until
    until = read(f"2026-01-11 10:00:00,000 - INFO - {words}\n").announced_until
    assert at is not None
    assert until is not None
    assert until - at == seconds


def test_a_wait_holds_whatever_others_announce() -> None:
    longer = "[rank1]: 2026-01-11 10:00:00,000 - INFO - retry in 300 seconds\n"
    shorter = "[rank2]: 2026-01-11 10:00:01,000 - INFO - retry in 5 seconds\n"
    assert read(longer + shorter).announced_until == read(longer).announced_until


def test_a_time_that_has_passed_is_no_announcement() -> None:
    assert read("2026-01-11 10:00:00,000 - INFO - still waiting, 30 s elapsed, waited 45 s\n").announced_until is None
