"""Whether a command line can be run, as far as that can be known without running it: programs, scripts, modules, folders.

What cannot be known is not held against it: a problem is told only where the start is sure to fail.
"""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from hangtop.actions.command_line.shell_text import CommandError, Token, simple_commands, tokens
from hangtop.actions.command_line.typed import BUILT_IN, is_shell
from hangtop.actions.command_line.wrapped import PythonCall, launched, layers, python_call
from hangtop.actions.prove import python_check
from hangtop.system.processes.roles import PYTHON

Finding = tuple[Literal["problem", "warning"], str]
"""Why it would not start, or what is odd, in one line."""
HEAD_BYTES = 256
"""Of a program: as much as Linux reads of a `#!` line (BINPRM_BUF_SIZE)."""
MOST_INTERPRETERS = 4
"""So many `#!` lines may follow each other (execve(2))."""
SYNTAX_S = 10.0
HARMLESS = frozenset((":", "set", "ulimit", "umask", "wait", "trap", "shopt"))
"""Built-in commands after which programs are found where they were found before."""
BEFORE_COMMAND = frozenset(("exec", "command", "time", "!"))
VALUED_OF_SHELL = frozenset(("-o", "+o", "-O", "+O", "--rcfile", "--init-file"))


class SearchPlace(Struct, frozen=True):
    """Where a program is looked for: the environment and the folder in which it will be started."""

    environ: Mapping[str, str]
    cwd: str


class NotFoundError(Exception):
    """A program is not there, or may not be run. The message is one line."""


def findings(argv: Sequence[str], scene: SearchPlace) -> Iterator[Finding]:
    """Of a whole command line."""
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
    """The file that is run for this word, as execvp(3) finds it. Raises `NotFoundError`."""
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
    """Raises `NotFoundError`; of one that is not there, for a word that is looked for in the PATH, `FileNotFoundError`."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        if os.sep not in word and error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise FileNotFoundError(path) from error
        raise NotFoundError(f"{path}: {_why(error)}{_lost_link(path)}") from error
    if not stat.S_ISREG(mode):
        raise NotFoundError(f"{path}: is no program")
    if not os.access(path, os.X_OK):
        raise NotFoundError(f"{path}: may not be run (chmod +x?)")
    return path


def _looked_into(path: str, words: Sequence[str], scene: SearchPlace, depth: int = 0) -> Iterator[Finding]:
    """An interpreter or a shell by what it is told to run; a script by the interpreter that its first line names."""
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
    """What the kernel runs for a script: its interpreter, with the script as a word."""
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
    """A `python` may be a script itself, whose interpreter is gone."""
    line = _first_line(path)
    if line:
        yield from (
            finding for finding in _script(path, line, (path, "--version"), scene, MOST_INTERPRETERS) if finding[0] == "problem"
        )


def _first_line(path: str) -> list[str] | None:
    """The words of its `#!` line, empty for a binary and what may not be read; `None` for text without one."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:  # to be run, not to be read
        return []
    if not head.startswith(b"#!"):
        return [] if b"\0" in head else None
    return os.fsdecode(head[2:].partition(b"\n")[0]).split()


def _python(path: str, call: PythonCall, scene: SearchPlace) -> Iterator[Finding]:
    """Script or module of the interpreter, and of the launcher of ranks that it is."""
    calls = [call, *([inner] if (inner := launched(call)) is not None else [])]
    missing = [one.script for one in calls if one.script not in (None, "-") and not _exists(scene, one.script)]
    for script in missing:
        yield "problem", f"{os.path.join(scene.cwd, script or '')}: no such file"
    if missing:
        return
    files = [one.script for one in calls if one.script is not None and one.script != "-"]
    modules = [one.module for one in calls if one.module]
    try:
        told = python_check.problems(path, call.options, scene.environ, scene.cwd, modules=modules, files=files)
    except python_check.PythonError as error:
        yield "problem", str(error)
        return
    for problem in told:
        yield "problem", f"{path}: {problem}"


def _shell(path: str, words: Sequence[str], scene: SearchPlace) -> Iterator[Finding]:
    """A script, or the text after `-c`."""
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
        if os.sep in script or not _in_path(script, scene):
            yield "problem", f"{os.path.join(scene.cwd, script)}: no such file"
        return
    if said := _misread((path, "-n", os.path.join(scene.cwd, script)), scene):
        yield "warning", f"{os.path.basename(path)} does not read all of {script}: {said}"


def _text(shell: str, text: str, scene: SearchPlace) -> Iterator[Finding]:
    """Whether the shell can read it, and whether its commands are there, up to one after which that cannot be known."""
    if said := _misread((shell, "-n", "-c", text), scene):
        yield "problem", f"{os.path.basename(shell)} cannot read the command: {said}"
        return
    try:
        commands = list(simple_commands(tokens(text)))
    except CommandError:  # the shell could read it: a quoting of its own
        return
    for simple in commands:
        words = list(simple.words)
        sets = dict[str, str]()
        while words and words[0].assigns:
            token = words.pop(0)
            name, _, value = token.text.partition("=")
            sets[name] = value
        while words and words[0].text in BEFORE_COMMAND:
            words.pop(0)
        certain = _until_expanded(words)
        if not words:
            scene = SearchPlace({**scene.environ, **sets}, scene.cwd)
        elif not simple.needed:
            return
        elif words[0].text in BUILT_IN and words[0].kind == "word":
            after = yield from _built_in(certain, len(words), scene)
            if after is None:
                return
            scene = after
        elif certain:
            yield from findings(certain, SearchPlace({**scene.environ, **sets}, scene.cwd))


def _built_in(certain: Sequence[str], count: int, scene: SearchPlace) -> Generator[Finding, None, SearchPlace | None]:
    """What a built-in command changes for those after it; `None` where that cannot be known."""
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


def _until_expanded(words: Sequence[Token]) -> tuple[str, ...]:
    """The words before the first that only a shell can work out."""
    known: list[str] = []
    for token in words:
        if token.kind != "word":
            break
        known.append(token.text)
    return tuple(known)


def _misread(argv: Sequence[str], scene: SearchPlace) -> str:
    """What a shell says that only reads; empty when it can, or does not say."""
    try:
        done = subprocess.run(
            argv,
            env=dict(scene.environ),
            cwd=scene.cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SYNTAX_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return said[0] if done.returncode != 0 and said else ""


def _exists(scene: SearchPlace, path: str | None) -> bool:
    return path is not None and os.path.exists(os.path.join(scene.cwd, path))


def _in_path(name: str, scene: SearchPlace) -> bool:
    return any(os.path.isfile(os.path.join(folder, name)) for folder in scene.environ.get("PATH", "").split(os.pathsep) if folder)


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _lost_link(path: str) -> str:
    """A link whose target is gone: a virtual environment whose Python was removed."""
    return f" (a link to {os.readlink(path)}, which is gone)" if os.path.islink(path) and not os.path.exists(path) else ""
