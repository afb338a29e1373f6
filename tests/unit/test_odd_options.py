"""Odd numbers, files and folders are refused in one line, or stand for what is not there: never a traceback."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from hangtop.cli.config import Config, read_config
from hangtop.cli.finite_range import FiniteRange
from hangtop.cli.main import hangtop
from hangtop.cli.options import watch_spec
from hangtop.common.decode_toml import TomlError, decode_toml


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "1e999", "NaN", "infinity"])
def test_a_number_that_is_not_finite_is_in_no_range(word: str) -> None:
    with pytest.raises(click.BadParameter, match=r"finite|range"):
        FiniteRange(min=0).convert(word, None, None)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", "0.5", "1e300"])
def test_nor_in_the_config(tmp_path: Path, value: str) -> None:
    (tmp_path / "c.toml").write_text(f"stall = {value}\n")
    with pytest.raises(click.UsageError, match="key stall"):
        read_config(tmp_path / "c.toml")


ENDLESS = ["a = " + "[" * 50_000 + "]" * 50_000, ".".join(["a"] * 50_000) + " = 1", "a = " + "{a = " * 5_000]


@pytest.mark.parametrize("text", ENDLESS, ids=["lists", "parts", "tables"])
def test_toml_without_end_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(TomlError) as refused:
        decode_toml(text, Config)
    assert "\n" not in str(refused.value)


def test_a_home_that_is_a_file_holds_no_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))
    assert read_config(None) == Config()


def test_a_log_without_a_name_is_refused() -> None:
    with pytest.raises(click.UsageError, match="is a variable of the shell empty"):
        watch_spec({"logs": ("",), "sources": None, "profile": None}, Config())


@pytest.mark.parametrize("words", [("check", "--log"), ("stop", "--log"), ("--log",), ("query",)])
def test_a_name_that_is_no_utf8_is_refused_in_one_line_with_the_command_that_mends_it(words):
    answer = CliRunner().invoke(hangtop, [*words, "\udcff b.log"])
    assert answer.exit_code == 2
    assert r"mv $'\xff\x20b.log' train.log" in answer.stderr
    assert "Traceback" not in answer.output
