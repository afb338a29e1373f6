"""No sentence without its pair: what hangtop says to people is said in Chinese, too."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hangtop.actions.registry import ACTIONS
from hangtop.diagnosis.judge import RULES
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.diagnosis.why import why
from hangtop.feeds.replay import load
from hangtop.monitor.monitor import Monitor
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice
from hangtop.state.run_state import RunState, fold
from hangtop.translations.pairs import kept, pairs, user_pairs
from hangtop.translations.template import SLOT, spelled_out, template
from hangtop.translations.translator import Translator
from hangtop.tui.keys import ACT, IN_A_PANE, LOOK, REPLAY

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "hangtop"
CHINESE = Translator(pairs("zh"), kept("zh"))
TEXTS = sorted((PACKAGE / "translations" / "zh").glob("*.toml"))

SENTENCES = ("actions", "diagnosis", "doctor", "remedies")
"""Where the core makes sentences of its own: each string of at least two words there is one."""
NOT_SAID = re.compile(
    r"""
    \\[bdsw] | \(\?  # a pattern
    | ^\w+(?:[ ,/|_.-]\w+)*\.(?:py|toml)$ | ^[\w/.-]+$  # a name of a file
    | ^\s*\(?(?:hangtop|tail|kill|pip|export|ray)\ [\w{}/~-]  # a command
    | (?:^|^7\ )(?:hf|du|docker|ulimit|sudo|find|ps|getent|ss|df|-m)\ [\w-] | ^import\ | ^ModuleNotFound
    | ^(?:sh\ bash|bash\ sh|select\ set|\.\ :|\{first)  # words of shells, a slot of presets
    | ^other\ side\ # joined to the kind of an end, as places name it
    """,
    re.VERBOSE,
)
VERB_IN_SLOT = re.compile("7 7|that 7 not")
EXCEPTIONS = {
    "actions/command_line/wrapped.py": "options of other programs",
    "actions/prove/python_check.py": "a program that another interpreter runs",
    "actions/registry.py": "what --help says, in English",
    "diagnosis/explanation.py": "its words stand in explanation.toml, in both languages",
    "diagnosis/check_report.py": "JSON, for programs",
    "diagnosis/facts/last_words.py": "what to look for in the log",
    "diagnosis/facts/message_evidence.py": "what to look for in the log",
    "diagnosis/facts/named_voices.py": "what to look for in the log",
    "diagnosis/members/parallel_groups.py": "names of groups, as frameworks call them",
    "remedies/catalogue.py": "what is wrong with a file, for its author",
}


def strings(source: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each string of a file that may be said; what stands in an f-string's braces is `7`."""
    tree = ast.parse(source.read_text())
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(value) for value in node.values}
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("compile", "TypeVar"):
            skipped |= {id(each) for each in ast.walk(node)}
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Literal":
            skipped |= {id(each) for each in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) not in skipped and (said := text_of(node)) is not None:
            yield node.lineno, said


def text_of(node: ast.AST) -> str | None:
    """The text of a string or f-string; a plural `s` or what is added behind a word is left out."""
    if isinstance(node, ast.Constant):
        return re.sub(r"\{[^{}]*\}", "7", node.value) if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    said = ""
    for value in node.values:
        if isinstance(value, ast.Constant):
            said += str(value.value)
        elif not said[-1:].isalnum() and not said.endswith(")"):
            said += "7"
    return said


def untold(said: str) -> int:
    """How many words of it have no pair. A part of a sentence may stand between others."""
    bare = said.strip(" ,;:")
    return min(CHINESE.untold(each) for each in (said.strip(), bare, f"7 {bare}", f"{bare} 7", f"{bare}: 7", f"7{said}7"))


def is_sentence(said: str) -> bool:
    """Not one whose verb stands in a slot (`7 7`): it has a pair for each verb, which the texts of recordings and tests show."""
    words = re.findall(r"[A-Za-z]{2,}", said)
    return len(words) > 1 and " " in said.strip() and not VERB_IN_SLOT.search(said) and not NOT_SAID.search(said)


@pytest.mark.parametrize("folder", SENTENCES)
def test_each_sentence_of_the_core_has_its_pair(folder: str) -> None:
    missing = [
        f"{name}:{line}: {said!r}"
        for source in sorted((PACKAGE / folder).rglob("*.py"))
        if (name := str(source.relative_to(PACKAGE))) not in EXCEPTIONS
        for line, said in strings(source)
        if is_sentence(said) and untold(said)
    ]
    assert not missing, "\n".join(missing)


def problems(source: Path) -> Iterator[tuple[int, str]]:
    """Line and text of what a source says when it cannot see something: what it raises, returns, or names as a problem."""
    for node in ast.walk(ast.parse(source.read_text())):
        told: list[ast.expr] = []
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            told = [*node.exc.args, *(word.value for word in node.exc.keywords)]
        elif isinstance(node, ast.Call):
            told = [word.value for word in node.keywords if word.arg in ("problem", "mend", "note", "why", "reason")]
        elif isinstance(node, ast.Assign | ast.Return) and node.value is not None:
            told = [node.value]
        ends = [end for each in told for end in ([each.body, each.orelse] if isinstance(each, ast.IfExp) else [each])]
        yield from ((node.lineno, said) for end in ends if (said := text_of(end)) is not None)


@pytest.mark.parametrize("folder", ["probe", "system", "feeds"])
def test_why_a_source_cannot_see_something_has_its_pair(folder: str) -> None:
    missing = [
        f"{source.relative_to(PACKAGE)}:{line}: {said!r}"
        for source in sorted((PACKAGE / folder).rglob("*.py"))
        for line, said in problems(source)
        if is_sentence(said) and untold(said)
    ]
    assert not missing, "\n".join(missing)


def said_at(source: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each string that is an argument of `say`."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "say":
            ends = [node.args[0].body, node.args[0].orelse] if isinstance(node.args[0], ast.IfExp) else [node.args[0]]
            yield from ((node.lineno, said) for end in ends if (said := text_of(end)) is not None)


@pytest.mark.parametrize("folder", ["render", "tui", "cli", "doctor", "guard", "remedies"])
def test_each_text_that_is_said_has_its_pair(folder: str) -> None:
    missing = [
        f"{source.relative_to(PACKAGE)}:{line}: {said!r}"
        for source in sorted((PACKAGE / folder).rglob("*.py"))
        for line, said in said_at(source)
        if re.search(r"[A-Za-z]{2,}", said) and untold(said)
    ]
    assert not missing, "\n".join(missing)


def test_each_key_and_button_has_its_pair() -> None:
    keys = (*LOOK, *IN_A_PANE, *REPLAY, *ACT)
    said = {*(key.help for key in keys), *(key.word for key in keys), *(action.verb for action in ACTIONS)}
    assert not [each for each in said if untold(each.replace("{}", "7"))]


@pytest.mark.parametrize("rule", [rule.__name__ for rule in RULES])
def test_each_rule_has_its_pair(rule: str) -> None:
    told = why(take_snapshot(RunState(), WatchSpec(), 0.0), Verdict("blind", "", "", rule=rule)).meaning
    assert not CHINESE.untold(told), told


@pytest.mark.parametrize(
    "line",
    [
        "[rank0]: weight sync to 8 rollout workers, 3.09 GiB",
        "Connection to the host is lost",
        "worker (pid 4127) is killed by signal: Aborted",
    ],
)
def test_what_a_log_says_is_never_translated(line: str) -> None:
    assert CHINESE.say(f"last output 10:04:09: {line}") == f"最后输出 10:04:09：{line}"
    assert line in CHINESE.say(f"No output since 10:04:09 in training; before it: {line}")
    assert CHINESE.say(line) == line


def texts_of(table: object, keys: frozenset[str]) -> Iterator[str]:
    """All texts under these keys, at any depth."""
    if isinstance(table, list):
        for each in table:
            yield from texts_of(each, keys)
    if isinstance(table, dict):
        for key, value in table.items():
            if key in keys:
                yield from [value] if isinstance(value, str) else value
            else:
                yield from texts_of(value, keys)


@pytest.mark.parametrize(
    ("folder", "keys"),
    [
        ("remedies/places", "title text shows worse folklore"),
        ("logs/catalog/profiles", "title"),
    ],
)
def test_each_text_of_a_place_and_of_a_stage_has_its_pair(folder: str, keys: str) -> None:
    missing = []
    for file in sorted((PACKAGE / folder).glob("*.toml")):
        table = tomllib.loads(file.read_text())
        tables = table.get("place", table.get("stage", []))
        missing += [f"{file.name}: {text}" for text in texts_of(tables, frozenset(keys.split())) if CHINESE.untold(text)]
    assert not missing, "\n".join(missing)


def test_what_a_method_of_an_actor_does_has_its_pair() -> None:
    table = tomllib.loads((PACKAGE / "diagnosis/status/ray_methods.toml").read_text())
    said = {*texts_of(table, frozenset({"says"}))}
    assert "syncs weights" in said
    assert not [each for each in said if CHINESE.untold(each) or CHINESE.untold(f"{each}: run_7")]


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "tests" / "recordings").glob("*.jsonl")))
def test_a_recording_leaves_no_english_sentence(name: str) -> None:
    """Of headline, evidence, what would refute it, and advice; what quotes the log stays as it was written."""
    recording = load(ROOT / "tests" / "recordings" / f"{name}.jsonl")
    state, monitor, looked_at, said = RunState(), Monitor(recording.header.spec), 0.0, set[str]()
    quoted: set[str] = set()
    for reading in recording.readings():
        if reading is None:
            continue
        state = fold(state, reading)
        if reading.at - looked_at < 20:
            continue
        looked_at = reading.at
        snapshot = monitor.look(state, reading.at)
        verdict = monitor.verdict
        quoted |= {each for finding in snapshot.findings for each in (finding.text, finding.cause)}
        said |= {verdict.headline, verdict.refute, verdict.detail, *(fact.text for fact in verdict.evidence)}
        said |= {reason for culprit in verdict.culprits for reason in culprit.why} | {what for _, what in verdict.next}
        said |= {fact.text for fact in why(snapshot, verdict).facts}
        for each in advice(snapshot, verdict):
            said |= {each.cause, each.remedy.removesuffix(f": {each.paste}"), each.why}
    own = [each for each in said if not any(text and text[:60] in each for text in quoted)]
    missing = [each for each in own if CHINESE.untold(each)]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.stem)
def test_a_pair_has_no_slot_that_its_english_lacks(file: Path) -> None:
    for english, other in tomllib.loads(file.read_text("utf-8")).items():
        for each in spelled_out(english):
            assert {name for _, name in SLOT.findall(other)} <= {slot.name for slot in template(each).slots}, english


class TestASentenceIsReadBack:
    PAIRS = (
        ("{who} wait[s] for {what}", "{who} 在等 {what}"),
        ("{one} and {other}", "{one} 和 {other}"),
        ("rank[s] {#n}", "rank {n}"),
        ("a lock", "锁"),
        ("it said: {=text}", "它写道：{text}"),
        ("is gone{when}", "不见了{when}"),
        ("since {#at}", "自 {at} 起"),
        ("in {@function}", "在 {function} 中"),
    )
    told = Translator(PAIRS, ["rank", "ranks"])

    @pytest.mark.parametrize(
        ("english", "chinese"),
        [
            ("rank 3 waits for a lock", "rank 3 在等锁"),
            ("ranks 0-2 wait for a lock and rank 4", "rank 0-2 在等锁和 rank 4"),
            ("it said: a lock and a key", "它写道：a lock and a key"),
            ("is gone", "不见了"),
            ("is gone since 10:02:11", "不见了自 10:02:11 起"),
            ("  a lock ", "  锁 "),
            ("in train.py:12", "在 train.py:12 中"),
        ],
    )
    def test_as_its_template_with_its_parts(self, english: str, chinese: str) -> None:
        assert self.told.say(english) == chinese

    @pytest.mark.parametrize("foreign", ["refused by peer", "in the middle of nowhere", "rank waits", "/data/和/a and b"])
    def test_and_stays_as_it_is_without_a_pair(self, foreign: str) -> None:
        assert self.told.say(foreign) == foreign

    def test_and_a_part_without_a_pair_stays_as_it_is(self) -> None:
        assert self.told.say("my_actor waits for a lock") == "my_actor 在等锁"

    def test_and_a_foreign_text_of_a_thousand_parts_takes_no_time(self) -> None:
        text = ", ".join(f"part {number} and rest; since {number}: more" for number in range(200))
        assert self.told.say(text) == text


class TestAUsersOwnPairs:
    def test_hold_where_the_package_has_another(self, tmp_path: Path) -> None:
        (tmp_path / "translations" / "zh").mkdir(parents=True)
        (tmp_path / "translations" / "zh" / "own.toml").write_text('"a lock in {where}" = "{where} 的锁"\n"HUNG" = "挂起"\n')
        own, problem = user_pairs("zh", tmp_path)
        told = Translator((*pairs("zh"), *own), kept("zh"))
        assert (told.say("HUNG"), told.say("a lock in my_file"), problem) == ("挂起", "my_file 的锁", "")

    @pytest.mark.parametrize("text", ['"no end = 1', '"{one}{other}" = "x"'])
    def test_are_left_out_with_a_reason_where_the_file_is_wrong(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "translations" / "zh").mkdir(parents=True)
        (tmp_path / "translations" / "zh" / "own.toml").write_text(text)
        own, problem = user_pairs("zh", tmp_path)
        assert not own
        assert "own.toml" in problem


def test_a_slot_takes_neither_a_word_for_a_month_nor_the_end_of_the_sentence() -> None:
    assert CHINESE.say("All 2 ranks") == "全部 2 个 rank"
    told = CHINESE.say("All 8 ranks wait in all_reduce and none stands out.")
    assert told == "全部 8 个 rank 都等在 all_reduce 中，没有哪个与众不同。"


@pytest.mark.parametrize(
    "said",
    [
        "rank 3 is pid 5 on node-b: only processes of this machine can be asked",
        "rank 3 has no process that is known on this machine",
        "pid 5 is no process of this run",
        "a chart needs two columns of numbers, such as SELECT step, value FROM metrics",
        "samples 8 processes 20 times a second for 5 s, at about 0.6 % of a core each; stops none of them",
        "py-spy took 1.3 % of a core, 0.16 % a process",
        "via tee",
    ],
)
def test_what_a_command_says_beside_its_answer_has_its_pair(said: str) -> None:
    assert CHINESE.untold(said) == 0
