"""Whether a command line can run, as far as can be known without running it: programs, scripts, modules, folders.

A problem is reported only where the start is sure to fail.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import dropwhile, takewhile
from typing import Literal

from msgspec import Struct

from hangtop.actions.command_line.typed import BUILT_IN, CommandError, is_shell, simple_commands, tokens
from hangtop.actions.command_line.wrapped import PythonCall, launched, layers, python_call
from hangtop.actions.prove import python_check
from hangtop.system.processes.roles import PYTHON

Finding = tuple[Literal["problem", "warning"], str]
"""Why it would not start (problem), or what is odd (warning), in one line."""
HEAD_BYTES = 256
"""Linux reads so much of a `#!` line (BINPRM_BUF_SIZE)."""
MOST_INTERPRETERS = 4
"""So many `#!` lines may follow each other (execve(2))."""
SYNTAX_S = 10.0
HARMLESS = frozenset((":", "set", "ulimit", "umask", "wait", "trap", "shopt"))
"""Built-in commands that do not change where programs are found."""
BEFORE_COMMAND = frozenset(("exec", "command", "time", "!"))
VALUED_OF_SHELL = frozenset(("-o", "+o", "-O", "+O", "--rcfile", "--init-file"))


class SearchPlace(Struct, frozen=True):
    """Where programs are searched: the environment and the working directory of the start."""

    environ: Mapping[str, str]
    cwd: str


class NotFoundError(Exception):
    """A program does not exist, or may not be run. The message is one line."""


def findings(argv: Sequence[str], scene: SearchPlace) -> Iterator[Finding]:
    """Check each program of a command line."""
    for layer in layers(argv):
        try:
            path = found(layer.words[0], scene)
        except NotFoundError as error:
            yield "problem", str(error)
            return
        yield from _looked_into(path, layer.words, scene)
        environ = {} if layer.clears else {name: value for name, value in scene.environ.items() if name not in layer.unsets}
        scene = SearchPlace({**environ, **layer.sets}, os.path.join(scene.cwd, layer.folder or ""))
        if not os.path.isdir(scene.cwd):
            yield "problem", f"{scene.cwd}: no such folder"
            return


def found(word: str, scene: SearchPlace) -> str:
    """The file that execvp(3) runs for this word. Raises `NotFoundError`."""
    if os.sep in word:
        return _runnable(os.path.join(scene.cwd, word), word)
    refused: NotFoundError | None = None
    folders = scene.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        try:
            return _runnable(os.path.join(scene.cwd, folder, word), word)
        except FileNotFoundError:
            continue
        except NotFoundError as error:
            refused = error
    gone = [folder for folder in folders if folder and not os.path.isdir(os.path.join(scene.cwd, folder))]
    why = f"; {gone[0]} of its PATH is gone" if gone else ""
    raise refused or NotFoundError(f"{word}: no such program in the PATH of the run{why}")


def _runnable(path: str, word: str) -> str:
    """The path, if it is a program. Raises `NotFoundError`, or `FileNotFoundError` when a search in the PATH shall go on."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        if os.sep not in word and error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise FileNotFoundError(path) from error
        raise NotFoundError(f"{path}: {(error.strerror or str(error)).lower()}{_lost_link(path)}") from error
    if not stat.S_ISREG(mode):
        raise NotFoundError(f"{path}: is no program")
    if not os.access(path, os.X_OK):
        raise NotFoundError(f"{path}: may not be run (chmod +x?)")
    return path


def _looked_into(path: str, words: Sequence[str], scene: SearchPlace, depth: int = 0) -> Iterator[Finding]:
    """Check what an interpreter or a shell runs, and the interpreter that the first line of a script names."""
    if (call := python_call(words)) is not None:
        yield from _interpreter_is_there(path, scene)
        yield from _python(path, call, scene)
    elif is_shell(words[0]):
        yield from _shell(path, words, scene)
    elif (line := _first_line(path)) is None:
        yield "problem", f"{path}: is neither a program nor begins with #!: give its interpreter before it"
    elif line and depth < MOST_INTERPRETERS:
        yield from _script(path, line, words, scene, depth)


def _script(path: str, line: Sequence[str], words: Sequence[str], scene: SearchPlace, depth: int) -> Iterator[Finding]:
    """Check what the kernel runs for a script: its interpreter, with the script as an argument."""
    if os.path.basename(line[0]) == "env" and len(line) > 1:
        line = [word for word in line[1:] if word != "-S"]
    try:
        interpreter = found(line[0], scene)
    except NotFoundError as error:
        yield "problem", f"{path} is run by {line[0]}, but {error}"
        return
    whole = (interpreter, *line[1:], path, *words[1:])
    if PYTHON.search(interpreter) or is_shell(interpreter):
        yield from _looked_into(interpreter, whole, scene, depth + 1)


def _interpreter_is_there(path: str, scene: SearchPlace) -> Iterator[Finding]:
    """`python` may itself be a script whose interpreter is gone."""
    if line := _first_line(path):
        found_there = _script(path, line, (path, "--version"), scene, MOST_INTERPRETERS)
        yield from (finding for finding in found_there if finding[0] == "problem")


def _first_line(path: str) -> list[str] | None:
    """The words of its `#!` line; empty for a binary or an unreadable file; `None` for text without such a line."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:  # to be run, not to be read
        return []
    if not head.startswith(b"#!"):
        return [] if b"\0" in head else None
    return os.fsdecode(head[2:].partition(b"\n")[0]).split()


def _python(path: str, call: PythonCall, scene: SearchPlace) -> Iterator[Finding]:
    """Check the script or module of an interpreter, and what it starts in each rank if it is a launcher."""
    calls = [known for known in (call, launched(call)) if known is not None]
    files = [call.script for call in calls if call.script is not None and call.script != "-"]
    missing = [file for file in files if not _exists(scene, file)]
    for script in missing:
        yield "problem", f"{os.path.join(scene.cwd, script)}: no such file"
    if missing:
        return
    modules = [call.module for call in calls if call.module]
    for problem in python_check.problems((path, *call.options), scene.environ, scene.cwd, modules, files):
        yield "problem", problem


def _shell(path: str, words: Sequence[str], scene: SearchPlace) -> Iterator[Finding]:
    """Check the script of a shell, or the text after `-c`."""
    place, is_text = 1, False
    while place < len(words) and words[place][:1] in ("-", "+") and len(words[place]) > 1:
        word, place = words[place], place + 1
        is_text = is_text or (not word.startswith("--") and "c" in word[1:] and word[0] == "-")
        place += word in VALUED_OF_SHELL
    if place >= len(words):
        return
    if is_text:
        yield from _text(path, words[place], scene)
        return
    script = words[place]
    if not _exists(scene, script):
        if os.sep in script or not shutil.which(script, os.F_OK, scene.environ.get("PATH", "")):
            yield "problem", f"{os.path.join(scene.cwd, script)}: no such file"
        return
    if said := _misread((path, "-n", os.path.join(scene.cwd, script)), scene):
        yield "warning", f"{os.path.basename(path)} does not read all of {script}: {said}"


def _text(shell: str, text: str, scene: SearchPlace) -> Iterator[Finding]:
    """Check whether the shell can read the text, then its commands, up to the first after which nothing is certain."""
    if said := _misread((shell, "-n", "-c", text), scene):
        yield "problem", f"{os.path.basename(shell)} cannot read the command: {said}"
        return
    try:
        commands = list(simple_commands(tokens(text)))
    except CommandError:  # the shell could read it: a quoting of its own
        return
    for simple in commands:
        given = list(takewhile(lambda token: token.assigns, simple))
        sets = dict(token.text.split("=", 1) for token in given)
        words = list(dropwhile(lambda token: token.text in BEFORE_COMMAND, simple[len(given) :]))
        certain = tuple(token.text for token in takewhile(lambda token: token.kind == "word", words))
        if not words:
            scene = SearchPlace({**scene.environ, **sets}, scene.cwd)
        elif words[0].text in BUILT_IN and words[0].kind == "word":
            after = yield from _built_in(certain, len(words), scene)
            if after is None:
                return
            scene = after
        elif certain:
            yield from findings(certain, SearchPlace({**scene.environ, **sets}, scene.cwd))


def _built_in(certain: Sequence[str], count: int, scene: SearchPlace) -> Generator[Finding, None, SearchPlace | None]:
    """The search place after a built-in command; `None` when it cannot be known."""
    name, given = certain[0], certain[1:]
    if name in HARMLESS:
        return scene
    if name == "cd" and count == len(certain) == 2 and not given[0].startswith("-"):
        folder = os.path.join(scene.cwd, given[0])
        if not os.path.isdir(folder):
            yield "problem", f"{folder}: no such folder"
            return None
        return SearchPlace(scene.environ, folder)
    if name == "export" and count == len(certain) and all("=" in word for word in given):
        return SearchPlace({**scene.environ, **dict(word.split("=", 1) for word in given)}, scene.cwd)
    if name in (".", "source") and given and os.sep in given[0] and not _exists(scene, given[0]):
        yield "problem", f"{os.path.join(scene.cwd, given[0])}: no such file"
    return None


def _misread(argv: Sequence[str], scene: SearchPlace) -> str:
    """The error of a shell that only parses (`-n`); empty when there is none."""
    try:
        done = python_check.run_briefly(argv, scene.environ, scene.cwd, SYNTAX_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return said[0] if done.returncode != 0 and said else ""


def _exists(scene: SearchPlace, path: str) -> bool:
    return os.path.exists(os.path.join(scene.cwd, path))


def _lost_link(path: str) -> str:
    """What to add for a dangling link, such as the Python of a virtual environment that was removed."""
    return f" (a link to {os.readlink(path)}, which is gone)" if os.path.islink(path) and not os.path.exists(path) else ""
