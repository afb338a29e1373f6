"""Under every verdict that is not green: why and do. The catalogue of places, and what is made of it for a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.actions.plans.presets import presets
from hangtop.common.decode_toml import decode_toml
from hangtop.diagnosis.check_report import report
from hangtop.diagnosis.judge import RULES, judge
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.diagnosis.waits_for import waits_for
from hangtop.logs.catalog.fix import Fix
from hangtop.logs.catalog.load import load
from hangtop.logs.catalog.profile import Stage
from hangtop.records.advice import Advice, TellAsk
from hangtop.records.log import StageEvent, StagePlan
from hangtop.records.nodes import on_node
from hangtop.records.process import Rendezvous
from hangtop.records.stack import Frame, Thread
from hangtop.remedies import catalogue
from hangtop.remedies.advise import advice
from hangtop.remedies.catalogue import place_flaws, places, usable_places
from hangtop.remedies.harmless import harmless
from hangtop.remedies.place import Place, can_fill, command, remedies_of, slots_of
from hangtop.remedies.place_page import BLANKS, place_page, stage_page
from hangtop.remedies.within_reach import Reach, within_reach
from hangtop.state.run_state import RunState
from tests.fakes.members import (
    ALL_REDUCE,
    BATON,
    BROADCAST,
    DATA,
    LOCK,
    MEETING,
    NOW,
    SPEC,
    SPIN,
    THREADING,
    USER,
    four,
    process,
    run,
    thread,
)
from tests.fakes.views import RECORDINGS, view_of

PLACES = places()
CATALOG = load()
TAGS = set(
    "oom sigkill sigbus fault left failed mp_lock event nobody nodes gpus ray impossible taken dead_mount elsewhere no_worker "
    "doubted worker_lock worker_network worker_file another_listens nobody_listens listens first_step round_end ranks_twice "
    "in_collective several operations_differ set_up to_neighbour to_experts few_numbers gathers_weights sums_gradients "
    "between_two one_stack in_data_worker gil engine_drained end_said in_fork sends_weights "
    "of_checkpoint of_index trees asked_to_stop broken_bytes of_zero3 of_layout no_room no_elements of_engine".split()
) | {"why time limit", "why preemption", "why node failure"}
"""What is only seen or not: it stands in no text."""
MARKS = {
    told for name, signature in CATALOG.signatures.items() if signature.severity == "hint" for told in (name, f"behind {name}")
}
"""What a log says of how the run is built, and what is no fault."""
TOLD_OTHERWISE = {"crashed", "by_you", "finished", "idle", "left_to_serve", "lost_one"}
"""Rules whose verdicts quote a message or are green."""
OPEN_SLOT = re.compile(r"\{[a-z_]+\}")


def all_fixes() -> Iterator[tuple[str, Fix]]:
    """Every thing to do of the whole catalogue, with whose it is: a message's or a place's."""
    yield from ((signature.id, fix) for signature in CATALOG.signatures.values() for fix in signature.fix)
    yield from ((place.id, fix) for place in PLACES.values() for cause in place.cause for fix in cause.do)


def told(state, now: float = NOW, spec=SPEC) -> tuple[str, tuple[Advice, ...]]:
    snapshot = take_snapshot(state, spec, now)
    verdict = judge(snapshot)
    return verdict.word, advice(snapshot, verdict)


class TestCatalogue:
    def test_every_place_works(self) -> None:
        assert [(place.id, flaw) for place in PLACES.values() for flaw in place_flaws(place)] == []

    def test_no_slot_and_no_need_is_misspelt(self) -> None:
        for place in PLACES.values():
            for cause in place.cause:
                texts = (cause.text, cause.tell, cause.shows, *(text for do in cause.do for text in (do.text, do.set)))
                assert {slot for text in texts for slot in slots_of(text)} <= BLANKS.keys(), place.id
                assert {*cause.needs, *cause.without} <= TAGS | BLANKS.keys() | MARKS, place.id

    def test_every_rule_that_is_not_green_has_a_place(self) -> None:
        named = {rule.removeprefix("slow ") for place in PLACES.values() for rule in place.rules}
        assert named | TOLD_OTHERWISE == {rule.__name__ for rule in RULES}

    def test_every_preset_that_a_remedy_names_is_one(self) -> None:
        known = {preset.id: preset for preset in presets()}
        for place in PLACES.values():
            for do in (do for cause in place.cause for do in cause.do if do.preset):
                preset = known[do.preset]
                assert not (preset.frameworks and do.frameworks) or {*preset.frameworks} & {*do.frameworks}, (place.id, do.text)

    def test_every_cause_names_its_source_and_is_short_enough_for_one_line(self) -> None:
        for place in PLACES.values():
            for cause in place.cause:
                assert cause.source
                assert len(cause.text) <= 90, cause.text
                assert all(len(do.text) <= 85 for do in cause.do), place.id

    @pytest.mark.parametrize("framework", sorted(CATALOG.profiles))
    def test_every_cause_has_a_remedy_to_run_or_to_set_in_every_framework(self, framework: str) -> None:
        seen = dict.fromkeys(BLANKS, "7")
        for place in PLACES.values():
            for cause in place.cause:
                if cause.fits({framework}):
                    found = remedies_of(cause, seen, {framework})
                    assert found, (place.id, cause.text)
                    assert any(do.set for do in found), (place.id, cause.text)
                    assert not any(OPEN_SLOT.search(command(do.set, seen)) for do in found)

    def test_every_fix_is_for_frameworks_that_there_are(self) -> None:
        known = {name for profile in CATALOG.profiles.values() for name in (profile.name, profile.framework)}
        assert not [(owner, fix.text) for owner, fix in all_fixes() if not {*fix.frameworks, *fix.unless} <= known]

    def test_no_fix_sets_what_nobody_reads(self) -> None:
        unread = {name for each in CATALOG.settings.values() if not each.honoured_by for name in (each.name, *each.also)}
        assert "NCCL_TIMEOUT" in unread
        assert not [
            (owner, fix.set) for owner, fix in all_fixes() if unread & {word.partition("=")[0] for word in fix.set.split()}
        ]

    def test_foreign_paths_reach_a_shell_as_one_word(self) -> None:
        assert command("fuser -v {path}", {"path": "/a b;rm -rf x"}) == "fuser -v '/a b;rm -rf x'"
        assert command("kill {pids}", {"pids": "1 2"}) == "kill 1 2"
        within = "bash -c '</dev/tcp/{address}/80'"
        assert can_fill(within, {"address": "10.0.0.2"})
        assert not can_fill(within, {"address": "a;rm -rf x"})
        assert not can_fill(within, {})

    def test_a_users_places_extend_and_replace(self, tmp_path: Path) -> None:
        (tmp_path / "places").mkdir()
        text = (
            'schema = 1\n[[place]]\nid = "lock"\ntitle = "ours"\ntext = "ours"\ndoes = ["lock"]\n'
            '[[place.cause]]\ntext = "our cache of shards"\nsource = "our wiki"\ndo = [{ text = "ask Ann" }]\n'
        )
        (tmp_path / "places" / "ours.toml").write_text(text)
        snapshot = take_snapshot(four(LOCK), SPEC, NOW)
        first = advice(snapshot, judge(snapshot), str(tmp_path))[0]
        assert (first.cause, first.remedy, first.source) == ("our cache of shards", "ask Ann", "our wiki")

    def test_the_place_in_the_guide_works(self) -> None:
        guide = (Path(catalogue.__file__).parents[1] / "GUIDE.md").read_text()
        (text,) = re.findall(r"^```toml\n(schema = 1\n\n\[\[place\]\].*?)^```", guide, flags=re.MULTILINE | re.DOTALL)
        (place,) = decode_toml(text, catalogue.PlaceFile).place
        assert [*place_flaws(place)] == []

    def test_a_broken_file_of_a_user_is_left_out_and_said(self, tmp_path: Path) -> None:
        (tmp_path / "places").mkdir()
        (tmp_path / "places" / "ours.toml").write_text('schema = 1\n[[place]]\nid = "x"\ntitle = 3\n')
        known, problem = usable_places(str(tmp_path))
        assert known.keys() == PLACES.keys()
        assert "ours.toml:4: key place[0].title" in problem


HANGS = {
    "lock": four(LOCK),
    "python_loop": four(SPIN, silence_s=900.0),
    "data_loader": run({0: DATA}, (process(0),)),
    "rendezvous": run({0: MEETING, 1: MEETING}, (process(0), process(1))),
    "desync": four(BROADCAST),
    "build_lock": run({0: BATON, 1: BATON}, (process(0), process(1))),
    "collective": run(dict.fromkeys(range(4), ALL_REDUCE), tuple(process(rank) for rank in range(4))),
    "stopped": four(LOCK, process(2, state="T")),
    "dead_rank": four(LOCK, process(2, state="Z", exit_code=-9)),
}


class TestRun:
    @pytest.mark.parametrize("place", HANGS)
    def test_a_run_that_stands_is_told_its_place_first(self, place: str) -> None:
        word, found = told(HANGS[place])
        assert word == ("crashed" if place == "dead_rank" else "hung")
        assert found[0].place == place
        for each in found:
            assert not OPEN_SLOT.search(f"{each.cause} {each.remedy} {' '.join(each.tell_apart)}"), each
            assert each.why
            assert each.source
            assert each.remedy

    def test_commands_hold_the_pid_and_the_rank(self) -> None:
        first = told(HANGS["stopped"])[1][0]
        assert first.remedy == "Let it go on: kill -CONT 102"
        assert first.paste == "kill -CONT 102"
        assert "rank 2" in first.cause

    def test_of_a_killed_rank_the_signal_tells_the_cause(self) -> None:
        assert "SIGKILL ended rank 2" in told(HANGS["dead_rank"])[1][0].cause
        assert "exit code 0 before its peers" in told(four(LOCK, process(2, state="Z", exit_code=0)))[1][0].cause
        assert "exit code 7" in told(four(LOCK, process(2, state="Z", exit_code=7)))[1][0].cause

    def test_of_a_held_rank_the_debugger_is_named(self) -> None:
        held = four(LOCK, process(2, state="t", tracer_pid=77, state_since=NOW - 600))
        assert told(held)[1][0].remedy.endswith("ps -o user,tty,etime,args -p 77")
        assert not any("kill" in each.paste for each in told(held)[1])

    def test_no_signal_is_advised_for_a_process_that_is_not_proven_to_be_the_runs(self) -> None:
        state = HANGS["stopped"]
        first = told(replace(state, procs=replace(state.procs, taken=(102,))))[1][0]
        assert first.remedy.startswith("Not known to be of this run: ask its owner before any signal: ps ")
        assert first.paste.endswith("-p 102")

    @pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
    def test_every_signal_in_the_catalogue_is_for_a_process_of_the_run(self, place: Place) -> None:
        signals = [do.set for cause in place.cause for do in cause.do if do.set.startswith(("kill", "pkill", "killall"))]
        assert all(slot.startswith("own_") for text in signals for slot in slots_of(text))

    def test_two_threads_at_locks_are_both_named(self) -> None:
        state = four(LOCK)
        other = Thread("writer", (Frame("flush", USER, 88), Frame("run", THREADING, 975)), tid=9, state="S", wait="lock")
        looks = tuple(
            replace(look, stacks=tuple(replace(each, threads=(*each.threads, other)) for each in look.stacks))
            for look in state.looks
        )
        first = told(replace(state, looks=looks))[1][0]
        assert "load_shard and flush (train.py:88)" in first.cause
        assert not any("flush" in each.cause for each in told(state)[1])

    def test_an_event_is_no_lock(self) -> None:
        waits = thread(Frame("Condition.wait", THREADING, 320), Frame("Event.wait", THREADING, 629), Frame("ready", USER, 61))
        assert told(four(waits))[1][0].cause.startswith("nobody sets the event that ready waits for")

    def test_the_missing_ranks_and_the_port_are_those_of_this_run(self) -> None:
        state = HANGS["rendezvous"]
        taken = Rendezvous("10.0.0.2", 29500, world=4, another_listens=True, listening=False)
        first = told(replace(state, procs=replace(state.procs, rendezvous=taken)))[1][0]
        assert first.cause == "port 29500 of 10.0.0.2 belongs to another job"
        assert first.tell_apart[0].startswith("ss -ltnp 'sport = :29500'")

    @pytest.mark.parametrize("framework", ["verl", "gkd", "hf", "megatron", "generic"])
    def test_the_setting_is_that_of_the_framework(self, framework: str) -> None:
        state = HANGS["data_loader"]
        found = told(replace(state, log=replace(state.log, framework=framework, profiles=(framework,))))[1]
        pasted = {
            "verl": "data.dataloader_num_workers=0",
            "gkd": "data.dataloader_num_workers=0",
            "hf": "--dataloader_num_workers 0",
            "megatron": "--num-workers 0",
            "generic": "--num_workers 0",
        }
        assert found[0].paste == pasted[framework]

    def test_a_green_run_needs_no_advice(self) -> None:
        assert told(four(LOCK, silence_s=1.0)) == ("running", ())

    @pytest.mark.parametrize("name", sorted(path.stem for path in RECORDINGS.glob("*.jsonl")))
    def test_every_verdict_that_is_not_green_has_advice(self, name: str) -> None:
        view = view_of(name)
        found = advice(take_snapshot(view.state, view.spec, view.now), view.verdict)
        assert bool(found) != view.verdict.state.healthy

    @pytest.mark.parametrize("name", sorted(CATALOG.profiles))
    def test_a_log_alone_that_stands_in_a_stage_is_told_what_to_run_or_to_set(self, name: str) -> None:
        for stage in CATALOG.profiles[name].stage:
            if stage.ends_run:
                continue
            word, found = told(standing_in(stage, name))
            assert word in ("stalled", "slow")
            if word == "stalled":
                assert found[0].place == "nobody_here"  # nobody is here
            first = next(each for each in found if each.place != "nobody_here")
            assert PLACES[first.place].stages, (stage.id, first.place)
            assert stage.id in PLACES[first.place].stages
            assert first.paste, (stage.id, first.remedy)
            assert first.source

    def test_what_is_to_be_known_of_silence_there_stands_in_why(self) -> None:
        pool = next(stage for stage in CATALOG.profiles["gkd"].stage if stage.id == "resource_pool")
        found = told(standing_in(pool, "gkd"))[1]
        first = next(each for each in found if each.place != "nobody_here")
        assert CATALOG.profiles["gkd"].stall_hint["resource_pool"] in first.why

    def test_what_is_said_of_the_ranks_comes_before_the_usual_cause_of_the_stage(self) -> None:
        state = four(LOCK, stage="weight_sync")
        plan = replace(state.log.plan[0], steady=False)
        found = told(replace(state, log=replace(state.log, plan=(plan,))))[1]
        assert [*dict.fromkeys(each.place for each in found)][:2] == ["lock", "weight_sync"]

    def test_in_training_a_stage_says_less_than_a_rank_that_is_seen(self) -> None:
        places_told = {each.place for each in told(four(LOCK))[1]}
        assert "lock" in places_told
        assert "training" not in places_told


def standing_in(stage: Stage, framework: str) -> RunState:
    """A log alone, long silent in this stage."""
    hint = CATALOG.profiles[framework].stall_hint.get(stage.id, "")
    plan = StagePlan(stage.id, stage.title, steady=stage.steady, hint=hint)
    state = run({}, (), silence_s=9_000.0)
    event = StageEvent(stage.id, stage.title, framework, 0, 10, at=NOW - 9_100)
    assert state.log is not None
    return replace(state, log=replace(state.log, plan=(plan,), stages=(event,), framework=framework, profiles=(framework,)))


class TestWaitsFor:
    def test_peers_wait_for_the_rank_that_never_came(self) -> None:
        snapshot = take_snapshot(four(LOCK), SPEC, NOW)
        found = waits_for(snapshot, judge(snapshot))
        assert {(edge.who, edge.what, edge.alive) for edge in found} == {(f"rank {n}", "rank 2", True) for n in (0, 1, 3)}

    def test_a_dead_rank_is_not_alive(self) -> None:
        snapshot = take_snapshot(four(LOCK, process(2, state="Z", exit_code=1)), SPEC, NOW)
        assert {edge.alive for edge in waits_for(snapshot, judge(snapshot))} == {False}

    def test_the_report_carries_it_all(self) -> None:
        snapshot = take_snapshot(four(LOCK), SPEC, NOW)
        verdict = judge(snapshot)
        made = report(snapshot, verdict, advice(snapshot, verdict))
        assert made.advice[0].place == "lock"
        assert made.decided_by == tuple(fact.text for fact in verdict.evidence if fact.supports)


class TestPages:
    @pytest.mark.parametrize("place", PLACES)
    def test_the_page_of_a_place_has_no_open_slot(self, place: str) -> None:
        text = place_page(PLACES[place])
        assert text.startswith(place)
        assert not OPEN_SLOT.search(text)
        assert max(map(len, text.splitlines())) <= 104

    def test_every_stage_of_every_framework_has_a_page(self) -> None:
        for profile in CATALOG.profiles.values():
            for stage in profile.stage:
                text = stage_page(profile, stage, PLACES)
                assert text.startswith(f"{profile.name}:{stage.id}")
                assert stage.ends_run or "   do: " in text, (profile.name, stage.id)
                assert not OPEN_SLOT.search(text)


def ended(*dos: str, living: bool = False, host: str = "") -> list[str]:
    """What is left of these commands of one cause."""
    pid, hosts = 812 if living else None, (host,) if host else ()
    reach = Reach(gone=not living, here=living, log="/logs/a b.log", pid=pid, hosts=hosts, is_away=bool(host) or not living)
    advised = [Advice("a cause", f"Look: {paste}", "shell", "", "", place="x", paste=paste) for paste in dos]
    return [each.paste for each in within_reach(advised, reach)]


class TestReach:
    def test_of_a_run_that_is_over_no_stack_is_asked_for(self) -> None:
        assert ended("py-spy dump --pid PID", "grep -n Error LOG") == ["grep -n Error '/logs/a b.log'"]

    def test_where_that_is_all_that_could_be_done_it_says_where(self) -> None:
        assert ended("py-spy dump --pid PID") == ["hangtop stacks --log '/logs/a b.log'  # where the run runs"]

    def test_a_machine_that_is_known_is_named(self) -> None:
        assert ended("hangtop stacks", host="n2") == ["hangtop stacks --log '/logs/a b.log'  # on n2"]

    def test_of_a_process_that_lives_the_command_names_the_pid(self) -> None:
        assert ended("py-spy dump --native --pid PID", living=True) == ["py-spy dump --native --pid 812"]

    def test_of_a_process_on_another_node_the_command_names_its_pid_there_and_the_node(self) -> None:
        assert ended("py-spy dump --pid PID", living=True, host="n2") == ["py-spy dump --pid 812  # on n2"]

    def test_the_number_of_a_process_on_another_node_is_told_as_its_pid_there_and_no_command_is_run_with_it_here(self) -> None:
        number = on_node(2, 185)
        cause, tell = f"pid {number} holds x, 8388608 bytes", f"ps -p {number}  # its state"
        advised = Advice(cause, f"Look: kill -CONT {number}", "shell", "", "", (tell,), "x", f"kill -CONT {number}")
        reach = Reach(gone=False, here=True, pid=7, is_away=False, far={str(number): (185, "n3")})
        (told,) = within_reach([advised], reach)
        assert told.cause == "pid 185 on n3 holds x, 8388608 bytes"
        assert told.paste == "kill -CONT 185  # on n3"
        assert told.tell_apart == ("on n3: ps -p 185  # its state",)
        assert isinstance(harmless("ps -p 185"), TellAsk)
        assert isinstance(harmless(told.tell_apart[0]), str), "it is refused"
