"""The rows of the panes, from records alone: no screen, no clock."""

from __future__ import annotations

import time

import pytest
from msgspec.structs import replace

from hangtop.records.health import SourceHealth
from hangtop.records.log import LogLine
from hangtop.records.stack import Stack, StacksReading
from hangtop.records.verdict import Evidence, StageNow, Verdict
from hangtop.render.log.log_query import LogQuery
from hangtop.render.log.log_rows import line_row, log_rows, no_line, silence_row, without_clock
from hangtop.render.log.log_view_model import LogViewModel
from hangtop.render.spans import between, cut, head, pad, width_of
from hangtop.render.view import CALM, Alarm, View
from hangtop.state.run_state import RunState
from hangtop.tui.keys import Key, all_keys
from hangtop.tui.panes.footer import footer_row, source_sign
from hangtop.tui.panes.stages_pane import done_stages, stage_row, stages_to_come
from hangtop.tui.panes.status_line import badge, status_row, terminal_title
from hangtop.tui.panes.verdict_pane import ALL, verdict_rows
from tests.fakes.views import plain, roles, view_of


@pytest.fixture(autouse=True)
def _utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


class TestLine:
    def test_a_row_is_cut_to_the_cell_and_says_so(self):
        row = (("损失 loss", "ink"), (" [/dev/shm]", "muted"))
        assert width_of(row) == 20
        for width in range(1, 25):
            assert width_of(cut(row, width)) <= width
            assert width_of(pad(row, width)) == width
        assert plain(cut(row, 12)) == "损失 loss […"

    def test_the_right_end_stays_when_the_left_is_too_long(self):
        assert plain(between((("a long left side", ""),), (("BADGE", ""),), 12)) == "a lon… BADGE"

    def test_a_head_runs_to_the_edge_and_is_heavy_with_the_focus(self):
        assert plain(head("2", "Ranks", (("8 of 8", "muted"),), 24)) == "2 Ranks  8 of 8 ────────"
        assert plain(head("6", "Log", (), 20, focused=True, right=(("all lines", "muted"),))) == "6 Log   ━━ all lines"


class TestStatus:
    def test_where_nobody_writes_the_log_the_badge_doubts_as_the_headline_does(self):
        view = view_of("healthy")
        doubted = Verdict(word="running", headline="No process here has the log open", refute="", confidence="possible")
        assert plain(badge(replace(view, verdict=replace(doubted, silence_s=30.0)))) == "? NO WRITER  quiet 30s"

    def test_everything_at_full_width(self):
        row = plain(status_row(view_of("healthy"), 120))
        assert row.startswith(" hangtop  train.log   verl · 8 ranks on n1 · step 120/400 · 50.9 s/step · ETA 3h57")
        assert row.endswith("● RUNNING  quiet 3s")
        assert len(row) == 119

    @pytest.mark.parametrize("word", ["crashed", "hung", "stalled", "waiting"])
    def test_a_run_that_stands_has_no_pace_and_is_expected_at_no_time(self, word):
        view = view_of("healthy")
        stands = Verdict(word=word, headline="Rank 2: CUDA out of memory", refute="", confidence="certain")
        row = plain(status_row(replace(view, verdict=stands), 120))
        assert "50.9 s/step" in plain(status_row(view, 120))
        assert "s/step" not in row
        assert "ETA" not in row

    @pytest.mark.parametrize(
        ("width", "gone", "stays"),
        [
            (95, "hangtop", "verl"),
            (88, "verl", "8 ranks"),
            (80, "8 ranks", "ETA"),
            (68, "ETA", "s/step"),
            (55, "s/step", "step 120/400"),
        ],
    )
    def test_what_goes_when_it_is_narrow(self, width, gone, stays):
        row = plain(status_row(view_of("healthy"), width))
        assert gone not in row
        assert stays in row
        assert row.endswith("quiet 3s")

    def test_the_badge_is_never_dropped(self):
        for name in ("healthy", "stalled", "crashed", "many"):
            view = view_of(name)
            for width in range(30, 140, 3):
                assert plain(badge(view)) in plain(status_row(view, width)) + " "

    def test_before_the_first_reading(self):
        view = View(RunState(), None, view_of("healthy").spec, 0.0, "train.log")
        assert "reading …" in plain(status_row(view, 80))
        assert "reading …" in plain(stage_row(view, 80))
        assert "reading …" in plain(verdict_rows(view, 80, 6)[0])

    def test_the_terminal_title_carries_state_and_time_only_in_trouble(self):
        assert terminal_title(view_of("healthy")) == "● RUNNING train.log"
        assert terminal_title(view_of("stalled")) == "■ STALLED 2:31 train.log"


class TestStageBar:
    def test_done_now_and_to_come(self):
        row = stage_row(view_of("startup"), 120)
        assert (
            plain(row)
            == " ✓ config 5s   ✓ dataset 20s   ✓ pool 5s   ▸ rollout 13s / 3:00   · actors   · weight sync   · training"
        )
        assert roles(row, "rollout") == "accent bold"

    def test_a_stall_fills_the_chip(self):
        row = stage_row(view_of("stalled"), 120)
        assert roles(row, "weight sync 2:31 / 2:00") == "bad bold reverse"

    def test_the_training_stage_shows_the_silence_against_its_limit_only_in_trouble(self):
        assert plain(stage_row(view_of("healthy"), 140)).endswith("▸ training 1h43")
        assert plain(stage_row(view_of("many"), 140)).rstrip().endswith("▸ training 1h46  quiet 3:12 / 2:00")

    def test_finished_stages_fold_first_then_those_to_come_go(self):
        assert plain(stage_row(view_of("stalled"), 80)) == " ✓ 5 stages 1:16    ▸ weight sync 2:31 / 2:00    · training"
        assert plain(stage_row(view_of("stalled"), 50)) == " ✓ 5 stages 1:16    ▸ weight sync 2:31 / 2:00"
        for width in range(20, 120):
            assert width_of(stage_row(view_of("stalled"), width)) <= width

    def test_a_stage_that_comes_again_is_one_chip(self):
        view = view_of("healthy")
        log = view.state.log
        again = tuple(
            replace(event, id=id_, title=id_, at=view.now - 50 + i)
            for i, id_ in enumerate(("rollout", "train_loop") * 2)
            for event in log.stages[:1]
        )
        now = StageNow("train_loop", "train_loop", 1.0, None)
        titles = [stage.title for stage in done_stages(replace(log, stages=(*log.stages, *again)), now)]
        assert titles.count("rollout") == 1  # the engines' start-up and the rollouts of training bear the same word

    def test_the_stage_now_is_not_also_done_or_to_come_under_the_same_word(self):
        view = view_of("healthy")
        log = view.state.log
        now = replace(log.stages[-1], id="rollout", title="rollout", at=view.now - 2)
        log = replace(log, stages=(*log.stages, now))
        verdict = replace(view.verdict, stage=StageNow("rollout", "rollout", 2.0, None))
        row = plain(stage_row(replace(view, state=replace(view.state, log=log), verdict=verdict), 200))
        assert row.count("rollout") == 1
        assert "▸ rollout" in row

    def test_what_one_rank_came_to_behind_the_stage_of_the_run_is_not_done(self):
        view = view_of("healthy")
        log = view.state.log
        end = replace(log.stages[-1], id="finish", title="finished", at=view.now - 2)
        log = replace(log, stages=(*log.stages, end))
        row = plain(stage_row(replace(view, state=replace(view.state, log=log)), 200))
        assert row.rstrip().endswith("▸ training 1h43")
        assert "finished" not in row

    def test_nothing_is_to_come_once_it_trains(self):
        log = view_of("healthy").state.log
        assert stages_to_come(log, StageNow("train_loop", "training", None, None)) == ()
        assert stages_to_come(replace(log, stages=log.stages[:1]), StageNow("config", "config", None, None))[0] == "dataset"


class TestVerdictBand:
    def test_healthy_is_two_quiet_lines(self):
        rows = verdict_rows(view_of("healthy"), 118, 6)
        assert len(rows) == 2
        assert plain(rows[0]).startswith("▏ Running as before.  All 8 ranks in step 120. Longest silence so far 36s, limit")
        assert "30 %" in plain(rows[1])
        assert "loss 0.119 ▆" in plain(rows[1])

    def test_on_its_page_nothing_of_the_verdict_is_cut(self):
        view = view_of("stalled")
        told = Evidence("log", "words of evidence " * 12 + "to the end")
        long = replace(
            view.verdict, headline="a long headline " * 12 + "to its end", evidence=(told,), refute="it " * 60 + "ends"
        )
        rows = [plain(row) for row in verdict_rows(replace(view, verdict=long), 80, None)]
        said = " ".join(" ".join(row.split()[1:]) for row in rows)
        assert all(len(row) <= 80 for row in rows)
        assert "…" not in said
        for words in (long.headline, told.text, f"wrong if {long.refute}"):
            assert words in said

    @pytest.mark.parametrize("width", [74, 78])
    def test_rank_exception_and_place_of_a_crash_are_read_whole_on_a_small_screen(self, width):
        view = view_of("crashed")
        place = Evidence("log", "raised below /home/me/train.py:88 in train_step")
        headline = "Rank 11: RuntimeError: The size of tensor a (4096) must match the size of tensor b (2048)."
        rows = [
            plain(row)
            for row in verdict_rows(
                replace(view, verdict=replace(view.verdict, headline=headline, evidence=(place, *view.verdict.evidence))),
                width,
                5,
            )
        ]
        said = " ".join(" ".join(row.split()[1:]) for row in rows)
        assert len(rows) <= 5
        assert all(len(row) <= width for row in rows)
        assert headline in said.replace(" certain", "")
        assert place.text in said
        assert "wrong if" in rows[-2]
        assert "next" in rows[-1]

    @pytest.mark.parametrize("name", ["healthy", "stalled", "crashed", "startup", "fleet_hung", "fleet_slow", "finished"])
    def test_no_room_at_all_breaks_nothing(self, name):
        """So a screen is painted on a slow machine: there is a verdict before there is a layout."""
        view = view_of(name, 400)
        for width in range(12):
            for lines in (*range(8), None):
                assert lines is None or len(verdict_rows(view, width, lines)) <= max(lines, 4)
            assert status_row(view, width) is not None
            assert stage_row(view, width) is not None
            assert footer_row(view, width, ALL) is not None

    def test_a_headline_that_is_too_long_for_its_rows_ends_with_a_whole_word(self):
        view = view_of("crashed")
        rows = verdict_rows(replace(view, verdict=replace(view.verdict, headline="averylongword " * 30)), 78, 5)
        assert plain(rows[1]).endswith("averylongword…")

    def test_evidence_has_the_rows_that_nothing_else_needs(self):
        view = view_of("stalled")
        told = Evidence("log", "silent since 10:04:09, limit 2:00; a step takes 50.9 s and never took more than 55s")
        rows = [plain(row) for row in verdict_rows(replace(view, verdict=replace(view.verdict, evidence=(told,))), 78, 5)]
        assert len(rows) == 5
        assert " ".join(" ".join(row.split()[1:]) for row in rows[1:3]) == f"+ log {told.text}"

    def test_no_key_is_named_that_is_not_there(self):
        view = view_of("crashed")
        there, replayed = (plain(verdict_rows(view, 118, 6, keys)[-1]) for keys in (ALL, all_keys(replay=True, read_only=True)))
        assert "b bundle" in there
        assert "bundle" not in replayed
        assert "Enter cause and fixes" in replayed

    def test_the_healthy_band_says_whole_sentences_the_limit_last_and_always(self):
        view = view_of("healthy")
        calm = replace(view.verdict, detail="All 8 ranks in step 7. Longest silence so far 0s, limit 2:00.")
        wide, narrow = (plain(verdict_rows(replace(view, verdict=calm), width, 6)[0]) for width in (118, 80))
        assert "All 8 ranks in step 7. Longest silence" in wide
        assert "All 8 ranks" not in narrow
        assert narrow.endswith("Longest silence so far 0s, limit 2:00.")

    def test_trouble_names_evidence_what_would_refute_it_and_what_is_next(self):
        rows = [plain(row) for row in verdict_rows(view_of("stalled"), 118, 6)]
        assert rows[0].startswith("▌ STALLED  Rank 3 stayed behind; no output since 10:04:09.")
        assert rows[1].startswith("▌   + log")
        assert rows[-2].startswith("▌   − wrong if")
        assert rows[-1].startswith("▌     next")

    def test_it_stands_still_while_nothing_changes(self):
        assert verdict_rows(view_of("stalled"), 118, 6) == verdict_rows(view_of("stalled", 33), 118, 6)

    def test_evidence_gives_way_to_refutation_and_next(self):
        view = view_of("stalled")
        many = replace(view.verdict, evidence=view.verdict.evidence * 9)
        rows = [plain(row) for row in verdict_rows(replace(view, verdict=many), 118, 5)]
        assert len(rows) == 5
        assert "wrong if" in rows[3]

    def test_a_loss_that_is_no_number_stands_out(self):
        view = view_of("healthy")
        log = view.state.log
        progress = replace(log.progress, metrics={**log.progress.metrics, "loss": None})
        row = verdict_rows(replace(view, state=replace(view.state, log=replace(log, progress=progress))), 118, 6)[1]
        assert roles(row, "NaN") == "bad bold"

    def test_bars_without_a_total_show_the_stages(self):
        assert "3 of 7 stages" in plain(verdict_rows(view_of("startup"), 118, 6)[1])


class TestLog:
    def test_hostile_text_is_shown_as_it_is(self):
        line = LogLine(0, 0, 1_768_126_000.0, 0, "[rank0]:", "File [/dev/shm] [/] [bold]x", "error")
        row = line_row(line, 100)
        assert plain(row) == "10:06:40  [rank0]: File [/dev/shm] [/] [bold]x"
        assert roles(row, "File") == "bad"

    def test_kinds_have_their_colour(self):
        for kind, role in (("plain", "muted"), ("progress", "ink"), ("stage", "accent"), ("warning", "warn"), ("error", "bad")):
            assert roles(line_row(LogLine(0, 0, None, None, "", "words", kind), 40), "words") == role

    def test_the_time_that_stands_in_front_already_is_left_out_of_the_prefix(self):
        prefix = "2026-01-11T10:06:40.123456789Z stdout F [pod/train-1/pytorch] [rank1]:"
        line = LogLine(0, 0, 1_768_126_000.0, 1, prefix, "iteration 59/ 100")
        assert plain(line_row(line, 72)) == "10:06:40  stdout F [pod/train-1/pytorch] [rank1]: iteration 59/ 100"
        assert plain(line_row(line, 120)).startswith("10:06:40  stdout F [pod/train-1/pytorch] [rank1]: ")
        assert prefix[:50] in plain(line_row(line, 72, timed=False))

    @pytest.mark.parametrize(
        ("prefix", "shown"),
        [
            ("[2026-01-11 10:00:05] root - ", "root - "),
            ("2026-01-11 10:00:05,123 - INFO - ", "INFO - "),
            ("INFO 01-11 10:00:05 [core.py:69] ", "INFO [core.py:69] "),
            ("[2026-01-11 10:00:05 TP0] ", "[TP0] "),
            ("I0111 10:00:05.123456 1401234 train.py:88] ", "I 1401234 train.py:88] "),
            ("(WorkerDict pid=12) 2026-01-11 10:00:06.123 | INFO | ", "(WorkerDict pid=12) INFO | "),
            ("[rank0]: [2026-01-11 18:00:05] ", "[rank0]: "),
            ("[2026-01-11 10:07:35] root - ", "[2026-01-11 10:07:35] root - "),
            ("(TaskRunner pid=133842) ", "(TaskRunner pid=133842) "),
        ],
    )
    def test_a_line_does_not_carry_its_clock_twice(self, prefix: str, shown: str) -> None:
        """In whatever zone it is told; a time that is another one stays."""
        assert without_clock(prefix, 1_768_125_605.0) == shown

    def test_a_long_line_is_cut_and_can_be_shifted(self):
        line = LogLine(0, 0, None, None, "", "0123456789" * 500)
        assert plain(line_row(line, 20, timed=False)) == "0123456789012345678…"
        assert plain(line_row(line, 20, timed=False, shift=15)).startswith("…567890123456")

    @pytest.mark.parametrize(
        ("name", "said", "role"),
        [
            ("stalled", "silent since 10:04:09", "bad bold"),
            ("slow", "quiet since", "warn bold"),
            ("finished", "closed by all writers", "muted bold"),
        ],
    )
    def test_the_last_line_is_the_silence(self, name, said, role):
        row = silence_row(view_of(name), 100)
        assert said in plain(row)
        assert roles(row, said) == role
        assert width_of(row) == 100

    def test_that_the_only_file_was_deleted_is_said_above_its_lines_also_where_the_pane_has_no_head(self):
        view = view_of("healthy")
        said = "/a/b/train.log: deleted or moved; waiting for it to come back"
        files = (replace(view.state.log.files[0], path="/a/b/train.log", status="gone", problem=said),)
        gone = replace(view, state=replace(view.state, log=replace(view.state.log, files=files)))
        book = LogViewModel(lambda ask: None)
        book.take_tail(gone.state)
        top, *lines = log_rows(gone, book, 80, 10)
        assert plain(top) == "! train.log: deleted or moved; waiting for it to come back"
        assert len(lines) == 9
        assert "deleted" not in plain(log_rows(view, book, 80, 10)[0])

    def test_why_there_is_no_line_is_told_to_its_end_in_a_narrow_terminal_too(self):
        view = view_of("healthy")
        said = "emptyd: no log files in this directory (*.log, *.out, *.err), waiting for one: ls -R emptyd"
        none = replace(view, state=replace(view.state, log=replace(view.state.log, files=(), problem=said)))
        rows = [plain(row) for row in log_rows(none, LogViewModel(lambda ask: None), 80, 1 + 9)]
        assert any(row.endswith("ls -R emptyd") for row in rows)
        assert all(len(row) <= 80 for row in rows)

    def test_a_filter_that_looks_like_a_regex_and_shows_nothing_names_the_key_that_makes_it_one(self):
        for pattern, regex, said in (
            (r"\[ACTOR\]|\[SYNC\]", False, "/ Tab Enter takes it as a regex"),
            ("ERROR|NCCL", False, "/ Tab Enter takes it as a regex"),
            ("[ACTOR]", False, "no line matches"),
            ("ERROR|NCCL", True, "no line matches"),
        ):
            assert said in no_line(LogQuery(pattern, regex))

    def test_a_healthy_run_has_no_such_line(self):
        assert silence_row(view_of("healthy"), 100) is None


class TestFooter:
    def test_help_and_quit_never_drop(self):
        for width in range(60, 130, 5):
            row = plain(footer_row(view_of("healthy"), width, all_keys(read_only=False, replay=True)))
            assert "? help" in row
            assert "q quit" in row
            assert len(row) <= width

    def test_a_new_action_appears_by_itself(self):
        key = Key("s", "s", "stacks", "stacks", "dump stacks of all ranks")
        assert "s stacks" in plain(footer_row(view_of("healthy"), 120, (key, *all_keys(read_only=False, replay=False))))

    @pytest.mark.parametrize(
        ("health", "sign"),
        [
            (SourceHealth("gpu", 1.0), "●"),
            (SourceHealth("gpu", 1.0, busy_s=4.0), "▲"),
            (SourceHealth("gpu", 1.0, busy_s=44.0), "■"),
            (SourceHealth("gpu", problem="not permitted"), "?"),
            (SourceHealth("gpu", absent="no driver"), "○"),
        ],
    )
    def test_each_state_of_a_source_has_its_sign(self, health, sign):
        assert source_sign(view_of("healthy"), health)[0] == sign

    def test_a_source_of_stacks_that_may_read_none_is_refused(self):
        refused = Stack(7, 1.0, problem="permission denied", mend="sudo hangtop")
        looks = (StacksReading(1, stacks=(refused,), done=True),)
        view = replace(view_of("healthy"), state=replace(view_of("healthy").state, looks=looks))
        assert source_sign(view, SourceHealth("stacks", 1.0))[0] == "?"


class TestAlarm:
    def test_it_toggles_for_ten_seconds_and_stays(self):
        alarm = CALM.next(Verdict("stalled", "", ""), 100.0)
        assert [alarm.lit(100.0 + s) for s in range(13)] == [True, False] * 5 + [True] * 3
        assert all(alarm.lit(100.0 + s, calm=True) for s in range(13))

    def test_a_stall_that_becomes_a_hang_rings_once(self):
        alarm = CALM.next(Verdict("stalled", "", ""), 100.0).next(Verdict("hung", "", ""), 130.0)
        assert alarm == Alarm(100.0, 1)

    def test_it_is_calm_at_once_when_output_resumes(self):
        alarm = CALM.next(Verdict("hung", "", ""), 100.0).next(Verdict("running", "", ""), 101.0)
        assert not alarm.lit(101.0)
        assert alarm.next(Verdict("stalled", "", ""), 400.0).rings == 2

    @pytest.mark.parametrize("word", ["slow", "waiting", "blind", "running", "finished"])
    def test_what_never_flashes(self, word):
        assert CALM.next(Verdict(word, "", ""), 1.0) == CALM
