"""Who is named from logs alone: the voice that is missing, fewer collectives, and what launchers say."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.log import LogLine, RankLog
from hangtop.records.verdict import Verdict
from hangtop.state.run_state import RunState
from tests.fakes.members import NOW, SPEC, run

Said = tuple[int | None, str]


def state_of(said: list[Said], *, one_file: bool = True, world: int = 4, steps: dict[int, int] | None = None) -> RunState:
    """A silent run of which there is nothing but these lines, each a second after the one before."""
    tail = tuple(
        LogLine(0 if one_file or rank is None else rank, 100 * place, NOW - 900 + place, rank, f"[rank{rank}]: ", text)
        for place, (rank, text) in enumerate(said)
    )
    spoke = {rank for rank, _ in said if rank is not None}
    ranks = {rank: RankLog(rank, world=world, step=(steps or {}).get(rank, 5), lines=3, last_at=NOW - 800) for rank in spoke}
    return replace(run({}, (), silence_s=800.0), tail=tail, ranks=ranks, procs=None, looks=())


def culprits(verdict: Verdict) -> list[int | None]:
    return [culprit.rank for culprit in verdict.culprits]


def each(text: str, *ranks: int) -> list[Said]:
    return [(rank, text.replace("@", str(rank))) for rank in ranks or range(4)]


STEPS = [line for step in range(3, 6) for line in each(f"step {step}/100 loss 1.@")]
SAVED = [*STEPS, *each("saving shard @ of step 5")]


@pytest.mark.parametrize("one_file", [True, False])
def test_the_rank_that_never_said_what_all_others_said_last(one_file: bool) -> None:
    assert culprits(diagnose(state_of([*SAVED, *each("shard @ saved in 4.1 s", 0, 2, 3)], one_file=one_file), SPEC, NOW)) == [1]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(SAVED, id="all have said it"),
        pytest.param([*SAVED, (0, "all shards saved")], id="one alone says more"),
        pytest.param([*STEPS, *each("shard @ saved", 0, 1)], id="half of them"),
        pytest.param([*each("ready"), (0, "loading the tokenizer"), *each("step 5/100", 1, 2, 3)], id="it never says such lines"),
        pytest.param(
            [*SAVED, *each("shard @ saved"), *each("shard @ saved", 0, 2, 3)[:0], (1, "saving shard 1 of step 6")], id="ahead"
        ),
    ],
)
def test_nobody_is_named_where_the_last_words_do_not_tell(said: list[Said]) -> None:
    assert culprits(diagnose(state_of(said), SPEC, NOW)) == []


def test_one_step_less_in_whole_lines() -> None:
    said = [*STEPS, *each("step 6/100 loss 1.@", 0, 1, 3)]
    steps = {0: 6, 1: 6, 2: 5, 3: 6}
    assert culprits(diagnose(state_of(said, steps=steps), SPEC, NOW)) == [2]
    torn: list[Said] = [*STEPS, (0, "step 6/100 l[rank2]: step 6/100 loss 1.2"), *each("step 6/100 loss 1.@", 1, 3)]
    assert culprits(diagnose(state_of(torn, steps=steps), SPEC, NOW)) == []
    rest: list[Said] = [*STEPS, *each("step 6/100 loss 1.@", 0, 1, 3), (None, "oss 1.2")]
    assert culprits(diagnose(state_of(rest, steps=steps), SPEC, NOW)) == []


def test_the_rank_of_the_world_that_never_spoke() -> None:
    said = [line for step in range(3) for line in each(f"step {step}", 0, 1, 3)]
    assert culprits(diagnose(state_of(said), SPEC, NOW)) == [2]
    assert culprits(diagnose(state_of(said, world=16), SPEC, NOW)) == []


def test_the_rank_with_fewer_launched_collectives() -> None:
    watch = (
        "[PG ID 0 PG GUID 0(default_pg) Rank @] Received a dump signal. Last enqueued NCCL work: {}, last completed NCCL work: 7."
    )
    said = [*STEPS, *each(watch.format(9), 0, 1, 3), *each(watch.format(8), 2)]
    verdict = diagnose(state_of(said), SPEC, NOW)
    assert culprits(verdict) == [2]
    assert verdict.culprits[0].why == ("launched 8 of 9 collectives",)
    other = [*STEPS, *each(watch.format(9), 0, 1, 3), *each(watch.format(8).replace("ID 0", "ID 3"), 2)]
    assert culprits(diagnose(state_of(other), SPEC, NOW)) == [], "a group of its own counts for itself"


def test_a_rank_alone_in_what_all_others_ended_is_behind_before_the_ceiling_of_a_stage() -> None:
    said = [*SAVED, *each("shard @ saved in 4.1 s", 0, 2, 3)]
    told = diagnose(state_of(said), SPEC, NOW)
    assert (told.word, told.rule in ("never_ended", "stalled"), culprits(told)) == ("stalled", True, [1])


def test_rank_0_may_go_on_for_all() -> None:
    told = diagnose(state_of([*SAVED, *each("shard @ saved in 4.1 s", 1, 2, 3)]), SPEC, NOW)
    assert told.rule != "never_ended"


@pytest.mark.parametrize(("phase", "apart"), [("load_batch", [2]), ("allreduce", [])])
def test_a_rank_that_stands_elsewhere_than_peers_that_wait(phase: str, apart: list[int]) -> None:
    others = "load_batch" if phase == "allreduce" else "allreduce"
    beats = [(rank, f"phase={phase if rank == 2 else others} for {beat}s") for beat in range(5) for rank in range(4)]
    assert culprits(diagnose(state_of([*STEPS, *beats]), SPEC, NOW)) == apart


@pytest.mark.parametrize(
    "text",
    [
        "barrier 'eval_end': 3/4 arrived, missing: [2]",
        "still waiting for ranks [2] at the barrier",
        "waiting for rank 2",
        "rank 2 has not reached the barrier yet",
        "no heartbeat from rank 2 for 60 s",
        "missing ranks: 2",
    ],
)
def test_a_rank_that_another_says_it_waits_for(text: str) -> None:
    assert culprits(diagnose(state_of([*STEPS, *[(0, text)] * 3]), SPEC, NOW)) == [2]


@pytest.mark.parametrize("text", ["missing keys: [2]", "waiting for 2 workers", "missing: [2, 7] of the vocabulary"])
def test_a_number_that_is_no_rank_accuses_nobody(text: str) -> None:
    assert culprits(diagnose(state_of([*STEPS, *[(0, text)] * 3]), SPEC, NOW)) == []


def of_nodes(*said: tuple[str, str]) -> Verdict:
    state = state_of([(None, f"{node}: {text}") for node, text in said])
    tail = tuple(replace(line, prefix="") for line in state.tail)
    return diagnose(replace(state, tail=tail, ranks={}), SPEC, NOW)


def test_a_node_that_said_nothing_more_while_the_others_went_on() -> None:
    nodes = [f"gpu-a0{number}" for number in range(1, 5)]
    together = [(node, f"iteration {step}/1000") for step in range(1, 5) for node in nodes]
    later = [(node, f"iteration {step}/1000") for step in range(5, 8) for node in nodes if node != "gpu-a03"]
    said = of_nodes(*together, *later)
    assert (said.word, [culprit.host for culprit in said.culprits]) == ("stalled", ["gpu-a03"])
    assert said.headline.startswith("gpu-a03 stayed behind;")
    assert of_nodes(*together).culprits == ()
    assert of_nodes(*together, ("gpu-a01", "saved"), ("gpu-a01", "done")).culprits == (), "one alone went on"
    assert of_nodes(*((text.replace("/", " "), node) for node, text in (*together, *later))).culprits == (), "no nodes"
