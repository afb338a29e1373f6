"""Profiles hold together: their markers match, their limits are in order, their names exist."""

from __future__ import annotations

import io

import pytest

from hangtop.cli.commands import profiles as command
from hangtop.common.late_pattern import compiled
from hangtop.logs.catalog.checks import profile_flaws
from hangtop.logs.catalog.load import load
from hangtop.logs.catalog.profile import PAIRS, STAGE_IDS

FRAMEWORKS = frozenset(
    "verl gkd openrlhf lightrft torchrun hf accelerate deepspeed megatron nemo lightning "
    "vllm sglang ray selfplay tqdm generic".split()
)
"""The frameworks that `check --json` may name; a user's profile may add one."""

CATALOG = load()
PROFILES = list(CATALOG.profiles.values())


@pytest.mark.parametrize("profile", PROFILES, ids=lambda each: each.name)
def test_a_profile_has_no_flaw(profile):
    assert [*profile_flaws(profile, frozenset(CATALOG.profiles))] == []


@pytest.mark.parametrize("profile", PROFILES, ids=lambda each: each.name)
def test_limits_are_in_order_and_titles_short(profile):
    assert profile.framework in FRAMEWORKS
    for stage in profile.stage:
        assert len(stage.title) <= 15
        limits = [each for each in (stage.typical_s, stage.slow_after_s, stage.stalled_after_s) if each is not None]
        assert limits == sorted(limits), stage.id
        assert stage.steady or stage.ends_run or stage.stalled_after_s is not None, stage.id


def test_every_framework_of_the_contract_has_a_profile():
    assert {profile.framework for profile in PROFILES} == FRAMEWORKS


def test_every_stage_id_is_used_by_some_profile():
    assert {stage.id for profile in PROFILES for stage in profile.stage} == set(STAGE_IDS)


def test_gkd_starts_rollout_before_actors_and_says_the_pool_before_the_dataset():
    order = [stage.id for stage in CATALOG.profiles["gkd"].stage]
    assert order.index("resource_pool_spec") < order.index("dataset") < order.index("rollout_init") < order.index("actor_init")
    assert {line.id for line in CATALOG.profiles["gkd"].progress} >= {"verl_bar", "verl_console"}


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("actor/pg_loss:0.013 - actor/lr:1e-06", {"actor/pg_loss": "0.013", "actor/lr": "1e-06"}),
        ("'loss': '4.472', 'grad_norm': nan", {"loss": "4.472", "grad_norm": "nan"}),
        ("loss=0.12, kl=-3.5e-4", {"loss": "0.12", "kl": "-3.5e-4"}),
        ("critic/score/mean:np.float64(0.25)", {"critic/score/mean": "0.25"}),
        ("host=10.0.0.7, loss=1.", {"loss": "1."}),
        ("when 12:30:01 loss: .5", {"loss": ".5"}),
    ],
)
def test_pairs_are_read_in_all_the_ways_frameworks_write_them(text, pairs):
    assert {found["key"]: found["value"] for found in compiled(PAIRS["strict"]).finditer(text)} == pairs


@pytest.mark.parametrize(
    ("profile", "line", "expected"),
    [
        ("verl", "(TaskRunner pid=133947) Total training steps: 870", "verl: stage resource_pool"),
        ("gkd", "INFO: generate text done.", "gkd: stage train_loop"),
        (
            "gkd_patched",
            "[2026-01-11 10:01:21] root - [SYNC] Waiting for rollout weights (timeout=30s)...",
            "gkd_patched: stage weight_sync",
        ),
        ("vllm", "INFO 01-11 10:01:27 [backends.py:519] Dynamo bytecode transform time: 9.57 s", "vllm: stage engine_compile"),
        ("sglang", "[2026-01-11 10:00:10 TP0] Load weight begin. avail mem=78.61 GB", "sglang: stage engine_load"),
        ("selfplay", "2026-01-11 10:00:03,912 - INFO - Created 10/100 workers...", "selfplay: stage actor_init"),
        ("generic", "Loading checkpoint shards:  25%|██▌       | 1/4 [00:02<00:06,  2.01s/it]", "generic: progress tqdm_aside"),
        ("generic", " 12%|█▏        | 120/1000 [02:00<14:40,  1.00s/it, loss=2.1]", "generic: progress tqdm"),
    ],
)
def test_a_line_of_a_log_matches_where_it_should(profile, line, expected):
    found = [what.split("  ")[0] for what in command.matches(line, (CATALOG.profiles[profile],), ())]
    assert expected in found


def test_a_profile_without_step_lines_of_its_own_shows_what_the_base_reads(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("Epoch 1:  12%|█▏        | 12/100 [00:12<01:28,  1.00s/it]\n", encoding="utf-8")
    out = io.StringIO()
    assert command.prove("tqdm", out, log=log) == 0
    assert "generic: progress tqdm" in out.getvalue()


def test_the_command_lists_shows_and_proves(tmp_path):
    out = io.StringIO()
    assert command.list_profiles(out) == 0
    assert command.show("verl", out) == 0
    assert command.show("nothing", out) == 2
    log = tmp_path / "train.log"
    log.write_text("Total training steps: 870\nRuntimeError: CUDA error: out of memory\n", encoding="utf-8")
    assert command.prove("verl", out, log=log) == 0
    text = out.getvalue()
    assert "no profile 'nothing'" in text
    assert "verl: stage resource_pool" in text
    assert "message cuda.oom_driver" in text


def test_a_profile_that_refines_one_waits_for_a_teacher_and_holds_ray_as_that_one_does(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('schema = 1\nname = "mine"\ntitle = "mine"\nrefines = "gkd"\n')
    known = load(extra=mine).profiles
    assert known["mine"].teacher_wait_s == known["gkd"].teacher_wait_s > 0
    assert "ray" in known["mine"].contains
