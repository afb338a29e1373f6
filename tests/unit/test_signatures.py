"""Every signature finds its message and not those that look alike, in every log and in bounded time."""

from __future__ import annotations

import re

import pytest

from hangtop.logs.catalog import load
from hangtop.logs.hostile import too_slow
from hangtop.logs.needles import unproven
from hangtop.logs.prefixes import strip
from hangtop.logs.profile import FRAMEWORKS
from hangtop.logs.proof import signature_flaws

CATALOG = load()
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


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda each: each.id)
def test_a_signature_finds_its_example_and_no_look_alike(signature):
    assert signature_flaws(signature) == []


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda each: each.id)
def test_a_signature_is_quick_on_hostile_text(signature):
    assert too_slow(signature.regex, signature.literal, signature.example) is None


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_message_is_found_behind_a_prefix(prefix):
    missed = [
        each.id
        for each in SIGNATURES
        if not re.search(each.regex, strip(prefix.replace("\x1b[36m", "").replace("\x1b[0m", "") + each.example)[1])
    ]
    assert missed == []


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda each: each.id)
def test_a_page_has_all_that_a_person_needs(signature):
    assert signature.cause.endswith(".")
    assert signature.fix
    assert signature.cite
    assert {name for fix in signature.fix for name in fix.frameworks} <= {*FRAMEWORKS}
    assert bool(signature.cause_zh) == bool(signature.fix_zh)


@pytest.mark.parametrize("name", COMMON)
def test_what_people_meet_most_is_told_apart_and_told_in_chinese(name):
    signature = CATALOG.signatures[name]
    assert signature.negative
    assert signature.cause_zh


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


def test_the_hostile_check_catches_a_catastrophic_regex():
    assert too_slow("(a+)+b", ("aaaa",), "aab") is not None
