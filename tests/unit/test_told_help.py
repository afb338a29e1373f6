"""The help of the command line in the reader's language: no string of it is without its pair."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from hangtop.cli.main import hangtop
from hangtop.cli.told_help import ToldCommand, help_texts
from hangtop.translations import speak
from tests.unit.test_translations import CHINESE


def commands(command: click.Command, name: str = "hangtop") -> Iterator[tuple[str, click.Command]]:
    yield name, command
    for word, inner in command.commands.items() if isinstance(command, click.Group) else ():
        yield from commands(inner, f"{name} {word}")


ALL = dict(commands(hangtop))


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    yield
    speak("en")


@pytest.mark.parametrize("name", sorted(ALL))
def test_no_help_is_without_its_pair(name: str) -> None:
    command = ALL[name]
    assert isinstance(command, ToldCommand)
    options = [param.help.partition("  [")[0] for param in command.params if isinstance(param, click.Option) and param.help]
    texts = [text for text in (*help_texts(command), *options) if any(map(str.isalpha, text))]
    assert not [text for text in texts if CHINESE.untold(text)]


@pytest.mark.parametrize("name", sorted(name for name, command in ALL.items() if not command.hidden))
def test_help_in_chinese_names_each_option_and_command(name: str, chinese: None) -> None:
    command, told = ALL[name], CliRunner().invoke(hangtop, [*name.split()[1:], "--help"], prog_name="hangtop")
    assert told.exit_code == 0
    assert told.output.startswith(f"用法: {name} ")
    assert "显示这段说明并退出" in told.output
    for param in command.params:
        assert not isinstance(param, click.Option) or param.hidden or max(param.opts, key=len) in told.output
    for word, inner in command.commands.items() if isinstance(command, click.Group) else ():
        assert inner.hidden or f"\n  {word} " in told.output
    assert " Options" not in told.output


def test_help_in_english_is_that_of_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    told = CliRunner().invoke(hangtop, ["check", "-h"], prog_name="hangtop").output
    assert told.startswith("Usage: hangtop check [OPTIONS]")
    assert "Print one verdict, and exit." in told
