"""The runs of this machine as rows: each with its verdict, as many as fit, the chosen one among them."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.monitor.look_at_run import RunLook
from hangtop.monitor.told_state import ToldState
from hangtop.records.runs import RunCandidate
from hangtop.render.runs_rows import head_row, run_list
from hangtop.render.spans import plain

NOW = 1_000.0
RUN = RunCandidate("/data/a/train.log", 7, 0.0, 0, "python train.py", "torchrun", ranks=8, log_modified_at=NOW - 40)
RUNS = (RUN, replace(RUN, log="/data/b/train.log", command="python other.py", via="tee"))
HUNG = ToldState(NOW - 5, (RUN.log,), "train.log", "hung", "Rank 3 never entered all_reduce.", silence_s=150.0, step=13, total=40)


def shown(runs=RUNS, looks=None, chosen=0, width=100, height=20) -> list[str]:
    return [plain(row) for row in run_list(runs, {} if looks is None else looks, chosen, NOW, width, height).shown]


def test_a_run_that_was_looked_at_shows_its_verdict_and_how_long_it_is_silent_by_now() -> None:
    first, second, *_ = shown(looks={RUN.log: RunLook(HUNG)})
    assert first == " ▸ ■ HUNG 2:35           /data/a/train.log   torchrun · 8 ranks · step 13/40"
    assert second.strip() == "Rank 3 never entered all_reduce."


def test_a_look_that_is_old_tells_its_age() -> None:
    old = replace(HUNG, at=NOW - 80)
    assert shown(looks={RUN.log: RunLook(old)})[0].endswith("step 13/40 · seen 1:20 ago")
    assert shown(runs=(replace(RUN, log="/x.log"),))[0].split()[2] == "/x.log"


def test_until_then_it_shows_its_command_and_a_look_that_failed_says_so() -> None:
    looks = {RUNS[1].log: RunLook(problem="no answer within 120 s")}
    rows = shown(looks=looks)
    assert rows[0].startswith(" ▸ …  ")
    assert rows[0].endswith("torchrun · 8 ranks · quiet 40s")
    assert rows[1].strip() == RUN.command
    assert rows[4].strip() == "no answer within 120 s"
    assert shown()[4].strip() == "python other.py via tee"


def test_the_head_counts_what_stands() -> None:
    row = plain(head_row(RUNS, {RUN.log: RunLook(HUNG)}, 60))
    assert row.startswith(" hangtop  2 runs on this machine")
    assert row.endswith("1 hung")


def test_a_low_screen_shows_the_chosen_run_and_a_click_finds_it() -> None:
    many = tuple(replace(RUN, log=f"/data/{number}/train.log") for number in range(20))
    low = run_list(many, {}, 10, NOW, 60, 6)
    assert low.first == 8
    assert low.run_at(4) == 10
    assert "/data/10/" in plain(low.shown[4])
    assert plain(low.shown[4]).startswith(" ▸")
    assert all(len(plain(row)) <= 60 for row in low.shown)
