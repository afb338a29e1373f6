"""What the documents promise of names is so: fields, files, keys and commands are those of the program."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import click
import msgspec
import pytest

from hangtop.cli.main import hangtop as command_line
from hangtop.diagnosis.check_report import LogSourceReport, Report
from hangtop.guard.events import GuardEvent, What
from hangtop.guard.policy import Deed
from hangtop.guard.signs import Sign
from hangtop.records.reading import Reading
from hangtop.records.verdict import STATES, Confidence, Kind, VerdictWord
from hangtop.tui.keys import ACT, IN_A_PANE, LOOK

ROOT = Path(__file__).parents[2]
README, SCHEMA, ARCHITECTURE = ROOT / "README.md", ROOT / "hangtop/SCHEMA.md", ROOT / "hangtop/ARCHITECTURE.md"
DOCUMENTS = (
    README,
    SCHEMA,
    ARCHITECTURE,
    *ROOT.glob("hangtop/*.md"),
    *ROOT.glob("hangtop/guides/*.md"),
    *ROOT.glob("tests/**/README.md"),
)


def part(document: Path, title: str) -> str:
    """What stands below this title, up to the next one of its kind."""
    return re.split(r"^## ", document.read_text(), flags=re.MULTILINE)[[*titles(document)].index(title) + 1]


def titles(document: Path) -> Iterator[str]:
    yield from re.findall(r"^## (.*)$", document.read_text(), flags=re.MULTILINE)


def named_in(text: str) -> set[str]:
    """What stands between backticks in the first column of a table."""
    first = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for cell in first for name in re.findall(r"`([^`]+)`", cell)}


def fields_of(record: type, before: str = "") -> Iterator[str]:
    """`stage`, `stage.id`, `ranks[]`, `ranks[].rank` …: what the JSON of this record holds, but for the single sources."""
    shown = {field.name: field.encode_name for field in msgspec.structs.fields(record)}
    for name, hint in get_type_hints(record).items():
        of = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
        name = f"{before}{shown[name]}{'[]' if get_origin(hint) is tuple else ''}"
        yield name
        for kind in of:
            yield from fields_of(kind, f"{name}.")


def test_every_field_of_the_report_is_told_and_no_other() -> None:
    told = named_in(part(SCHEMA, "`hangtop check --json`, schema 1"))
    sources = {name for name in told if name.startswith("sources.")}
    assert told - sources == {*fields_of(Report)}
    assert {name.rpartition(".")[2] for name in sources} == {*LogSourceReport.__struct_fields__}


def test_every_field_of_an_event_of_the_guard_is_told_and_no_other() -> None:
    assert named_in(part(SCHEMA, "`hangtop guard`, schema 1")) == {*fields_of(GuardEvent)}


@pytest.mark.parametrize("words", [What, Sign, Deed])
def test_every_word_of_an_event_of_the_guard_is_told(words: Any) -> None:
    text = part(SCHEMA, "`hangtop guard`, schema 1")
    assert [word for word in get_args(words) if f"`{word}`" not in text] == []


@pytest.mark.parametrize("words", [VerdictWord, Kind, Confidence])
def test_every_word_of_the_report_is_told(words: Any) -> None:
    text = part(SCHEMA, "`hangtop check --json`, schema 1")
    assert [word for word in get_args(words) if f"`{word}`" not in text] == []


def test_a_recording_holds_the_fields_that_are_told() -> None:
    assert named_in(part(SCHEMA, "Recordings")) == {field.encode_name for field in msgspec.structs.fields(Reading)}


def test_the_readme_says_of_each_verdict_what_check_exits_with() -> None:
    told = re.findall(r"^\| `(\w+)` \|.*\| (\d) \|$", part(README, "How to read a verdict"), flags=re.MULTILINE)
    assert dict(told) == {word: str(state.exit_code) for word, state in STATES.items()}


def test_every_key_of_the_readme_is_one_and_every_action_has_its_key_there() -> None:
    cells = [cell for line in part(README, "Keys").splitlines() for cell in line.split("|")[1:4:2]]
    told = {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}
    known = {key for entry in (*LOOK, *IN_A_PANE) for key in entry.shown.split()} | {key.shown for key in ACT}
    assert told - known <= {"x"}, "x is bound by the dialog of a running action"
    assert {key.shown for key in ACT} <= told


def test_every_command_of_the_readme_is_one() -> None:
    commands = {*re.findall(r"^hangtop ([a-z]+)", part(README, "Set up and run"), flags=re.MULTILINE)}
    assert commands <= {*command_line.commands}
    assert commands >= {"check", "stacks", "explain", "doctor", "bundle", "stop", "recover"}


def typed_in(document: Path) -> Iterator[list[str]]:
    """What a person types after `hangtop` by the blocks of this document, up to a comment, a pipe or the command of a run."""
    for block in re.findall(r"^```\w*\n(.*?)^```", document.read_text(), flags=re.MULTILINE | re.DOTALL):
        for typed in re.findall(r"(?<![\w/-])hangtop ([^\n|')]+)", block):
            yield shlex.split(re.split(r"  +|2>&1| > | -- ", typed)[0])


@pytest.mark.parametrize("document", sorted(ROOT.glob("hangtop/guides/*.md")), ids=lambda document: document.stem)
def test_what_a_guide_says_to_type_is_understood(document: Path) -> None:
    found = [*typed_in(document)]
    assert found
    for words in found:
        command = command_line
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            command, words = command.commands[words[0]], words[1:]
        known = {option for param in command.params for option in param.opts}
        assert {word for word in words if word.startswith("-") and word != "-"} <= known, words


@pytest.mark.parametrize("document", sorted(set(DOCUMENTS)), ids=lambda document: str(document.relative_to(ROOT)))
def test_files_that_a_document_names_are_there(document: Path) -> None:
    text = document.read_text()
    links = [document.parent / link.partition("#")[0] for link in re.findall(r"\]\(([^)\s:]+)\)", text)]
    paths = [
        ROOT / place / name
        for name in re.findall(r"`([a-z_]+/[a-z_/]+\.(?:py|toml|md))`", text)
        for place in places(document, name)
    ]
    assert [str(path) for path in (*links, *paths) if not path.exists()] == []


def places(document: Path, name: str) -> list[str]:
    """From where this path is told: the top, the package or the folder of the document."""
    found = [place for place in ("", "hangtop", str(document.parent.relative_to(ROOT))) if (ROOT / place / name).exists()]
    return found[:1] or [""]


def test_the_readme_is_short_and_the_full_test_command_stands_alone_in_its_block() -> None:
    assert len(README.read_bytes()) <= 10_000
    blocks = re.findall(r"^```\n(.*?)^```", part(README, "Test"), flags=re.MULTILINE | re.DOTALL)
    assert [block.split(" && ")[-1].strip() for block in blocks] == [".venv/bin/python -m pytest"]
