"""Command lines as people type them: run as they are, given to a shell, or refused with the reason; and what they run in the
end."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest

from hangtop.actions.command_line.typed import CommandError, command, simple_commands, tokens, variables_in, with_variables
from hangtop.actions.command_line.wrapped import PythonCall, innermost, launched, layers, python_call

PLAIN = [
    "python train.py --lr=2 'a b' \"c d\"",
    r"python train.py a\ b \'x\' \"y\"",
    "python -m verl.trainer.main_ppo trainer.nnodes=1 +a.b=3 ++c=4",
    "python train.py --name a#b --at x~y",
    "python train.py --map {a} {b:1}",
    """python train.py 'it'"'"'s'""",
    r'python train.py "a\"b\\c\d"',
    "python train.py ''",
    "python train.py 2 x2",
]
NEEDS_A_SHELL = [
    "python train.py | tee train.log",
    "cd /run && python train.py",
    "python a.py; python b.py",
    "python train.py > out.txt 2>&1",
    "python train.py --out $HOME/x",
    "python train.py --n `nproc`",
    "python train.py data/*.json",
    "python train.py --f ~/x",
    'python train.py "$HOME"',
    "time python train.py",
    "source venv/bin/activate",
    "python train.py {a,b}",
    "python train.py a=[1,2]",
]


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_command_is_split_as_a_shell_splits_it(text: str) -> None:
    words = command(text)
    shell = subprocess.run(["/bin/sh", "-c", f"printf '%s\\0' {text}"], capture_output=True, check=True).stdout
    assert list(words) == shell.decode().split("\0")[:-1]


@pytest.mark.parametrize("text", NEEDS_A_SHELL)
def test_what_only_a_shell_can_read_is_given_to_one_as_it_was_typed(text: str) -> None:
    assert command(text, "/usr/bin/zsh") == ("/usr/bin/zsh", "-c", text)
    assert command(text, "/usr/bin/fish") == ("/bin/sh", "-c", text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NCCL_IB_DISABLE=1 python train.py", ("env", "NCCL_IB_DISABLE=1", "python", "train.py")),
        ("A=1 B='x y' python t.py C=3", ("env", "A=1", "B=x y", "python", "t.py", "C=3")),
        ("exec python t.py", ("python", "t.py")),
        ("env -u A B=2 nohup python t.py", ("env", "-u", "A", "B=2", "nohup", "python", "t.py")),
        ("/runs/lr=0.1/run.sh a", ("/runs/lr=0.1/run.sh", "a")),
        ("'A=1' b", ("A=1", "b")),
        ("python t.py # as before", ("python", "t.py")),
        ("A=$HOME python t.py", ("/bin/sh", "-c", "A=$HOME python t.py")),
    ],
)
def test_variables_before_a_command_stay_with_it(text: str, words: tuple[str, ...]) -> None:
    assert command(text) == words


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("python 'x", "no closing quotation"),
        ("", "empty"),
        ("  # nothing", "empty"),
        ("A=1 B=2", "starts nothing"),
        ("python train.py &", "background"),
        ("nohup python train.py > x 2>&1 &", "background"),
    ],
)
def test_what_starts_nothing_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(CommandError, match=why):
        command(text)


@pytest.mark.parametrize(
    "argv", [("a b", "$x", "", "'", '"', "\\", "*", "A=1", "~", "#", "a|b", "é\n", "2", "&"), ("x", "-c", "y; z")]
)
def test_a_command_that_is_shown_and_taken_back_is_the_same(argv: tuple[str, ...]) -> None:
    assert command(shlex.join(argv)) == argv


def test_variables_of_ones_own_are_pairs_and_nothing_else() -> None:
    assert variables_in("A=1 B='x y'  C=") == {"A": "1", "B": "x y", "C": ""}
    assert variables_in("") == {}
    for text, why in [
        ("A", "not NAME=value"),
        ("1A=2", "not the"),
        ("A=$B", "quote"),
        ("A=1; B=2", "shell"),
        ("A='x", "closing"),
    ]:
        with pytest.raises(CommandError, match=why):
            variables_in(text)


def test_words_that_a_shell_has_split_keep_their_variables() -> None:
    assert with_variables(("A=1", "python", "x y")) == ("env", "A=1", "python", "x y")
    assert with_variables(("python", "A=1")) == ("python", "A=1")


def test_the_simple_commands_of_a_line_up_to_where_the_way_is_not_plain() -> None:
    def seen(text: str) -> list[str]:
        return [" ".join(token.text for token in simple) for simple in simple_commands(tokens(text))]

    assert seen("cd /run && A=1 python t.py 2>&1 >out | tee -a log; echo done") == [
        "cd /run",
        "A=1 python t.py",
        "tee -a log",
        "echo done",
    ]
    assert seen("a || b") == []
    assert seen("a; b > x || c; d") == ["a"]
    assert seen("f() { a; }; b") == []
    assert seen("a; (b; c)") == ["a"]
    assert seen("a 'x | y' \"z; w\"") == ["a x | y z; w"]
    assert seen("cat <<EOF\nx\nEOF") == []


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("env A=1 -- x", "-- x"),
        ("env -i A=1 nohup nice -n 5 python t.py", "python t.py"),
        ("timeout -k 5 --foreground 3600 python t.py -k 3", "python t.py -k 3"),
        ("taskset -c 0-3 numactl -N 0 --membind=0 python t.py", "python t.py"),
        ("setsid stdbuf -oL ionice -c2 -n7 torchrun t.py", "torchrun t.py"),
        ("time -f %e python t.py", "python t.py"),
        ("numactl --cpunodebind 0 python t.py", "python t.py"),
        ("timeout -vk 5 --signal KILL 5h python t.py", "python t.py"),
        ("nice -10 python t.py", "python t.py"),
        ("env -iuB - A=1 python t.py", "python t.py"),
        ("numactl --no-such 0 python t.py", "numactl --no-such 0 python t.py"),
        ("env --no-such python t.py", "env --no-such python t.py"),
        ("env -S 'python -u' t.py", "env -S 'python -u' t.py"),
    ],
)
def test_what_runs_in_the_end(line: str, runs: str) -> None:
    assert innermost(shlex.split(line)) == tuple(shlex.split(runs))


def test_env_tells_what_it_changes() -> None:
    (first, _) = layers(shlex.split("env -i -u B --unset=C -C /run A=1 PATH=/x python"))
    assert (first.clears, first.unsets, first.folder, first.sets) == (True, ("B", "C"), "/run", {"A": "1", "PATH": "/x"})


@pytest.mark.parametrize(
    ("line", "script", "module", "options"),
    [
        ("python t.py a", "t.py", None, ()),
        ("/v/bin/python3.11 -u -X dev -W ignore t.py -m x", "t.py", None, ("-u", "-X", "dev", "-W", "ignore")),
        ("python -m verl.main a=1", None, "verl.main", ()),
        ("python -um verl.main", None, "verl.main", ("-u",)),
        ("python -Im verl.main", None, "verl.main", ("-I",)),
        ("python -mverl.main x", None, "verl.main", ()),
        ("python -c 'import x' y", None, None, ()),
        ("python -", "-", None, ()),
        ("python", None, None, ()),
    ],
)
def test_what_an_interpreter_is_told_to_run(line: str, script: str | None, module: str | None, options: tuple[str, ...]) -> None:
    call = python_call(shlex.split(line))
    assert call is not None
    assert (call.script, call.module, call.options) == (script, module, options)


@pytest.mark.parametrize(
    ("line", "script", "module"),
    [
        ("python -m torch.distributed.run --nproc_per_node 4 t.py --lr 1", "t.py", None),
        ("/v/bin/python /v/bin/torchrun --nproc-per-node=4 -m pkg.train x.py", None, "pkg.train"),
        ("/v/bin/python /v/bin/accelerate launch --num_processes 2 t.py", "t.py", None),
        ("python -m deepspeed.launcher.runner --num_gpus 2 t.py", "t.py", None),
    ],
)
def test_what_a_launcher_of_ranks_starts(line: str, script: str | None, module: str | None) -> None:
    call = python_call(shlex.split(line))
    assert call is not None
    inner = launched(call)
    assert inner is not None
    assert (inner.script, inner.module) == (script, module)


def test_what_is_not_plain_is_not_told() -> None:
    assert python_call(("bash", "run.sh")) is None
    assert launched(PythonCall(script="torchrun", rest=("-m", "--nproc_per_node", "4", "pkg.train"))) is None
    assert launched(PythonCall(script="torchrun", rest=("--no-python", "./run.sh"))) is None
    assert launched(PythonCall(script="torchrun", rest=("-m",))) is None
    assert launched(PythonCall(script="mpirun", rest=("t.py",))) is None


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("text", NEEDS_A_SHELL)
def test_a_shell_can_read_what_it_is_given(text: str) -> None:
    assert subprocess.run(["bash", "-n", "-c", text], capture_output=True, check=False).returncode == 0
