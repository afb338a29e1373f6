"""Two runs compared: what was planted is found, and runs that differ by chance alone do not differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import exp
from random import Random

import pytest
from click.testing import CliRunner

from hangtop.cli.main import hangtop
from hangtop.query.differences import Runs
from hangtop.query.tables import FindingRow, GpuRow, Metric, ProcessRow, Row, StackRow, StageRow, Step, VerdictRow

pytest.importorskip("duckdb")
from hangtop.query.database import Database

STEPS = 600
START = 1_768_125_600.0
Plant = Callable[[dict[str, object], int], dict[str, object]]


def run_of(name: str, seed: int, plant: dict[str, object] | None = None) -> Iterator[Row]:
    """A run with the noise that runs have: of each number its own, now and then a slow step, a checkpoint each hundred steps.
    `plant`: numbers that differ; functions of the step."""
    chance, at = Random(seed), START
    planted = plant or {}

    def value(about: str, step: int, usual: float) -> float:
        change = planted.get(about)
        return change(step, usual) if callable(change) else usual

    yield StageRow(name, 1, "model_load", "model", "generic", START - 60, START, value("model_load", 0, 60 + chance.gauss(0, 2)))
    for step in range(STEPS):
        took_s = 2.0 * exp(chance.gauss(0, 0.05)) * (3 if chance.random() < 0.02 else 1) + (8 if step % 100 == 99 else 0)
        at += value("took_s", step, took_s)
        loss = value("loss", step, (0.5 + 2 * exp(-step / 200)) * exp(chance.gauss(0, 0.04)))
        yield Step(name, at, None, step, STEPS, None, "generic:step")
        for metric, usual in (
            ("loss", loss),
            ("grad_norm", 1.0 * exp(chance.gauss(0, 0.3))),
            ("lr", 1e-5 * (1 - step / STEPS)),
            ("tokens_per_s", 8_000 * exp(chance.gauss(0, 0.03))),
            ("kl", abs(chance.gauss(0.02, 0.01))),
        ):
            told: float | None = usual if metric == "loss" else value(metric, step, usual)
            yield Metric(name, at, None, step, metric, None if told is None or told != told else told)
        if step % 5 == 0:
            rss = int(value("rss", step, 8e9 + chance.gauss(0, 2e7)))
            command = str(planted.get("command", "python train.py --batch 8"))
            yield ProcessRow(name, at, "n0", 100, 1, START, 0, "rank", "python", command, "R", None, 99.0, rss, 0.0, 0.0, 9, None)
            power, busy = value("power", step, 600 + chance.gauss(0, 20)), value("util", step, 95 + chance.gauss(0, 3))
            yield GpuRow(name, at, "n0", 0, "H100", "ok", busy, 1, 2, power, 700.0, 60.0, 1, None, None, None, None, None, "")
        if step % 10 == 0:
            frame = "forward" if chance.random() < value("forward", step, 0.7) else "backward"
            yield StackRow(name, at, step, 100, 0, 100, True, 0, frame, "train.py", 12)
    for each in planted.get("findings", ()):
        yield FindingRow(name, each, "fatal", "cause", 0, at, at, 1, 1, 0, 10, f"text of {each}", "")
    word = str(planted.get("word", "finished"))
    yield VerdictRow(name, at, word, None, "certain", f"It is {word}.", None, 1.0, "", "")


PLANTED: dict[str, tuple[dict[str, object], str, str]] = {
    "each step a fifth slower": ({"took_s": lambda step, usual: 1.2 * usual}, "pace", "time of a step"),
    "each step a fifth faster": ({"took_s": lambda step, usual: 0.8 * usual}, "pace", "time of a step"),
    "slower from the first third on": (
        {"took_s": lambda step, usual: usual * (1.5 if step > 200 else 1)},
        "pace",
        "time of a step",
    ),
    "loss stays up": ({"loss": lambda step, usual: max(usual, 1.2)}, "metric", "loss"),
    "loss jumps at step 400": ({"loss": lambda step, usual: usual + (1 if step >= 400 else 0)}, "metric", "loss"),
    "loss a third higher": ({"loss": lambda step, usual: 1.33 * usual}, "metric", "loss"),
    "loss is not finite from step 500 on": (
        {"loss": lambda step, usual: float("nan") if step >= 500 else usual},
        "metric",
        "loss",
    ),
    "gradients four times as large": ({"grad_norm": lambda step, usual: 4 * usual}, "metric", "grad_norm"),
    "another learning rate": ({"lr": lambda step, usual: 3 * usual}, "metric", "lr"),
    "another schedule": ({"lr": lambda step, usual: 1e-5}, "metric", "lr"),
    "fewer tokens a second": ({"tokens_per_s": lambda step, usual: 0.7 * usual}, "metric", "tokens_per_s"),
    "kl grows": ({"kl": lambda step, usual: usual + step / 1_000}, "metric", "kl"),
    "memory leaks": ({"rss": lambda step, usual: usual + 1e6 * step}, "memory", "memory of rank 0"),
    "a GPU draws less": ({"power": lambda step, usual: 0.5 * usual}, "gpu", "power of GPU 0"),
    "a GPU is idle a third of the time": (
        {"util": lambda step, usual: usual if step % 3 else 0.0},
        "gpu",
        "utilisation of GPU 0",
    ),
    "the model loads for five minutes": ({"model_load": lambda step, usual: 300.0}, "stage", "stage model_load"),
    "a message that is new": ({"findings": ("cuda.oom",)}, "finding", "cuda.oom"),
    "another end": ({"word": "hung"}, "end", "last verdict"),
    "another batch size": ({"command": "python train.py --batch 16"}, "command", "command of rank"),
    "ranks are elsewhere": ({"forward": lambda step, usual: 0.2}, "frame", "forward (train.py:12)"),
    "the power falls in the second half": (
        {"power": lambda step, usual: usual * (0.4 if step > 250 else 1)},
        "gpu",
        "power of GPU 0",
    ),
}


def compared(seed: int, other: int, plant: dict[str, object] | None = None):
    with Database() as database:
        database.fill(run_of("good", seed))
        database.fill(run_of("bad", other, plant))
        return Runs(database, "good", "bad").differences()


@pytest.mark.parametrize("what", PLANTED)
def test_what_was_planted_is_found_and_nothing_else(what):
    plant, about, name = PLANTED[what]
    found = compared(1, 2, plant)
    assert (about, name) in {(each.about, each.name) for each in found}
    assert {each.about for each in found} == {about}


@pytest.mark.parametrize("seed", range(10))
def test_two_runs_that_differ_by_chance_do_not_differ(seed):
    assert compared(100 + 2 * seed, 101 + 2 * seed) == []


def test_it_is_said_from_which_step_on_a_course_differs():
    (found,) = compared(1, 2, PLANTED["loss jumps at step 400"][0])
    assert found.step is not None
    assert 360 <= found.step <= 420


def test_logs_are_compared_as_recordings_are(tmp_path):
    for name, loss in (("good", 0.5), ("bad", 0.9)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text("".join(f"step {n}/99 loss={loss + n % 7 / 100}\n" for n in range(99)))
    words = ["diff", str(tmp_path / "good" / "train.log"), str(tmp_path / "bad" / "train.log")]
    answer = CliRunner().invoke(hangtop, words)
    assert answer.exit_code == 1
    assert "loss from step 0 on: 0.915, good run 0.515" in answer.output
    assert CliRunner().invoke(hangtop, [words[0], words[1], words[1]]).exit_code == 0
