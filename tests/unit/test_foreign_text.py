"""What other people's processes call themselves never steers the terminal that a command prints to."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator

import pytest

from hangtop.actions.execute.steps import step
from hangtop.cli.commands import check, plain
from hangtop.cli.commands.action import show
from hangtop.records.health import SourceHealth
from hangtop.records.log import LogFile, LogReading
from hangtop.records.plan import Refusal
from hangtop.records.ray.cluster import RayCluster, RayReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.spans import plain as in_words
from hangtop.state.run_state import RunState

NOW = 10_000.0
SPEC = WatchSpec(logs=("train.log",))
EVIL = "session_\x1b]0;mine\x07\x1b[2J\nhangtop: all is well"
"""A folder may have this name, and any user's process may name it on its command line."""


class NoFeed:
    def ask(self, ask: object) -> None: ...

    def close(self) -> None: ...


async def beside_evil(*_: object) -> AsyncIterator[RunState]:
    log = LogReading((LogFile("train.log", size_bytes=9),), bytes=9, last_output_at=NOW, caught_up=True)
    ray = {"n1": RayReading((RayCluster(EVIL, uid=23_001),))}
    health = {name: SourceHealth(name, read_at=NOW) for name in ("log", "ray")}
    yield RunState(log=log, ray=ray, health=health, heard_at=NOW)


def only_shows(text: str) -> bool:
    return all(line.isprintable() for line in text.splitlines()) and "\nhangtop: all is well" not in text


def test_check_shows_the_name_of_anothers_session_and_does_not_obey_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "states", beside_evil)
    monkeypatch.setattr("hangtop.common.clock.now", lambda: NOW)
    out = io.StringIO()
    check.run(NoFeed(), SPEC, wait_s=0.0, as_json=False, out=out)  # type: ignore[arg-type]
    assert "session_?]0;mine" in out.getvalue()
    assert only_shows(out.getvalue())


def test_plain_lines_do_not_obey_the_name_of_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    async def evil_log(*_: object) -> AsyncIterator[RunState]:
        log = LogReading((LogFile(EVIL, not_kept="1 MB not kept"),), last_output_at=NOW, caught_up=True)
        yield RunState(log=log, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)

    monkeypatch.setattr(plain, "states", evil_log)
    out = io.StringIO()
    asyncio.run(plain.watch(NoFeed(), SPEC, out, lambda: NOW, frozenset()))  # type: ignore[arg-type]
    assert "1 MB not kept" in out.getvalue()
    assert only_shows(out.getvalue())


def test_a_refusal_and_a_step_are_one_line_each() -> None:
    out = io.StringIO()
    assert show(Refusal(f"{EVIL} belongs to bob"), "ray stop", yes=False, out=out) == 2
    assert only_shows(out.getvalue())
    assert out.getvalue().count("\n") == 1
    assert only_shows(step("failed", f"not started: {EVIL}").text)
    assert in_words(((EVIL, "ink"),)).isprintable()
