"""Every signature finds its message and not those that look alike, in every log and in bounded time."""

from __future__ import annotations

import re

import pytest

from hangtop.logs.catalog import checks
from hangtop.logs.catalog.checks import signature_flaws, too_slow
from hangtop.logs.catalog.literal_coverage import unproven
from hangtop.logs.catalog.load import load
from hangtop.logs.catalog.signature import Signature
from hangtop.logs.lines.prefixes import strip

CATALOG = load()
FRAMEWORKS = {profile.framework for profile in CATALOG.profiles.values()}
SIGNATURES = list(CATALOG.signatures.values())

# The messages that people meet most: each must know a look-alike, and speak Chinese.
COMMON = (
    "nccl.watchdog_timeout cuda.oom cuda.oom_driver proc.sigkill host.oom_killer ray.oom_killer vllm.engine_init_failed "
    "vllm.kv_too_small vllm.free_memory_low dist.store_timeout num.loss_nan num.grad_nan env.undefined_symbol "
    "dist.port_in_use dist.connect_refused nccl.system_error nccl.socket_connect ray.pg_waiting ray.unschedulable "
    "verl.gpus_short ray.actor_died ray.worker_died ray.register_timeout dl.shm_bus dl.worker_killed proc.sigbus "
    "cuda.device_assert cuda.illegal_access hub.rate_limit hub.offline cuda.ecc hw.xid hw.gpu_lost data.generation_failed "
    "data.file_missing nccl.ib_completion proc.sigsegv slurm.cancelled fs.no_space gkd.teacher "
).split()

PREFIXES = (
    "",
    "[rank3]: ",
    "[default3]:",
    "3: ",
    "[1,3]<stderr>:",
    "(WorkerDict pid=1234, ip=10.0.0.7) ",
    "\x1b[36m(WorkerDict pid=1234)\x1b[0m ",
    "2026-01-11T10:00:00.123456789Z stderr F ",
    "ERROR 01-11 10:00:09 [core.py:708] ",
    "[2026-01-11 10:00:00,123] [ERROR] [launch.py:341:sigkill_handler] ",
)


def test_every_signature_finds_its_example_and_no_look_alike():
    flaws = {signature.id: list(signature_flaws(signature)) for signature in SIGNATURES}
    assert {name: found for name, found in flaws.items() if found} == {}


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_message_is_found_behind_a_prefix(prefix):
    missed = [
        each.id
        for each in SIGNATURES
        if not re.search(each.regex, strip(prefix.replace("\x1b[36m", "").replace("\x1b[0m", "") + each.example)[1])
    ]
    assert missed == []


def lacks(signature: Signature) -> list[str]:
    """What a person would miss on this page."""
    has = {
        "a cause that is a sentence": signature.cause.endswith("."),
        "a fix": bool(signature.fix),
        "where the message comes from": bool(signature.cite),
        "known frameworks": {name for fix in signature.fix for name in fix.frameworks} <= FRAMEWORKS,
        "a cause and fixes in the same languages": {bool(signature.cause_zh)} == {bool(fix.text_zh) for fix in signature.fix},
        "a look-alike, as it is met often": signature.id not in COMMON or bool(signature.negative),
        "Chinese, as it is met often": signature.id not in COMMON or bool(signature.cause_zh),
    }
    return [what for what, there in has.items() if not there]


def test_every_page_has_all_that_a_person_needs():
    assert {signature.id: missing for signature in SIGNATURES if (missing := lacks(signature))} == {}
    assert CATALOG.signatures.keys() >= {*COMMON}


def test_harmless_words_are_no_messages():
    harmless = (
        "validation: 0 errors, error_rate=0.01, nan_count=0, inf_ratio=0.0, failed=0/128, killed_jobs=0, oom_score_adj=200",
        "step 17/90 loss 0.059 nan_count=0 num_exceptions=0 loss_nan=False grad_norm 0.3",
        " iteration      300/   20000 | lm loss: 9.444483E+00 | grad norm: 3.201 | number of nan iterations:   0 |",
        "exits with return code = 0",
        "  'trainer': {'error_if_nan': False, 'logger': ['console'], 'n_gpus_per_node': 8, 'nnodes': 1, 'total_epochs': 15}}",
        "best_val_loss: inf",
        "val_loss improved from inf to 0.3121",
        "No checkpoint found, starting from scratch",
        "NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.7<0>",
    )
    found = {text: [each.id for each in SIGNATURES if re.search(each.regex, text)] for text in harmless}
    assert {text: ids for text, ids in found.items() if ids} == {}


@pytest.mark.parametrize(
    ("pattern", "literals", "way"),
    [
        ("abc(?:def|ghi)", ("def", "ghi"), None),
        ("abc(?:def|ghi)", ("def",), "abcghi"),
        ("abc(?:def)?", ("def",), "abc"),
        ("[Ww]atchdog", ("atchdog",), None),
        ("[Ww]atchdog", ("watchdog",), "Watchdog"),
        (r"a\d+b", ("ab",), "a…b"),
        ("(?i:Nan)", ("nan",), "naN"),
        (r"x{3}", ("xxx",), None),
        (r"\d+", ("1",), "(no fixed text)"),
    ],
)
def test_the_proof_finds_a_way_round_the_literals(pattern, literals, way):
    found = unproven(pattern, literals)
    assert (found is None) == (way is None)
    if way is not None and "(?i" not in pattern:
        assert found == way


def test_the_hostile_check_catches_a_catastrophic_regex(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checks, "LIMIT_S", 0.5)
    assert too_slow("(a+)+b", ("aaaa",), "aab") is not None


# The same messages in the words of other versions.
OTHER_WORDS = {
    "nccl.work_status": "detected by watchdog at work sequence id: 26 PG status: last enqueued work: 26, last completed work: 1",
    "nccl.system_error": "RuntimeError: NCCL Error 2: unhandled system error (run with NCCL_DEBUG=INFO for details)",
    "nccl.remote_error": "NCCL error in: x.cpp:1, remote process exited or there was a network error, NCCL version 2.20.5",
    "nccl.socket_connect": "misc/socket.cc:538 NCCL WARN Net : Connect to 10.0.0.3<50321> failed : Connection refused",
    "nccl.ib_completion": "NCCL WARN NET/IB: Got completion from peer 10.0.0.1<1> with error 12, opcode 0, len 0, vendor err 129",
    "nccl.shm": "NCCL WARN Call to posix_fallocate failed : No space left on device",
    "dist.store_timeout": "RuntimeError: Timed out initializing process group in store based barrier on rank: 1",
    "dist.connect_refused": "The client socket has timed out after 900s while trying to connect to (10.0.0.1, 29500).",
    "dist.port_in_use": "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
    "host.oom_killer": "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0.",
    "cuda.oom": "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB (GPU 0; 23.69 GiB total capacity)",
    "cuda.oom_driver": "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62",
    "cuda.device_assert": "ATen/native/cuda/Loss.cu:250: nll_loss: block: [0,0,0], thread: [4,0,0] Assertion `t >= 0` failed.",
    "ray.actor_died": "ActorDiedError: The actor died because of an error raised in its creation task, ray::W.__init__()",
    "ray.oom_killer": "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
    "vllm.kv_too_small": "(5.62 GiB KV cache is needed, which is larger than the available KV cache memory (3.21 GiB).",
    "vllm.engine_init_failed": "EngineCore failed to start.",
    "hub.gated": "OSError: You are trying to access a gated repo.",
    "num.loss_nan": "step:3 - actor/pg_loss:np.float64(nan) - actor/lr:1e-6",
    "num.grad_nan": "gradient norm is inf",
    "slurm.cancelled": "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-01-01T10:00:00 DUE TO PREEMPTION ***",
}


def test_other_versions_of_a_message_are_found_too():
    known = {name: CATALOG.signatures[name] for name in OTHER_WORDS}
    found = {
        name: re.search(known[name].regex, text) and any(literal in text for literal in known[name].literal)
        for name, text in OTHER_WORDS.items()
    }
    assert [name for name, there in found.items() if not there] == []
