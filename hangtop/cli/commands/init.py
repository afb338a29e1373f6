"""`hangtop init`: a profile from a log, by three questions. What it would read is shown after each answer."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from msgspec import Struct

from hangtop.cli.config import config_dir
from hangtop.common.clean_text import clean_text, decode
from hangtop.common.secrets.open_block import OpenBlock
from hangtop.common.secrets.redactor import Redactor
from hangtop.common.text import some
from hangtop.logs.catalog.load import CatalogError
from hangtop.logs.catalog.load import load as load_catalog
from hangtop.logs.catalog.profile import STAGE_IDS
from hangtop.logs.catalog.profile_draft import (
    StageMark,
    StepForm,
    flaws_of_text,
    form_with,
    profile_text,
    stage_lines,
    step_forms,
)
from hangtop.logs.lines.prefixes import strip
from hangtop.translations import say

MOST_BYTES = 4 << 20
"""Of the start and of the end of the log."""
SHOWN = 100
MOST_LISTED = 20
Ask = Callable[[str], str]
"""Prints a question, and gives the answer; raises `EOFError` where nobody answers."""


class Answers(Struct, frozen=True):
    """Given with the command: these are not asked. `step`: text in lines that count steps. `stages`: `ID=TEXT` each."""

    step: str | None = None
    stages: tuple[str, ...] = ()
    name: str | None = None


def run(log: Path, output: Path | None, given: Answers, out: TextIO, ask: Ask | None) -> int:
    """Write the profile. `ask`: `None` where there is no terminal. Exit code 2 with one line where it cannot be made."""
    if ask is None and (given.step is None or given.name is None):
        return _refuse(out, say("it asks questions: run it in a terminal, or give --step TEXT and --name NAME"))
    try:
        messages = messages_of(log)
    except OSError as error:
        return _refuse(out, f"{log}: {error.strerror}")
    try:
        form = _step(messages, given.step, out, ask)
        if form is None:
            return _refuse(out, say("no lines of one shape with a number that grows: is it the log of a training run?"))
        stages = _stages(messages, form, given.stages, out, None if given.step is not None else ask)
        name = given.name or _name(log, out, ask)
    except ValueError as error:
        return _refuse(out, str(error))
    except EOFError:
        return _refuse(out, say("not finished, nothing was written"))
    return _written(name, output, profile_text(name, form, stages), out)


def messages_of(log: Path) -> list[str]:
    """The messages of its first and last lines, without prefixes and secrets: a profile is passed on. Raises `OSError`."""
    with log.open("rb") as file:
        head = file.read(MOST_BYTES)
        rest = max(file.tell(), os.fstat(file.fileno()).st_size - MOST_BYTES)
        file.seek(rest)
        data = head + file.read(MOST_BYTES)
    redactor, block = Redactor(), OpenBlock()
    lines = (redactor.line(clean_text(decode(piece)), block) for piece in re.split(rb"[\r\n]+", data))
    return [message for line in lines if (message := strip(line)[1].strip())]


def _step(messages: Sequence[str], text: str | None, out: TextIO, ask: Ask | None) -> StepForm | None:
    if text is not None:
        if (form := form_with(messages, text)) is None:
            raise ValueError(say(f"--step {text!r}: no lines with it hold a number that grows"))
        _preview(form, out)
        return form
    forms = step_forms(messages)
    if not forms or ask is None:
        return None
    out.write(say("1 of 3: which line counts the steps?") + "\n\n")
    out.writelines(f"  {n}  {form.example[:SHOWN]}\n" for n, form in enumerate(forms, 1))
    chosen = forms[0]
    while True:
        _preview(chosen, out)
        answer = ask(say("a number, or text of the right line; Enter: as shown") + ": ").strip()
        if not answer:
            return chosen
        found = forms[int(answer) - 1] if answer.isdecimal() and 0 < int(answer) <= len(forms) else form_with(messages, answer)
        if found is None:
            out.write(say(f"no lines with {answer!r} hold a number that grows") + "\n")
        chosen = found or chosen


def _preview(form: StepForm, out: TextIO) -> None:
    """What it would read: the first and the last step, and the values beside them."""
    counts = [found for message in form.messages if (found := re.search(form.regex, message)) is not None]
    total = counts[-1]["total"] if form.has_total else None
    of = f" of {total}" if total is not None else ""
    read = say(f"reads {some(len(counts), 'line')}: step {counts[0]['step']} to {counts[-1]['step']}{of}")
    out.write(f"\n  → {read}" + (f" · {', '.join(form.metrics[:8])}" if form.metrics else "") + "\n\n")


def _stages(messages: Sequence[str], form: StepForm, given: Sequence[str], out: TextIO, ask: Ask | None) -> list[StageMark]:
    stages = {mark.stage: mark for mark in (_mark(each, messages) for each in given)}
    if ask is None:
        return list(stages.values())
    lines = stage_lines(messages, form)[:MOST_LISTED]
    out.write(say("2 of 3: which lines begin a stage?") + "\n\n")
    out.writelines(f"  {n:>2}  {line[:SHOWN]}\n" for n, line in enumerate(lines, 1))
    out.write("\n  " + say(f"stages: {' '.join(STAGE_IDS)}") + "\n\n")
    while answer := ask(say("STAGE=NUMBER or STAGE=TEXT, such as dataset=2; Enter: no more") + ": ").strip():
        stage, _, which = answer.partition("=")
        text = lines[int(which) - 1] if which.isdecimal() and 0 < int(which) <= len(lines) else which
        try:
            mark = _mark(f"{stage}={text}", messages)
        except ValueError as error:
            out.write(f"  {error}\n")
            continue
        stages[mark.stage] = mark
        out.write(f"\n  → {mark.stage}: {mark.example[:SHOWN]}\n\n")
    return list(stages.values())


def _mark(answer: str, messages: Sequence[str]) -> StageMark:
    """Raises `ValueError` for a stage that there is not, or a text that is in no line."""
    stage, _, text = (part.strip() for part in answer.partition("="))
    if stage not in STAGE_IDS:
        raise ValueError(say(f"no stage {stage!r}; there are {' '.join(STAGE_IDS)}"))
    example = next((message for message in messages if text and text in message), None)
    if example is None:
        raise ValueError(say(f"stage {stage}: no line holds {text!r}"))
    number = re.search(r"\s*\d", text)  # what varies is no part of the text that is looked for
    fixed = text[: number.start()].strip() if number is not None and number.start() > 3 else text
    return StageMark(stage, fixed, example)


def _name(log: Path, out: TextIO, ask: Ask | None) -> str:
    usual = re.sub(r"\W+", "_", log.stem).strip("_").lower() or "mytrainer"
    out.write(say("3 of 3: what is the profile called?") + "\n\n")
    return (ask(f"[{usual}]: ").strip() if ask is not None else "") or usual


def _written(name: str, output: Path | None, text: str, out: TextIO) -> int:
    """Prove it, and write it where hangtop looks for it."""
    if not re.fullmatch(r"[\w-]+", name):
        return _refuse(out, say(f"the name {name!r} holds more than letters, digits, _ and -"))
    path = output or config_dir() / "profiles" / f"{name}.toml"
    try:
        known = load_catalog(config_dir()).profiles
        if flaw := next(flaws_of_text(text, known), None):
            return _refuse(out, say(f"this line cannot be told from others: {flaw}"))
        if path.exists():
            return _refuse(out, say(f"{path} is there already: give another --name, or -o FILE"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except CatalogError as error:
        return _refuse(out, str(error))
    except OSError as error:
        return _refuse(out, f"{path}: {error.strerror}")
    out.write(say(f"written: {path}") + f"\n  hangtop profiles test {name}\n")
    return 0


def _refuse(out: TextIO, why: str) -> int:
    out.write(f"hangtop init: {why}\n")
    return 2
