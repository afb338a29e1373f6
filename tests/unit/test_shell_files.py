"""Completion and the man page: put where they are looked for, with all that --help says."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from hangtop.cli.commands import shell_files
from hangtop.cli.main import hangtop as program


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", "share/bash-completion/completions/hangtop"),
        ("zsh", "share/zsh/site-functions/_hangtop"),
        ("fish", "config/fish/completions/hangtop.fish"),
    ],
)
def test_completion_is_put_where_the_shell_looks(home: Path, shell: str, file: str) -> None:
    out = io.StringIO()
    assert shell_files.completion(program, shell, out, install=True) == 0
    assert "_HANGTOP_COMPLETE" in (home / file).read_text()
    assert str(home / file) in out.getvalue()


def test_the_man_page_names_each_command_and_breaks_no_line(home: Path) -> None:
    lines = list(shell_files.man_lines(program))
    text = "\n".join(lines)
    for name, command in program.commands.items():
        assert command.hidden or f".SS hangtop {name}" in text
    assert all(line.startswith((".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi")) for line in lines if line.startswith("."))
    assert r"\fB\-\-log PATH\fR" in text


def test_a_folder_that_cannot_be_written_is_one_line(home: Path) -> None:
    (home / "share").touch()
    out = io.StringIO()
    assert shell_files.man(program, out, install=True) == 1
    assert out.getvalue().count("\n") == 1
