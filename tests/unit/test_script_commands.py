"""What a shell's script starts behind a place in its text."""

from __future__ import annotations

import pytest

from hangtop.system.processes.script_commands import all_behind, behind, behind_last_wait
from hangtop.system.processes.shell_text import filled, writes

JOBS = "python train.py &\n"


@pytest.mark.parametrize(
    ("program", "left"),
    [
        (f'{JOBS}wait\necho "$(date) done"\npython -u eval.py || exit 1\n', "python -u eval.py || exit 1"),
        (f'{JOBS}wait\nSEED="$1" python eval.py 2>&1 | tee eval.log\n', "python eval.py 2>&1 | tee eval.log"),
        (f"score() {{\n  python eval.py\n}}\n{JOBS}wait; score b\n", "score b"),
        ("for seed in 1 2; do python train.py & wait $!; done\nif [ $? = 0 ]; then ./report; fi", "./report; fi"),
    ],
)
def test_what_is_started_behind_the_last_wait(program: str, left: str) -> None:
    assert behind_last_wait(program) == left


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(f"{JOBS}wait", id="nothing"),
        pytest.param(f"{JOBS}wait\necho done 2>&1\nkill %1 2>/dev/null || true; exit $?\n", id="it only ends"),
        pytest.param(f"log() {{ echo $1; }}\n{JOBS}wait; log done\n", id="a function that starts nothing"),
        pytest.param(f"end() {{\n  kill %1; wait; }}\n{JOBS}end; python eval.py\n", id="the wait may be called from anywhere"),
        pytest.param(f"{JOBS}wait\ncat <<END\npython eval.py\nEND\n", id="a text"),
        pytest.param("python train.py\npython eval.py\n", id="no wait"),
    ],
)
def test_a_script_of_which_nothing_tells_that_more_is_left(program: str) -> None:
    assert behind_last_wait(program) is None


def test_what_is_started_behind_a_place() -> None:
    script = "python train.py\npython serve.py\npython eval.py\n"
    assert behind(script, len("python train.py\npython serve.py\n")) == "python eval.py"
    assert behind(script, len(script)) is None


NIGHT = """LOG=train.log
python fit.py 2>&1 | tee -a "$LOG"
sleep 26
python report.py
python evaluate.py >> "$LOG" 2>&1
echo over >> $LOG
"""


def test_which_of_the_programs_that_are_left_write_a_log() -> None:
    left = all_behind(NIGHT, NIGHT.index("python report"))
    logs = {"/run/train.log"}
    assert [(line.split()[1], writes(filled(line, NIGHT), logs, "/run")) for line in left] == [
        ("report.py", False),
        ("evaluate.py", True),
    ], "a word at the end is no program"
    assert not writes(filled(left[1], NIGHT), logs, "/elsewhere")
    assert not writes(filled(left[1], f"{NIGHT}LOG=b.log\n"), logs, "/run"), "it is set twice"
