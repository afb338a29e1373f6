"""Completion and the man page: what shells and man(1) read, printed or put where they look for it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import click
from click.shell_completion import get_completion_class

from hangtop import __version__
from hangtop.translations import say

NAME, VARIABLE = "hangtop", "_HANGTOP_COMPLETE"
HOMES = {
    "bash": ("XDG_DATA_HOME", ".local/share", "bash-completion/completions/hangtop"),
    "zsh": ("XDG_DATA_HOME", ".local/share", "zsh/site-functions/_hangtop"),
    "fish": ("XDG_CONFIG_HOME", ".config", "fish/completions/hangtop.fish"),
}
"""Variable of the folder, what it is without that, and the file."""
THEN = {
    "bash": "new shells have it, where the package bash-completion is installed; else: source {path}",
    "zsh": "in ~/.zshrc, before compinit: fpath+=({folder})",
    "fish": "new shells have it",
}


def completion(program: click.Command, shell: str, out: TextIO, *, install: bool) -> int:
    """Print the script for this shell, or install it."""
    kind = get_completion_class(shell)
    assert kind is not None, "the command offers only shells that click knows"
    script = kind(program, {}, NAME, VARIABLE).source()
    if not install:
        out.write(script + "\n")
        return 0
    path = _home(*HOMES[shell])
    return _written(path, script + "\n", THEN[shell].format(path=path, folder=path.parent), out)


def shell_here() -> str:
    """The shell of the person, by its name in `SHELL`; bash where that is none of ours."""
    name = Path(os.environ.get("SHELL", "")).name
    return name if name in HOMES else "bash"


def man(program: click.Group, out: TextIO, *, install: bool) -> int:
    """Print the page, or install it."""
    page = "\n".join(man_lines(program)) + "\n"
    if not install:
        out.write(page)
        return 0
    return _written(_home("XDG_DATA_HOME", ".local/share", "man/man1/hangtop.1"), page, "man hangtop", out)


def man_lines(program: click.Group) -> Iterator[str]:
    """The page in the language of man(7): what `--help` says of the program and of each command."""
    yield f'.TH HANGTOP 1 "" "hangtop {__version__}" "User Commands"'
    yield from (".SH NAME", _roff("hangtop - the terminal monitor for training runs that hang"), ".SH SYNOPSIS")
    yield _roff("hangtop [OPTIONS] [COMMAND …]")
    yield from (".SH DESCRIPTION", *_text(program), ".SH OPTIONS", *_options(program), ".SH COMMANDS")
    for name, command in sorted(_all(program)):
        yield from (f".SS {_roff(name)}", *_text(command), *_options(command))
    yield from (".SH FILES", ".TP", r"\fI~/.config/hangtop/config.toml\fR", "Defaults, and keys.")
    yield from (".TP", r"\fI~/.local/state/hangtop/actions.log\fR", "Every step of every action.")


def _all(group: click.Group, before: str = "hangtop") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if not command.hidden:
            yield f"{before} {name}", command
        if isinstance(command, click.Group):
            yield from _all(command, f"{before} {name}")


def _text(command: click.Command) -> Iterator[str]:
    """Its help; what click does not wrap, man does not either."""
    for paragraph in inspect.cleandoc(command.help or "").partition("\f")[0].split("\n\n"):
        lines = paragraph.split("\n")
        kept = lines[0] == "\b"
        yield ".PP"
        yield from ([".nf", *map(_roff, lines[1:]), ".fi"] if kept else [_roff(" ".join(lines))])


def _options(command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=NAME)
    for param in command.params:  # not `get_params`, which would keep the help option of this context
        if isinstance(param, click.Option) and (told := param.get_help_record(context)) is not None:
            yield from (".TP", rf"\fB{_roff(told[0])}\fR", _roff(told[1]))


def _roff(text: str) -> str:
    """Text as man(7) takes it: a backslash, a minus, and what begins a line with a dot or quote are not its own signs."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped[:1] in (".", "'") else escaped


def _home(variable: str, usual: str, file: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / usual) / file


def _written(path: Path, text: str, then: str, out: TextIO) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        out.write(f"hangtop: {path}: {error.strerror}\n")
        return 1
    out.write(say(f"written: {path}") + f"\n  {then}\n")
    return 0
