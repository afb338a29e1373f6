"""Commands whose help is told in the language of the reader. English help is click's own."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence

import click

from hangtop.cli.config import config_dir, read_config
from hangtop.cli.options import system_language
from hangtop.common.text import cells, wrap
from hangtop.translations import say, speak

NAMES_CELLS = 30
"""Options and commands with longer names have their text in the next line."""
_BEHIND = re.compile(r"\s{2,}(?=\[(?:default|required|x>)|\[\d)")
"""What click adds behind the help of an option: its default, its range, that it is required."""
_SHOWN_AS_IS = "\b"
"""The line above a paragraph that click does not wrap."""


def help_texts(command: click.Command) -> list[str]:
    """All that the help of a command says in words, but for its options."""
    paragraphs = inspect.cleandoc(command.help or "").partition("\f")[0].split("\n\n")
    told: list[str] = []
    for paragraph in paragraphs:
        lines = paragraph.split("\n")
        if lines[0] == _SHOWN_AS_IS:
            told += [text for line in lines[1:] if (text := _apart(line)[1])]
        else:
            told.append(" ".join(paragraph.split()))
    return [*told, short_help(command)]


def short_help(command: click.Command) -> str:
    """What stands behind its name in the list of commands."""
    return command.get_short_help_str(1_000)


def _apart(line: str) -> tuple[str, str]:
    """A line of an example: what is typed, and what it does."""
    typed, _, does = line.strip().partition("  ")
    return typed, does.strip()


class ToldCommand(click.Command):
    """A command that tells its help in the language of the reader."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if _speaks_english():
            super().format_help(ctx, formatter)
            return
        pieces = " ".join(self.collect_usage_pieces(ctx))
        formatter.write(f"{say('Usage')}: {ctx.command_path} {pieces}\n")
        self._write_text(formatter)
        records = filter(None, (param.get_help_record(ctx) for param in self.get_params(ctx)))
        _write_list(formatter, say("Options"), [(names, _option_help(text)) for names, text in records if text])
        if isinstance(self, click.Group):
            named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
            shown = [(name, say(short_help(each))) for name, each in named if each is not None and not each.hidden]
            _write_list(formatter, say("Commands"), shown)

    def _write_text(self, formatter: click.HelpFormatter) -> None:
        for paragraph in inspect.cleandoc(self.help or "").partition("\f")[0].split("\n\n"):
            lines = paragraph.split("\n")
            formatter.write("\n")
            if lines[0] == _SHOWN_AS_IS:
                parts = [_apart(line) for line in lines[1:]]
                wide = max(cells(typed) for typed, _ in parts)
                told = [f"{typed}{' ' * (wide - cells(typed))}   {say(does)}".rstrip() for typed, does in parts]
            else:
                told = wrap(say(" ".join(paragraph.split())), formatter.width - 2)
            formatter.write("".join(f"  {line}\n" for line in told))


class ToldGroup(ToldCommand, click.Group):
    """A group of such commands."""

    command_class = ToldCommand


def _speaks_english() -> bool:
    """Whether the reader reads English; from here on hangtop speaks their language. A config that cannot be read is told by the
    command itself, not by its help."""
    try:
        wanted = read_config(None).lang
    except click.ClickException:
        wanted = None
    lang = wanted or system_language()
    speak(lang, config_dir())
    return lang == "en"


def _option_help(text: str) -> str:
    """The help of an option, and what click adds to it."""
    said, *added = _BEHIND.split(text, maxsplit=1)
    return "  ".join((say(said), *(each.replace("[default:", f"[{say('default')}:") for each in added)))


def _write_list(formatter: click.HelpFormatter, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Names and what they mean, in two columns."""
    if not rows:
        return
    wide = min(max(cells(name) for name, _ in rows), NAMES_CELLS) + 2
    room = max(20, formatter.width - wide - 4)
    formatter.write(f"\n{title}:\n")
    indent = " " * (wide + 2)
    for name, text in rows:
        first, *rest = wrap(text, room) or [""]
        if cells(name) > wide - 2:
            formatter.write(f"  {name}\n{indent}{first}\n")
        else:
            formatter.write(f"  {name}{' ' * (wide - cells(name))}{first}\n")
        formatter.write("".join(f"{indent}{line}\n" for line in rest))
