"""Jumps of the loss: told with step and factor, once, and not of losses that jump by nature."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hangtop.logs.digest import Digest
from hangtop.records.log import Finding
from tests.fakes.read_log import INDEX


def findings(log: str) -> list[Finding]:
    digest = Digest(INDEX, 0)
    for line in log.splitlines(keepends=True):
        digest.feed(line.encode())
        digest.facts()
    return [finding for finding in digest.facts().findings if finding.id == "num.loss_jump"]


def steps(losses: Iterable[float], line: str = "step {step}/1000 loss {loss:.4f} lr 1e-5\n") -> str:
    return "".join(line.format(step=step, loss=loss) for step, loss in enumerate(losses, 1))


def falling(count: int) -> list[float]:
    rng = random.Random(7)
    return [2.0 + 9.0 * math.exp(-step / 40) + rng.gauss(0, 0.05) for step in range(count)]


LINES = {
    "a script": "step {step}/1000 loss {loss:.4f} lr 1e-5\n",
    "HF Trainer": "{{'loss': {loss:.4f}, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 0.1}}\n",
    "Megatron": " iteration {step:8d}/   20000 | elapsed time per iteration (ms): 3.1 | lm loss: {loss:.6E} |\n",
}


@pytest.mark.parametrize("kind", LINES)
def test_a_jump_is_a_hint_with_its_step_and_factor(kind: str) -> None:
    found = findings(steps([*falling(200), 12.5, 12.0, 11.0, *[2.1] * 20], LINES[kind]))
    assert [(finding.severity, finding.count) for finding in found] == [("hint", 1)]
    assert "loss 12.5" in found[0].text
    assert " times the usual 2." in found[0].text
    assert kind == "HF Trainer" or found[0].text.startswith("step 201:")


CALM: dict[str, Callable[[], list[float]]] = {
    "a loss that falls": lambda: falling(400),
    "a loss that is noisy": lambda: [random.Random(step).lognormvariate(0, 0.4) for step in range(400)],
    "a policy loss around zero": lambda: [random.Random(step).gauss(0, 0.05) for step in range(400)],
    "a KL that starts at nothing": lambda: [0.0001 * step * step for step in range(300)],
    "an SFT loss near zero": lambda: [0.02 + 0.1 * (step % 50 == 49) for step in range(400)],
}


@pytest.mark.parametrize("kind", CALM)
def test_no_jump_is_seen_in(kind: str) -> None:
    assert findings(steps(CALM[kind]())) == []


def test_a_loss_that_stays_up_is_told_once() -> None:
    assert [finding.count for finding in findings(steps([*[2.0] * 40, *[9.0] * 200]))] == [1]


def test_rewards_are_not_judged() -> None:
    line = "step {step}/1000 reward {loss:.4f} kl 0.1\n"
    assert findings(steps([*[1.0] * 50, 90.0], line)) == []


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=60))
def test_whatever_the_losses_are_nothing_breaks(losses: list[float]) -> None:
    findings(steps(losses, "step {step}/1000 loss {loss}\n"))
