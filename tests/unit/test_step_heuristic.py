"""Steps in words that no profile knows: read by the shape of the newest lines, and nothing else is taken for them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fakes.read_log import read


def lines(form: Callable[[int], str], count: int = 20) -> str:
    return "".join(f"{form(n)}\n" for n in range(1, count + 1))


COUNTS: dict[str, tuple[Callable[[int], str], tuple[int, int | None]]] = {
    "a sign of one's own": (lambda n: f"<<{n * 100}>> cost 0.{n} lr 3e-4", (2000, None)),
    "of so many": (lambda n: f"[E01|B{n * 10:05d}/02400] nll 2.{n} acc 0.1 dt 0.4s", (200, 2400)),
    "beside other numbers that grow": (lambda n: f"Updates {n}, num timesteps {n * 512}, FPS 81{n}", (20, None)),
    "after a time of its own": (lambda n: f"12:00:{n:02d} >> {n * 5} / 900 -- psnr 12.{n}", (100, 900)),
    "in a new epoch": (lambda n: f"#{n % 14 * 10} ~ nll 0.{n}", (60, None)),
    "with thousands": (lambda n: f"@{n * 1000:,} ~ reward 0.{n}", (20_000, None)),
}
NOTHING: dict[str, Callable[[int], str]] = {
    "layers": lambda n: f"layer {n}: grad norm 0.{n}, lr 0.001",
    "classes": lambda n: f"class {n} acc 0.{n}",
    "how many are looked at": lambda n: f"recall@{n}: acc 0.{n}",
    "a sweep": lambda n: f"batch size {2**n}: loss 0.{n}",
    "evaluation": lambda n: f"<<{n}>> eval loss 0.{n}",
    "seconds": lambda n: f"loss 0.{n} after {n} s",
    "what goes up and down": lambda n: f"<<{n % 7}>> loss 0.{n}",
    "requests": lambda n: f'10.0.0.3 - "GET /metrics/loss?run={n} HTTP/1.1" 200 {n + 812}',
    "commands": lambda n: f"[{n}] bash: python solve.py --loss mse -> exit 0 in 1.{n}s",
    "a table of predictions": lambda n: f"N={n}M D={n * 20}M predicted loss 3.{n}",
    "a server": lambda n: f"Running: {n} reqs, Waiting: 0 reqs, KV cache usage: 1{n}.1%",
    "an announcement": lambda n: f"<<{n}>> cost 0.1 lr 3e-4" if n < 5 else "building",
    "a conversation": lambda n: "<|im_start|>assistant" if n == 1 else f"<<{n}>> cost 0.{n} lr 3e-4",
}


@pytest.mark.parametrize("what", COUNTS)
def test_a_number_that_grows_beside_a_value_of_learning_is_the_step(what: str) -> None:
    form, told = COUNTS[what]
    reading = read(lines(form))
    assert (reading.progress.step, reading.progress.total) == told
    assert reading.stages[-1].id == "train_loop"


@pytest.mark.parametrize("what", NOTHING)
def test_what_is_counted_otherwise_is_no_step(what: str) -> None:
    assert read(lines(NOTHING[what])).progress.step is None


@pytest.mark.parametrize("cuts", [[], [40], [100, 101, 333], list(range(0, 600, 7))])
def test_it_does_not_matter_after_which_bytes_one_asks(cuts: list[int]) -> None:
    reading = read(lines(lambda n: f"2026-03-04 09:12:{n:02d} <<{n}>> cost 0.5{n} lr 3e-4"), *cuts)
    assert (reading.progress.step, reading.progress.metrics["lr"]) == (20, 3e-4)


def test_ranks_that_tell_the_same_step_one_after_the_other_count_once() -> None:
    reading = read("".join(f"{'ab'[n % 2]} it {n // 2} nll 2.{n}\n" for n in range(2, 40)))
    assert reading.progress.step == 19


def test_where_a_step_is_told_in_known_words_no_other_number_counts() -> None:
    reading = read(lines(lambda n: f"step {n}/90 loss 0.{n}\n<<{n * 1000}>> cost 0.{n} lr 3e-4"))
    assert (reading.progress.step, reading.progress.total) == (20, 90)


def test_it_is_finer_than_the_epoch() -> None:
    assert read(lines(lambda n: f"Epoch 3 - chunk {n * 10}, train_loss 0.{n}")).progress.step == 200
