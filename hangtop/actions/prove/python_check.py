"""Ask the run's own interpreter whether it finds the script or module of the run, without running any of it.

The interpreter starts as it would for the run, with the run's environment, folder and options. It looks for each package on the
way to a module, but imports none of them, and compiles the sources: a syntax error of the last edit is found before the run is
ended for it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence

ANSWER_S = 30.0
MARK = "hangtop answers: "
"""Begins the answer: an interpreter may print something else when it starts."""
PROGRAM = """
import json, os, sys, types
sys.dont_write_bytecode = True

def spec_of(name, path):
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = find(name, path) if find is not None else None
        if spec is not None:
            return spec

def module(whole):
    path, names, spec = None, whole.split("."), None
    for number in range(1, len(names) + 1):
        name = ".".join(names[:number])
        spec = spec_of(name, path)
        if spec is None:
            return "no module named " + name
        path = spec.submodule_search_locations
        if path is None and number < len(names):
            return name + " is no package, so there is no " + whole
        if path is not None and name not in sys.modules:
            stand_in = sys.modules[name] = types.ModuleType(name)
            stand_in.__path__ = path = list(path)
    if path is not None:
        spec = spec_of(whole + ".__main__", path)
        if spec is None:
            return whole + " is a package without __main__, which -m cannot run"
    return source(spec.origin) if spec.origin and spec.origin.endswith(".py") else ""

def source(file):
    if os.path.isdir(file):
        main = os.path.join(file, "__main__.py")
        return source(main) if os.path.exists(main) else "a folder without __main__.py"
    with open(file, "rb") as opened:
        data = opened.read()
    if data.startswith(b"PK") or file.endswith(".pyc"):
        return ""
    try:
        compile(data, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        return "%s line %s: %s" % (os.path.basename(file), error.lineno, error.msg)
    return ""

asked, told = json.loads(sys.argv[1]), []
for look, names in ((module, asked["modules"]), (source, asked["files"])):
    for name in names:
        try:
            problem = look(name)
        except OSError as error:
            problem = "%s: %s" % (error.filename or name, error.strerror)
        if problem:
            told.append(problem)
print()
print("MARK" + json.dumps(told))
""".replace("MARK", MARK)


def problems(
    python: Sequence[str], environ: Mapping[str, str], cwd: str, modules: Sequence[str], files: Sequence[str]
) -> list[str]:
    """Why this interpreter, with its options, would not run these modules and files, one line each."""
    asked = json.dumps({"modules": [*modules], "files": [os.path.join(cwd, file) for file in files]})
    try:
        done = run_briefly([*python, "-c", PROGRAM, asked], environ, cwd, ANSWER_S)
    except OSError as error:
        return [f"{python[0]} does not start: {error.strerror}"]
    except subprocess.TimeoutExpired:
        return [f"{python[0]} has not answered within {ANSWER_S:.0f} s: its disk, or what it loads at its start"]
    _, mark, answer = done.stdout.decode(errors="replace").rpartition(MARK)
    if mark and answer:
        return [f"{python[0]}: {told}" for told in json.loads(answer)]
    said = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
    return [f"{python[0]} does not start: {said[-1].strip() if said else f'exit code {done.returncode}'}"]


def run_briefly(argv: Sequence[str], environ: Mapping[str, str], cwd: str, within_s: float) -> subprocess.CompletedProcess[bytes]:
    """Run it in our own process group, so that it ends with us. Raises `OSError`, `subprocess.TimeoutExpired`."""
    return subprocess.run(
        argv, env=dict(environ), cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=within_s, check=False
    )
