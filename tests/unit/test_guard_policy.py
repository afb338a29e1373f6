"""A policy that makes sense is read; one that does not is refused with its line and the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from hangtop.guard.policy import in_hours, seconds
from hangtop.guard.read_policy import PolicyError, read_policy

WHOLE = """
keep = "evidence"

[[when]]
event = ["hung", "stalled"]
after = "5m"
confidence = "certain"
hours = "22:00-07:00"
do = ["stacks", "run"]
run = ["logger", "-t", "hangtop"]

[[when]]
event = "nan"
do = "stop"

[[when]]
event = "finished"
do = "notify"

[restart]
most = 2
back_off = "90s"
command = ["torchrun", "train.py"]
resume = ["--resume", "{checkpoint}"]

[notify]
urls = ["json://127.0.0.1/"]
every = 600
"""


def read(folder: Path, text: str):
    place = folder / "guard.toml"
    place.write_text(text)
    return read_policy(place)


def test_all_keys_are_read(tmp_path: Path) -> None:
    policy = read(tmp_path, WHOLE)
    first, second, _ = policy.when
    assert (first.events, first.deeds, first.after_s) == (("hung", "stalled"), ("stacks", "run"), 300.0)
    assert (second.events, second.deeds, second.after_s) == (("nan",), ("stop",), 0.0)
    assert (policy.restart.back_off_s, policy.notify.every_s) == (90.0, 600.0)


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('[[when]]\nevent = "slow"\ndo = "restart"', 3, "restart at slow: only a run that"),
        ('[[when]]\nevent = ["hung", "running"]\ndo = ["notify", "stop"]', 3, "stop at running"),
        ('[[when]]\nevent = "hung"\ndo = ["stop", "restart"]', 3, "stop and restart: one of them"),
        ('[[when]]\nevent = "hung"\nafter = "soon"\ndo = "notify"', 3, "is no duration such as 90, 90s, 5m or 2h"),
        ('[[when]]\nevent = "hung"\ndo = "notify"\nhours = "8-9"', 4, "is no time of the day such as 22:00-07:00"),
        ('[[when]]\nevent = "hung"\ndo = "run"', 3, "belong together"),
        ('[[when]]\nevent = "hung"\ndo = "notify"\nrun = ["true"]', 3, "belong together"),
        ('[[when]]\nevent = "asleep"\ndo = "notify"', 2, "Invalid enum value 'asleep'"),
        ('[[when]]\nevent = "hung"', 1, "missing required field `do`"),
        ('[[when]]\nevent = []\ndo = "stacks"', 2, "at which event?"),
        ('[[when]]\nevent = "hung"\ndo = []', 3, "what is to be done?"),
        ('[[when]]\nevent = "hung"\ndo = "run"\nrun = [""]', 4, "its first word is the program"),
        ('[[when]]\nevent = "hung"\ndo = "stop"\nhours = "10:00-10:00"', 4, "is no time of the day"),
        ('[[when]]\nevent = "hung"\ndo = "notify"', 3, "notify whom?"),
        ('[notify]\nurls = ["json://127.0.0.1/"]', 2, "nothing is told to them"),
        ('keep = "/dev/null/x"\n[[when]]\nevent = "hung"\ndo = "stacks"', 1, "nothing can be written in /dev/null"),
        (
            '[[when]]\nevent = "hung"\ndo = "run"\nrun = ["a"]\n[[when]]\nevent = "hung"\ndo = "run"\nrun = ["b"]',
            7,
            "another run",
        ),
        (
            '[[when]]\nevent = "hung"\ndo = "stop"\n[[when]]\nevent = "hung"\ndo = "restart"',
            6,
            "stop at hung after 0.0 stands in when[0]",
        ),
        ('[restart]\nwithin = "0"', 2, "no number of starts"),
        ('[restart]\ncommand = [""]', 2, "its first word is the program"),
        ('[restart]\ncommand = ["a"]\nresume = ["--from", "{ckpt}"]', 3, "only for {checkpoint}"),
        ("[restart]\nmost = -1", 2, "a number of starts"),
        ('[restart]\nresume = ["--resume"]', 2, "restart.command must say it"),
        ('[notify]\nevery = "-5"', 2, "is no duration"),
        ("[[when]\n", 1, "not valid TOML"),
        ("whenever = 1", 1, "unknown field `whenever`"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_line(tmp_path: Path, text: str, line: int, why: str) -> None:
    with pytest.raises(PolicyError) as refused:
        read(tmp_path, text)
    assert str(refused.value).startswith(f"{tmp_path / 'guard.toml'}:{line}: ")
    assert why in str(refused.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="No such file"):
        read_policy(tmp_path / "none.toml")


@pytest.mark.parametrize(("text", "expected"), [(90, 90), ("90", 90), ("90s", 90), ("1.5 m", 90), ("2h", 7200), ("1d", 86400)])
def test_durations_have_units(text: float | str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(
    ("hours", "minute", "within"),
    [
        ("", 3, True),
        ("08:00-18:00", 480, True),
        ("08:00-18:00", 1080, False),
        ("22:00-07:00", 30, True),
        ("22:00-07:00", 420, False),
    ],
)
def test_hours_may_go_over_midnight(hours: str, minute: int, *, within: bool) -> None:
    assert in_hours(hours, minute) is within
