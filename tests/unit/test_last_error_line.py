"""What no signature knows is still told: a log that fell silent with its last words, an exception with the place in the code."""

from __future__ import annotations

import pytest

from hangtop.diagnosis.judge import diagnose
from hangtop.logs.digest import Digest
from hangtop.logs.joined_logs import join_logs
from hangtop.records.health import SourceHealth
from hangtop.records.log import LogFile
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from tests.fakes.read_log import INDEX

NOW = 1_800_000_000.0
BARS = b"".join(b"step %d/400 loss=1.%d\n" % (step, step) for step in range(9))


def verdict(*chunks: bytes) -> Verdict:
    """Of a log that has been silent for ten minutes."""
    digest = Digest(INDEX, 0)
    for chunk in chunks:
        digest.feed(chunk)
    file = LogFile("train.log", size_bytes=digest.bytes, scanned_bytes=digest.bytes, modified_at=NOW - 600)
    tail = digest.tail(200)
    log = join_logs([digest.facts()], [file], INDEX.catalog, last_output_at=NOW - 600, tail=tail)
    state = RunState(log=log, tail=tail, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)
    return diagnose(state, WatchSpec(logs=("train.log",)), NOW)


@pytest.mark.parametrize(
    "words",
    [
        "frobnicator: fatal: lost quorum of 3 shepherds",
        "zorkd[44]: connection to the mothership refused, giving up",
        "2026-01-11 10:00:00,123 ERROR shepherd: flock 3 is empty",
        "acme::Loader panicked at src/loader.rs:44",
        "flockd: unable to map the region",
    ],
)
def test_words_of_an_unknown_error_are_quoted(words: str) -> None:
    told = verdict(BARS, f"{words}\nnote: see the manual\n".encode())
    assert told.word == "stalled"
    assert words.rpartition("ERROR ")[2] in told.headline
    assert any(words.rpartition("ERROR ")[2] in fact.text for fact in told.evidence)


@pytest.mark.parametrize(
    "words", ["validation: 0 errors", "error_rate=0.25 best so far", "shard 3 failed, retrying in 2 s", "saving to fail-safe/"]
)
def test_harmless_words_are_not(words: str) -> None:
    assert "before it" not in verdict(BARS, f"{words}\n".encode()).headline


def test_an_error_before_the_last_step_was_survived() -> None:
    assert "not known" in verdict(b"frobnicator: fatal: lost quorum\n", BARS).headline


TRACE = b"""Traceback (most recent call last):
  File "/home/me/proj/train.py", line 88, in <module>
    main()
  File "/home/me/proj/model/flock.py", line 41, in forward
    return self.inner(batch)
  File "/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1511, in _call_impl
    return forward_call(*args)
FlockError: nine sheep
"""


@pytest.mark.parametrize("cut", [0, 60, 120, 180, 230, 300])
def test_an_unknown_exception_names_the_run_s_own_line(cut: int) -> None:
    told = verdict(BARS, TRACE[:cut], TRACE[cut:])
    assert told.headline == "FlockError: nine sheep."
    assert "raised below /home/me/proj/model/flock.py:41 in forward" in [fact.text for fact in told.evidence]


def test_without_own_code_it_names_the_innermost_line() -> None:
    own = TRACE.replace(b"/home/me/proj", b"/usr/lib/python3.11/site-packages/flock")
    assert any(fact.text.startswith("raised in /opt/conda") for fact in verdict(BARS, own).evidence)


def test_a_known_exception_names_the_line_as_well() -> None:
    oom = TRACE.replace(b"FlockError: nine sheep", b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    told = verdict(BARS, oom)
    assert told.evidence[1].text.startswith("cuda.oom")
    assert any("flock.py:41" in fact.text for fact in told.evidence)


def test_tracebacks_of_two_ranks_do_not_mix_their_lines() -> None:
    lines = TRACE.splitlines()
    other = TRACE.replace(b"flock.py", b"goats.py").replace(b"nine sheep", b"two goats").splitlines()
    woven = b"".join(b"[rank1]: %s\n[rank2]: %s\n" % pair for pair in zip(lines, other, strict=True))
    told = verdict(BARS, woven)
    assert told.headline == "Rank 1: FlockError: nine sheep."
    assert any("flock.py:41" in fact.text for fact in told.evidence)


def raised(line: bytes, above: bytes = b"") -> Verdict:
    return verdict(BARS, above, TRACE.replace(b"FlockError: nine sheep", line))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"AssertionError: flock of 10 must be divisible by 3 dogs", "do not fit each other"),
        (b"acme.FlockTimeout: no answer", "did not answer in time"),
        (b"ValueError: expected 4 legs but got 3", "that must agree do not"),
        (b"acme.Error: cannot connect to http://flock:80", "other end of a connection"),
        (b"KeyError: 'sheep'", "not in a dictionary"),
        (b"acme.ShepherdError: shears need sharpening", "Raised at or below flock.py:41 in forward"),
    ],
)
def test_an_exception_without_a_page_is_explained_by_its_words(line: bytes, kind: str) -> None:
    assert kind in raised(line).detail


def test_a_page_says_more_than_a_kind() -> None:
    told = raised(b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    assert told.evidence[1].text.startswith("cuda.oom")


def test_an_exception_that_the_run_handles_is_of_no_kind() -> None:
    told = raised(b"ValueError: expected 4 legs but got 3", b"ERROR: step failed, retrying with the next batch\n")
    assert told.word != "crashed"


RICH = """\
╭─────────── Traceback (most recent call last) ───────────╮
│ /home/me/proj/train.py:355 in train                      │
│ ❱ 355 │   out = model(batch)                             │
│ /opt/conda/lib/python3.11/site-packages/acme/a.py:9 in f │
╰──────────────────────────────────────────────────────────╯
FlockError: nine sheep
"""


@pytest.mark.parametrize("text", [RICH, RICH.translate(str.maketrans("╭╮╰╯─│❱", "++++-|>"))])
def test_a_traceback_that_rich_drew_is_one(text: str) -> None:
    told = verdict(BARS, text.encode())
    assert told.headline == "FlockError: nine sheep."
    assert any("/home/me/proj/train.py:355 in train" in fact.text for fact in told.evidence)
