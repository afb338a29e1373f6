"""Processes of other nodes: their numbers, the command that reaches a node, and the program that runs there."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections import deque
from pathlib import Path

import msgspec
import pytest

from hangtop.actions.execute.signals import VerifiedProcess
from hangtop.probe.nodes.far_program import program
from hangtop.probe.nodes.launchers import BEGIN, SSH, LauncherError, command
from hangtop.probe.nodes.node_link import NodeLink
from hangtop.probe.nodes.node_side.look import Node
from hangtop.probe.nodes.node_side.proc import facts_of
from hangtop.probe.nodes.node_side.stacks import spy_for
from hangtop.probe.nodes.node_stacks import NodeStacks
from hangtop.probe.nodes.node_table import Look, NodeTable
from hangtop.probe.nodes.sent_modules import unpacked
from hangtop.records.nodes import node_of, on_node, pid_text, pid_there
from hangtop.records.plan import Target
from hangtop.system.processes.exits import Exits
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.table import Stat
from tests.fakes.processes import eventually

PID_MAX = (4 << 20) - 1
WHO, NOW = ["python", 1, 42, 42, 0, 0, 700], ["S", 10, 0, 3, 200, None]


def test_a_pid_of_another_node_is_no_pid_of_this_one() -> None:
    for node, pid in ((1, 1), (1, PID_MAX), (512, 219)):
        number = on_node(node, pid)
        assert (node_of(number), pid_there(number)) == (node, pid)
        assert number > PID_MAX, "a signal to it reaches nobody"
    assert on_node(0, 219) == 219
    assert pid_text(219) == "pid 219"
    assert pid_text(on_node(2, 219)) == "pid 219 of node 2"
    assert pid_text(on_node(2, 219), {2: "n3"}) == "pid 219 on n3"


def test_the_program_of_a_node_is_one_quoted_word_for_ssh_and_words_for_what_needs_no_shell() -> None:
    through_ssh = command(SSH, "n2")
    assert through_ssh[:2] == ("ssh", "-T")
    assert "n2" in through_ssh
    assert through_ssh[-1].startswith("python3 -u -c 'import sys") or through_ssh[-1].startswith('python3 -u -c "import sys')
    assert command("kubectl exec -i {host} -- {probe}", "pod-1")[:8] == (
        *("kubectl", "exec", "-i", "pod-1", "--"),
        *("python3", "-u", "-c"),
    )


@pytest.mark.parametrize("host", ["", "-oProxyCommand=sh", "two words", "new\nline"])
def test_what_is_no_host_name_is_refused(host: str) -> None:
    with pytest.raises(LauncherError, match="no host name"):
        command(SSH, host)


@pytest.mark.parametrize("launcher", ["ssh {host}", "ssh {probe}", "sh -c 'ssh {host} {probe}'", "ssh '{host} {probe}", "{host}"])
def test_a_launcher_without_host_or_program_is_refused(launcher: str) -> None:
    with pytest.raises(LauncherError):
        command(launcher, "n2")


def test_the_program_of_a_node_is_python_3_9_and_takes_nothing_of_ours_along() -> None:
    sent = unpacked(ast.literal_eval(re.search(r"unpacked\((.*)\), ", program().decode()).group(1)))
    for source in (program().decode(), *sent.values()):
        tree = ast.parse(source, feature_version=(3, 9))
        imported = {name.name for each in ast.walk(tree) if isinstance(each, ast.Import) for name in each.names}
        imported |= {each.module or "" for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}
        ours = {name for name in imported if name.partition(".")[0] == "hangtop"}
        assert ours <= sent.keys()
        assert not {name for name in imported if name.partition(".")[0] in ("psutil", "msgspec")}


def test_the_program_of_a_node_runs_where_there_is_no_hangtop(tmp_path: Path) -> None:
    alone = ("-I", "-S", "-u", "-c", BEGIN)
    sent = b"%d\n" % len(program()) + program() + b'{"look": {"ranks": ["RANK"], "kept": [], "logs": [], "interval_s": 1}}\n'
    with subprocess.Popen((sys.executable, *alone), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(sent)
        child.stdin.flush()
        told = [json.loads(line) for line in [child.stdout.readline() for _ in range(4)] if not line.isspace()]
        child.stdin.close()
    assert told[0]["hello"]
    assert told[0]["uid"] == os.geteuid()
    assert "boot_at" in told[1]
    assert "rows" in told[2]
    assert child.returncode == 0
    assert not list(tmp_path.iterdir())


def look(**record: object) -> Look:
    return msgspec.convert(json.loads(json.dumps(record)), Look, strict=False)


def test_a_row_holds_only_what_changed_since_the_one_before() -> None:
    table = NodeTable(node=3, ticks_per_s=100)
    facts = {"command": ["python", "train.py"], "environ": {"RANK": "4"}, "denied": False}
    table.take(look(at=1.0, rows={"42": {"who": WHO, "now": NOW, "facts": facts, "files": [[3, "/dev/nvidia0", True]]}}))
    table.take(look(at=3.0, rows={"42": {"now": ["D", 11, 0, 3, 200, None]}}))
    pid = on_node(3, 42)
    assert (table.stats[pid].state, table.stats[pid].cpu_ticks, table.stats[pid].ppid) == ("D", 11, on_node(3, 1))
    assert table.environ(pid) == {"RANK": "4"}
    assert table.open_files(pid)[0].target == "/dev/nvidia0"


def test_another_process_with_the_pid_of_one_that_is_gone_has_none_of_its_facts() -> None:
    table = NodeTable(node=1, ticks_per_s=100)
    facts = {"command": ["python"], "environ": {"RANK": "4"}, "denied": False}
    table.take(look(at=1.0, rows={"42": {"who": WHO, "now": NOW, "facts": facts}}))
    table.take(look(at=3.0, rows={"42": {"who": [*WHO[:-1], 900], "now": NOW}}))
    with pytest.raises(TimeoutError):  # its own are not told yet, and are asked for again
        table.environ(on_node(1, 42))
    table.take(look(at=5.0, gone=[42]))
    assert not table.stats
    with pytest.raises(ProcessLookupError):
        table.environ(on_node(1, 42))


def test_times_are_by_our_clock() -> None:
    table = NodeTable(node=1, ticks_per_s=100)
    table.boot_at, table.offset_s = 1_000.0, 60.0
    assert table.started_at(500) == 1_000.0 - 60.0 + 5.0


def test_what_a_node_says_holds_no_control_codes() -> None:
    table = NodeTable(node=1, ticks_per_s=100)
    table.take(look(at=1.0, rows={"42": {"who": WHO, "now": NOW, "details": [0, None, "futex\x1b]0;x\x07"]}}))
    assert "\x1b" not in (table.details(on_node(1, 42)).wchan or "")
    with pytest.raises(msgspec.ValidationError):
        look(at=1.0, rows={"42": {"now": ["\x1b[2J", *NOW[1:]]}})


def test_a_rank_that_shows_nothing_any_more_is_still_that_rank() -> None:
    """A process shows neither arguments nor environment while another program is being started in it, or once it ends."""
    node = Node({"ranks": ["RANK"], "kept": ["RANK"], "logs": []}, say=lambda record: None)
    with subprocess.Popen(("sleep", "600"), env={**os.environ, "RANK": "3"}) as child:
        eventually(lambda: facts_of(child.pid, ["RANK"])["environ"], "its environment, which is set up after its files")
        node.facts.answers[child.pid] = node.read_slowly(child.pid)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert facts_of(child.pid, ["RANK"])["environ"] == {}
        assert node.read_slowly(child.pid)[1]["environ"] == {"RANK": "3"}
        node.facts.answers[1 << 22] = (7, {}, [])
        node.look()
    assert 1 << 22 not in node.facts.answers, "what is gone is forgotten"


def test_what_starts_ranks_hides_none_of_them_and_the_shell_of_a_batch_script_is_none() -> None:
    """A rank is looked at each time, what it started seldom. The script's shell and its torchrun have a SLURM_PROCID as well."""
    script = {"SLURM_PROCID": "0", "SLURM_JOB_ID": "7"}
    environs = {
        40: script,
        41: script,
        42: {**script, "RANK": "0"},
        43: {**script, "RANK": "0"},
        50: {**script, "SLURM_STEP_ID": "1"},
        51: {**script, "SLURM_STEP_ID": "1", "RANK": "1"},
    }
    parents = {40: 1, 41: 40, 42: 41, 43: 42, 50: 1, 51: 50}
    node = Node({"ranks": ["RANK", "SLURM_PROCID"], "kept": [], "logs": []}, say=lambda record: None)
    node.stats = {pid: (["python", parent, pid, pid, 0, 0, 700], ["S", 10, 0, 3, 200, None]) for pid, parent in parents.items()}
    node.facts.answers = {pid: (700, {"environ": environ, "command": []}, [], []) for pid, environ in environs.items()}
    assert {pid for pid in environs if node.rank_of(pid) is None} == {40, 41}
    assert node.followed() == {42: False, 43: True, 40: False, 41: False, 50: False, 51: False}


def test_a_program_beside_the_process_of_another_user_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spy, program = tmp_path / "py-spy", tmp_path / "program"
    spy.write_text("#!/bin/sh\n")
    spy.chmod(0o755)
    shutil.copy(shutil.which("sleep") or "", program)
    with subprocess.Popen((program, "600")) as child:
        assert spy_for(child.pid) == str(spy)
        user = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: user + 1)
        assert spy_for(child.pid) != str(spy)
        child.kill()


def test_an_answer_of_another_form_ends_the_question_to_that_node_and_says_so() -> None:
    link = NodeLink(1, "n2", ("true",), {})
    stacks = NodeStacks({1: link}, 7, (on_node(1, 42),))
    link._answers[7] = deque([{"stack": 7, "pid": 42, "at": 1.0, "start": 3, "state": "S", "dump": None}])
    (stack,) = stacks.answers()
    assert (stack.pid, "no stack" in (stack.problem or "")) == (on_node(1, 42), True)


@pytest.mark.parametrize("node", [1, 511, 512, 100_000])
def test_a_number_of_another_node_is_never_asked_of_this_kernel(node: int) -> None:
    """From the 512th node on it does not even fit into the argument of a system call."""
    stat = Stat(on_node(node, 42), "python", "Z", on_node(node, 1), 42, 42, 700, 0, 1, 0, exit_status=256)
    exits = Exits()
    exits.watch(stat)
    assert exits.code(stat.identity) == 1
    target = Target(on_node(node, 42), 700, 0.0, "python", "S")
    with pytest.raises(LookupError, match="of another node"):
        VerifiedProcess(target, open_table(), frozenset(), os.geteuid())
