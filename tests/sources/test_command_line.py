"""The command line as a contract, one process a case: what is printed where, the exit codes, and never a traceback."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from hangtop.cli import main
from hangtop.cli.commands import check
from hangtop.records.ask import Ask
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.log import LogReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec

CORPUS = Path(__file__).parent.parent / "corpus" / "logs"
HEALTHY = "".join(f"[rank{rank}]: step {step}/400 loss 2.{step}\n" for step in range(1, 4) for rank in range(2))
CRASHED = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\nValueError: bad shard\n'
LONG_AGO_S = 3600.0
PATIENCE_S = 240.0
LOG_ALONE = ("--sources", "log")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The config folder of a person who has none of their own yet."""
    folder = tmp_path / "config" / "hangtop"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def hangtop(tmp_path: Path, home: Path):
    """Runs one command to its end. `shell`: what the shell puts behind it, such as `>&-`."""

    def run(*words: str, stdin: str | None = None, shell: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        line = 'exec "$@" ' + shell
        ended = subprocess.run(
            ["bash", "-c", line, "bash", sys.executable, "-m", "hangtop", *words],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "XDG_CONFIG_HOME": str(home.parent), "TZ": "UTC", **env},
            timeout=PATIENCE_S,
        )
        assert "Traceback" not in ended.stderr
        return ended

    return run


def written(path: Path, text: str | bytes, age_s: float = 0.0) -> str:
    """A log with this text, last written `age_s` ago."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    os.utime(path, (time.time() - age_s,) * 2)
    return str(path)


def only_line(text: str) -> str:
    """The one line that says what is wrong, behind click's usage lines."""
    return text.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "age_s", "word", "code"),
    [
        (HEALTHY, 0.0, "running", 0),
        (HEALTHY + "training finished\n", LONG_AGO_S, "finished", 0),
        (HEALTHY, LONG_AGO_S, "stalled", 1),
        (HEALTHY + CRASHED, LONG_AGO_S, "crashed", 3),
        (None, 0.0, "blind", 4),
    ],
)
def test_the_exit_code_of_check_says_the_verdict(hangtop, tmp_path, text, age_s, word, code):
    log = tmp_path / "train.log"
    if text is not None:
        written(log, text, age_s)
    ended = hangtop("check", "--log", str(log), "--json", *LOG_ALONE)
    assert (json.loads(ended.stdout)["verdict"], ended.returncode) == (word, code)
    assert not ended.stderr


SCHEMA = {
    "": "schema at verdict kind confidence headline refute silence_s last_line framework stage progress ranks culprits"
    " evidence findings sources",
    "stage": "id title since_s limit_s",
    "progress": "step total step_s eta_s metrics",
    "ranks": "rank world pid host gpu actor stage step silence_s state why",
    "culprits": "rank pid host confidence why",
    "evidence": "source text supports",
    "findings": "id severity role rank offset text cause fixes",
}


def test_the_json_of_check_has_every_key_and_null_for_the_unknown(hangtop, tmp_path):
    source = CORPUS / "verl_cuda_oom.log"
    log = written(tmp_path / "train.log", source.read_bytes())
    said = json.loads(hangtop("check", "--log", log, "--wait", "60", "--json", *LOG_ALONE).stdout)  # less: it has crashed
    for part, keys in SCHEMA.items():
        value = said[part] if part else said
        assert value
        for record in value if isinstance(value, list) else [value]:
            assert set(keys.split()) <= set(record), part
    assert said["schema"] == 1
    assert said["kind"] is None
    assert {rank["pid"] for rank in said["ranks"]} <= {None, *range(2**22)}
    log_source = said["sources"]["log"]
    assert (log_source["ok"], log_source["problem"]) == (True, None)
    assert (log_source["bytes"], log_source["lines"]) == (source.stat().st_size, source.read_bytes().count(b"\n"))
    assert {finding["role"] for finding in said["findings"]} <= {"cause", "victim", "consequence", "summary", "evidence"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--bogus",), "No such option '--bogus'"),
        (("bogus",), "No such command 'bogus'"),
        (("check", "train.log"), "Got unexpected extra argument (train.log): a log is named with --log"),
        (("config",), "No such command 'config'; to watch it: hangtop --log config"),
        (("check",), "which run? give --log PATH or --pid PID"),
        (("stacks",), "which run? give --log PATH or --pid PID"),
        (("restart", "--log", "x", "--preset", "nope"), "no preset is named nope; there are nccl, recorder"),
        (("--log", "x", "check"), "options come after the command: hangtop check --log …"),
        (("check", "--log", "x", "--stall", "0"), "Invalid value for '--stall'"),
        (("check", "--log", "x", "--sources", "log,foo"), "no source is named foo; there are log, procs"),
        (("check", "--log", "x", "--profile", "foo"), "no profile is named foo; there are accelerate"),
        (("check", "--log", "x", "--profile", "./no.toml"), "no.toml: cannot read this file: No such file or directory"),
        (("check", "--log", "x", "--config", "no.toml"), "no.toml: no such file"),
        (("replay", "no.rec"), "no.rec: No such file or directory"),
        (("demo", "bogus"), "no demo scenario 'bogus'; there are: hang, healthy, slow, crash, laggard"),
    ],
)
def test_wrong_usage_is_one_clear_line_and_exit_code_2(hangtop, words, says):
    ended = hangtop(*words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert says in only_line(ended.stderr)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("config.toml", "stall = 'long'", "config.toml:1: key stall: Expected `float | null`, got `str`"),
        (
            "config.toml",
            "calm = true\nstal = 3",
            "config.toml:2: key stal: Object contains unknown field `stal`; there are stall,",
        ),
        ("config.toml", "stall = ", "config.toml:1: not valid TOML: "),
    ],
)
def test_a_broken_config_is_named_with_its_key(hangtop, home, name, text, says):
    (home / name).write_text(text)
    ended = hangtop("check", "--log", "x")
    assert ended.returncode == 2
    assert says in only_line(ended.stderr)


def test_the_command_line_wins_over_the_config(hangtop, home, tmp_path):
    (home / "config.toml").write_text("stall = 7200.0\n")
    log = written(tmp_path / "train.log", HEALTHY, 600.0)
    assert hangtop("check", "--log", log, *LOG_ALONE).returncode == 0
    assert hangtop("check", "--log", log, "--stall", "60", *LOG_ALONE).returncode == 1


@pytest.mark.parametrize("bytes_", [b"", b"no recording\n", b'{"schema": 99}\n', bytes(range(256))])
def test_a_file_that_is_no_recording_is_refused_in_one_line(hangtop, tmp_path, bytes_):
    (tmp_path / "session.rec").write_bytes(bytes_)
    ended = hangtop("replay", "session.rec")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("hangtop replay: session.rec: ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("shell", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_a_closed_stream_costs_no_more_than_what_would_have_been_said(hangtop, tmp_path, shell):
    log = written(tmp_path / "train.log", HEALTHY + CRASHED)
    assert hangtop("check", "--log", log, *LOG_ALONE, shell=shell).returncode == 3


def test_a_full_disk_under_the_output_is_said(hangtop, tmp_path):
    ended = hangtop("check", "--log", written(tmp_path / "train.log", HEALTHY), *LOG_ALONE, shell=">/dev/full")
    assert (ended.returncode, ended.stderr) == (2, "hangtop: [Errno 28] No space left on device\n")


class SilentFeed:
    """A probe whose sources never answer."""

    async def readings(self) -> AsyncIterator[Reading]:
        await asyncio.Event().wait()
        yield Reading("log", "", 0.0, LogReading(()))

    def ask(self, ask: Ask) -> None:
        """Nobody answers."""

    def close(self) -> None:
        """Nothing is open."""


def test_a_log_of_which_nothing_was_read_in_time_is_not_called_running(monkeypatch, capsys):
    monkeypatch.setattr(check, "START_AT_MOST_S", 0.3)
    code = check.run(SilentFeed(), WatchSpec(logs=("train.log",)), wait_s=None, as_json=True, out=sys.stdout)
    said = json.loads(capsys.readouterr().out)
    assert (code, said["verdict"], said["last_line"]) == (4, "blind", None)


class LateFeed(SilentFeed):
    """A probe that takes eight seconds to start, as it may on a busy machine, and so many more for the first look at the log."""

    def __init__(self, clock: SimpleNamespace, look_s: float) -> None:
        self._clock, self._look_s = clock, look_s

    async def readings(self) -> AsyncIterator[Reading]:
        self._clock.ahead_s += 8.0
        yield Reading("probe", "here", 1.0, Heartbeat((SourceHealth("log"),)))
        await asyncio.sleep(0.5)
        self._clock.ahead_s += self._look_s
        await asyncio.sleep(0.5)
        yield Reading("log", "here", 1.0, LogReading((), caught_up=True, last_line=CRASHED.splitlines()[-1]))
        await asyncio.sleep(0.5)
        yield Reading("probe", "here", 2.0, Heartbeat((SourceHealth("log", read_at=2.0),)))
        await asyncio.Event().wait()


@pytest.mark.parametrize("look_s", [3.0, 40.0])
def test_where_the_probe_starts_slowly_the_rest_has_time_too(monkeypatch, capsys, look_s):
    clock = SimpleNamespace(ahead_s=0.0, monotonic=lambda: time.monotonic() + clock.ahead_s)
    monkeypatch.setattr(check, "time", clock)
    check.run(
        LateFeed(clock, look_s), WatchSpec(logs=("train.log",), sources=("log",)), wait_s=None, as_json=True, out=sys.stdout
    )
    log = json.loads(capsys.readouterr().out)["sources"]["log"]
    assert log["ok"]
    assert log["age_s"] is not None


class BrokenFeed(SilentFeed):
    async def readings(self) -> AsyncIterator[Reading]:
        yield Reading("probe", "here", 1.0, Heartbeat((SourceHealth("log"),)))
        raise RuntimeError("no such reading")


def test_a_feed_that_fails_is_not_watched_for_ever():
    with pytest.raises(RuntimeError, match="no such reading"):
        check.run(BrokenFeed(), WatchSpec(logs=("train.log",)), wait_s=None, as_json=True, out=sys.stdout)


def test_a_pipe_is_watched_to_its_end(hangtop):
    ended = hangtop("--log", "-", *LOG_ALONE, stdin=HEALTHY + "training finished\n")
    assert ended.returncode == 0
    assert "step     3 of 400" in ended.stdout
    assert "FINISHED" in ended.stdout


def test_a_closed_stdin_is_no_log(hangtop):
    ended = hangtop("check", "--log", "-", shell="<&-")
    assert (ended.returncode, ended.stderr) == (2, "hangtop: --log - reads stdin, but stdin is closed: … | hangtop --log -\n")


def test_plain_lines_say_each_thing_once_and_no_time_that_nobody_knows(hangtop, tmp_path):
    log = written(tmp_path / "train.log", "loading model: shard 1/4\n" + HEALTHY + CRASHED + CRASHED, LONG_AGO_S)
    ended = hangtop("--log", log, *LOG_ALONE)
    lines = ended.stdout.splitlines()
    assert ended.returncode == 3
    assert next(line[:8] for line in lines if "  stage  " in line) == "--:--:--"
    assert sum(" fatal " in line for line in lines) == 1
    assert len(set(lines)) == len(lines)


def test_a_recorded_session_plays_again_in_plain_lines(hangtop, tmp_path):
    log = written(tmp_path / "train.log", HEALTHY + CRASHED, LONG_AGO_S)
    watched = hangtop("--log", log, "--record", "session.rec", *LOG_ALONE)
    played = hangtop("replay", "session.rec", "--speed", "100")
    assert (watched.returncode, played.returncode) == (3, 3)
    assert "ValueError: bad shard" in played.stdout


def test_every_command_explains_itself():
    for words in ((), *((name,) for name in main.hangtop.commands)):
        ended = CliRunner().invoke(main.hangtop, [*words, "--help"])
        assert ended.exit_code == 0
        assert ended.output.startswith("Usage: ")


def test_a_shell_can_complete(hangtop):
    assert "_hangtop_completion" in hangtop(_HANGTOP_COMPLETE="zsh_source").stdout
    assert "check" in hangtop(_HANGTOP_COMPLETE="zsh_complete", COMP_WORDS="hangtop che", COMP_CWORD="1").stdout


def test_plain_lines_end_when_nobody_reads_them_any_more(tmp_path: Path, hangtop) -> None:
    log = written(tmp_path / "train.log", HEALTHY)
    ended = hangtop("--log", log, *LOG_ALONE, "--plain", shell="| head -1; echo ended ${PIPESTATUS[0]}")
    assert ended.stdout.splitlines()[-1] == "ended 141"
    assert ended.stderr == ""


@pytest.mark.parametrize("name", ["INT", "TERM"])
def test_plain_lines_end_with_the_verdict_when_somebody_ends_them(tmp_path: Path, hangtop, name: str) -> None:
    log = written(tmp_path / "train.log", HEALTHY)
    shell = (
        f"""> lines & while ! grep -qs "step  " lines; do sleep 0.1; done; kill -{name} $!; wait $!; echo "ended $?"; cat lines"""
    )
    ended = hangtop("--log", log, *LOG_ALONE, "--plain", shell=shell)
    assert ended.stdout.splitlines()[0] == "ended 0"
    assert "RUNNING " in ended.stdout
    assert ended.stderr == ""


def test_a_theme_that_is_not_there_is_one_line_without_a_terminal_too(tmp_path: Path, hangtop) -> None:
    ended = hangtop("--log", written(tmp_path / "train.log", HEALTHY), *LOG_ALONE, "--plain", "--theme", "nope")
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == ["hangtop: no theme named 'nope'; there are: ansi, dark, light, safe"]
    assert ended.stdout == ""
