"""How a program is started on another node: a command of the user's cluster, with the host and the program filled in. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

SSH = "ssh -T -o BatchMode=yes -o ConnectTimeout=10 {host} {probe}"
"""Host keys, users, jumps and options are those of the user's own ssh_config(5)."""
HOST, PROBE = "{host}", "{probe}"
THROUGH_A_SHELL = frozenset(("ssh", "rsh", "autossh", "pdsh", "clush", "gcloud"))
"""Programs that give their words, joined by spaces, to a shell on the far side (ssh(1)): there the program is one quoted word."""
PYTHON = "python3"
BEGIN = "import sys;i=sys.stdin.buffer;exec(compile(i.read(int(i.readline())),'hangtop','exec'),{'__name__':'__main__'})"
"""Runs the program that comes through stdin, after a line with its length in bytes: nothing is stored on the far side."""


class LauncherError(ValueError):
    """A launcher or a host name that cannot be used; the message says why."""


def command(launcher: str, host: str) -> tuple[str, ...]:
    """The arguments that start Python on `host`. No shell of ours sees them. Raises `LauncherError`."""
    if not host or host.startswith("-") or any(letter.isspace() or not letter.isprintable() for letter in host):
        raise LauncherError(f"{host!r} is no host name")
    try:
        words = shlex.split(launcher)
    except ValueError as error:
        raise LauncherError(f"{launcher!r}: {error}") from error
    if HOST not in launcher or words.count(PROBE) != 1:
        raise LauncherError(f"{launcher!r}: it needs {HOST} and, as a word of its own, {PROBE}")
    program = (PYTHON, "-u", "-c", BEGIN)
    through_a_shell = words[0].rpartition("/")[2] in THROUGH_A_SHELL
    return tuple(
        filled
        for word in words
        for filled in (_program(program, through_a_shell) if word == PROBE else (word.replace(HOST, host),))
    )


def _program(words: Sequence[str], through_a_shell: bool) -> Sequence[str]:
    return (shlex.join(words),) if through_a_shell else words
