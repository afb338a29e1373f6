"""Which commands hangtop runs itself to tell causes apart: all of the catalogue, and what must never be among them."""

from __future__ import annotations

import shlex

import pytest

from hangtop.records.advice import TellAsk
from hangtop.remedies.catalogue import places
from hangtop.remedies.harmless import forms, harmless
from hangtop.remedies.place import command
from hangtop.remedies.place_page import BLANKS

SEEN = dict.fromkeys(BLANKS, "7") | {"address": "10.0.0.2", "path": "/a b/x;y", "log": "my log.txt", "mount": "/mnt/$(x)"}
TELLS = [command(cause.tell, SEEN) for place in places().values() for cause in place.cause if cause.tell]
ONLY_COPIED = {
    "bash ": "it connects to another machine",
    "nc ": "it connects to another machine",
    "ping -c": "it connects to another machine",
    "python -": "it runs what it imports",
    "sacct -j": "what its options may do is not looked through",
    "sinfo ": "what its options may do is not looked through",
    "-nB3": "what its options may do is not looked through",
    "curl ": "it connects to another machine",
    "sudo ": "it needs rights",
    "--locals": "it shows the run's own data",
    "--native": "it stops processes",
    "hangtop check": "it is for another machine",
    "py-spy": "it does not end",
    "$": "a shell must fill it",
    "*": "a shell must fill it",
}
"""Why some of the catalogue are not run: what stands in these."""


def programs(text: str) -> list[list[str]]:
    """What is run of it, by its arguments."""
    found = harmless(text)
    assert isinstance(found, TellAsk), (text, found)
    return [list(program.argv) for pipeline in found.pipelines for program in pipeline]


def test_of_the_catalogue_all_are_run_but_for_those_that_do_more_than_read() -> None:
    refused = {tell for tell in TELLS if isinstance(harmless(tell), str)}
    assert refused == {tell for tell in TELLS if any(sign in tell.replace("/mnt/$(x)", "") for sign in ONLY_COPIED)}
    assert len(refused) < len(TELLS) / 3


def test_what_was_seen_of_a_run_stays_one_argument() -> None:
    for path in ("/a b", "/x;rm -rf y", "/$(reboot)", "/it's", '/"q"', "/`id`", "/a|b", "/>x", "/&", "/*"):
        assert programs(f"ls -l {shlex.quote(path)}; fuser -v {shlex.quote(path)}") == [["ls", "-l", path], ["fuser", "-v", path]]
    assert programs("ss -ltnp 'sport = :29500'") == [["ss", "-ltnp", "sport = :29500"]]
    assert programs("ps -p 7  # state T; and more | rm") == [["ps", "-p", "7"]]


@pytest.mark.parametrize("path", ["-delete", "--help", "-rf"])
def test_a_path_that_looks_like_an_option_is_not_run(path: str) -> None:
    for text in ("ls -l {path}", "stat -f {path}", "tail -n 5 {path}", "grep -n Error {path}", "hangtop stacks --log {path}"):
        assert isinstance(harmless(command(text, {"path": path})), str)


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf /tmp/x",
        "kill -CONT 7",
        "ps -p 7; kill 7",
        "ps -p 7 | xargs kill",
        "ps -p 7 && kill 7",
        "ps -p 7 || kill 7",
        "ps -p 7 & kill 7",
        "ps -p 7 |& tee x",
        "ps -p 7\nkill 7",
        "ps -p 7 > x",
        "ps -p 7 >> x",
        "ps -p 7 2> x",
        "ps -p 7 2>/dev/nullx",
        "ls < x",
        "ls $(kill 7)",
        "ls `kill 7`",
        'ls "$(kill 7)"',
        "ls $HOME",
        "ls ~/x",
        "ls {a,b}",
        "ls \\\nx",
        "PATH=. ls",
        "env ls",
        "/bin/ls",
        "./ls",
        "timeout 5 kill 7",
        "timeout -s KILL 5 ls",
        "timeout 5000 ls",
        "sleep 600",
        "fuser -k /x",
        "ss -K",
        "ss -tn -K",
        "dmesg -C",
        "dmesg -c",
        "sort -o x",
        "sort x",
        "tail -f x",
        "tail -n 5 /proc/7/fd/0",
        "cat /proc/7/fd/0",
        "cat /proc/7/environ",
        "cat /proc/kmsg",
        "cat /etc/shadow",
        "cat /proc/../etc/shadow",
        "grep -r x /",
        "grep -f x y",
        "grep x /dev/input/event0",
        "ip addr add 10.0.0.1/8",
        "ip addr add",
        "ip route get add",
        "ip route del 10.0.0.1",
        "ip link set eth0 down",
        "nvidia-smi -r",
        "nvidia-smi --gpu-reset",
        "nvidia-smi -pm 1",
        "nvidia-smi -f x",
        "nvidia-smi --query-gpu=index -f x",
        "nvidia-smi dmon -s pu -c 5 -f x",
        "nvidia-smi mig -dci",
        "ray stop",
        "ray list actors --address x",
        "squeue --me; scancel 7",
        "coredumpctl dump 7",
        "find / -delete",
        "pgrep -f x --signal 9",
        "pkill x",
        "hangtop stop --log x --yes",
        "hangtop stacks --pid 7 --native",
        "hangtop stacks --pid 7 --locals",
        "hangtop stacks --log x --config y",
        "bash -c 'kill 7'",
        "nc -zv 10.0.0.2 80",
        "ls 'x",
        "",
        "  ",
        "| ls",
        "ls |",
        "ls | | wc",
        "ps -o",
        "ps -o -p",
        "ps -p '7 -k'",
    ],
)
def test_what_may_do_more_than_read_is_not_run(text: str) -> None:
    assert isinstance(harmless(text), str)


def test_pipes_are_between_programs_that_read_and_errors_may_be_left_out() -> None:
    found = harmless("ibstat 2>/dev/null | grep -E 'State|Rate'; dmesg -T 2>&1 | tail")
    assert isinstance(found, TellAsk)
    assert [[(program.argv[0], program.quiet) for program in pipeline] for pipeline in found.pipelines] == [
        [("ibstat", True), ("grep", False)],
        [("dmesg", False), ("tail", False)],
    ]


def test_a_limit_of_its_own_is_kept_without_the_program_that_sets_it() -> None:
    found = harmless("timeout 5 stat -f /mnt")
    assert isinstance(found, TellAsk)
    assert found.pipelines[0][0].argv == ("stat", "-f", "/mnt")
    assert found.pipelines[0][0].within_s == 5.0


def test_files_whose_content_is_read_are_named() -> None:
    found = harmless("grep -n Error a.log b.log | tail -n 3; ls c.log")
    assert isinstance(found, TellAsk)
    assert [program.files for pipeline in found.pipelines for program in pipeline] == [("a.log", "b.log"), (), ()]


def test_no_form_knows_an_option_that_its_pattern_of_operands_lets_through() -> None:
    for form in forms():
        assert not form.fits([form.program, *(word.replace("[^-].*", "x") for word in form.words), "--delete"])
        assert not form.fits([form.program, "-delete"])
