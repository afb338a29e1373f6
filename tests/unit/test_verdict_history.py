"""The timeline of the verdict: graver at once, calmer only when it lasts or output resumed."""

from __future__ import annotations

from hangtop.monitor.monitor import HOLD_S, Timeline, follow
from hangtop.records.verdict import Confidence, Culprit, Verdict, VerdictWord


def said(word: VerdictWord, silence_s: float = 200.0, rank: int | None = None, confidence: Confidence = "likely") -> Verdict:
    culprits = () if rank is None else (Culprit(rank, 100 + rank, None, confidence, ("x",)),)
    return Verdict(word, f"{word} {rank}", "", confidence=confidence, silence_s=silence_s, culprits=culprits)


def after(*steps: tuple[float, Verdict]) -> Timeline:
    timeline = Timeline()
    for at, verdict in steps:
        timeline = follow(timeline, verdict, at)
    return timeline


def words(timeline: Timeline) -> list[str]:
    return [entry.word for entry in timeline.entries]


def test_a_graver_verdict_is_said_at_once() -> None:
    timeline = after((0, said("running", 1)), (1, said("stalled")), (2, said("hung", rank=3)))
    assert words(timeline) == ["running", "stalled", "hung"]


def test_a_calmer_one_must_last() -> None:
    timeline = after((0, said("hung", rank=3)), (1, said("slow")), (2, said("slow")))
    assert timeline.said is not None
    assert timeline.said.word == "hung"
    timeline = follow(timeline, said("slow"), 1 + HOLD_S)
    assert words(timeline) == ["hung", "slow"]


def test_a_verdict_that_flaps_is_damped_to_the_graver() -> None:
    steps = [(at, said("hung", rank=3) if at % 2 else said("slow")) for at in range(1, 40)]
    assert words(after(*steps)) == ["hung"]


def test_output_that_resumes_calms_at_once() -> None:
    timeline = after((0, said("hung", rank=3)), (1, said("running", silence_s=0.2)))
    assert words(timeline) == ["hung", "running"]


def test_another_culprit_is_named_when_it_lasts_or_is_surer() -> None:
    assert words(after((0, said("hung", rank=3)), (1, said("hung", rank=4)))) == ["hung"]
    surer = after((0, said("hung", rank=3, confidence="possible")), (1, said("hung", rank=4, confidence="likely")))
    assert [entry.headline for entry in surer.entries] == ["hung 3", "hung 4"]


def test_the_numbers_stay_fresh_while_a_change_is_held_back() -> None:
    timeline = after((0, said("hung", 200, rank=3)), (1, said("slow", 201)))
    assert timeline.said is not None
    assert (timeline.said.word, timeline.said.silence_s) == ("hung", 201)


def test_the_timeline_is_bounded() -> None:
    steps = [
        (10.0 * at, said("hung" if at % 2 else "running", 200 if at % 2 else 0.1, rank=3 if at % 2 else None))
        for at in range(600)
    ]
    assert len(after(*steps).entries) == 200
