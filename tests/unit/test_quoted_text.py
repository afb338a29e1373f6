"""Error texts that are not the run's own: quotes, settings, conversations, code of the model; and errors that the run handles."""

from __future__ import annotations

import pytest

from hangtop.logs.digest import Digest
from hangtop.logs.joined_logs import join_logs
from hangtop.records.log import LogFile
from tests.fakes.read_log import INDEX

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
TRACEBACK = 'Traceback (most recent call last):\n  File "/app/train.py", line 3, in <module>\n'


def fatal(text: str, *, cut: int | None = None) -> set[str]:
    """The ids of what is fatal in a log, read in one piece or `cut` into two."""
    data = text.encode()
    digest = Digest(INDEX, 0)
    for piece in [data] if cut is None else [data[:cut], data[cut:]]:
        digest.feed(piece)
        digest.facts()
    reading = join_logs([digest.facts()], [LogFile("train.log", size_bytes=len(data), scanned_bytes=len(data))], INDEX.catalog)
    return {finding.id for finding in reading.findings if finding.severity == "fatal"}


FOREIGN = {
    "a quoted line": f"> {OOM}\n",
    "a quoted traceback": f"> Traceback (most recent call last):\n> {OOM}\n",
    "a test that failed": f">       train()\nE   {OOM}\n",
    "a comment": f"# {OOM}\n",
    "a mapping of Python": f"{{'alert': {{'patterns': ['{OOM}', 'NCCL error'],\n 'on_error': 'Killed'}}}}\n",
    "settings in YAML": f'alert:\n  oom_text: "{OOM}"\n  words:\n  - Bus error (core dumped)\n  - "{OOM}"\n',
    "settings in JSON": f'{{"alert": {{"on": "{OOM}", "level": "page"}}}}\n',
    "settings of a class": f"AlertConfig(retries=3, oom_text='{OOM}')\n",
    "a conversation": f"<|im_start|>user\n{TRACEBACK}{OOM}\nSegmentation fault (core dumped)<|im_end|>\n",
    "a conversation of Llama": f"<|start_header_id|>user<|end_header_id|>\n\n{OOM}\nKilled\n<|eot_id|>\n",
    "a thought": f"<think>\n{OOM}\n</think>\n",
    "a decoded example": f"inputs:\n{OOM}\nlabel_ids:\n[-100, 3]\n***** Running training *****\n",
    "code of a model": TRACEBACK.replace("/app/train.py", "<string>") + "ZeroDivisionError: division by zero\n",
    "an error that is tried again": f"request 3 failed; retrying (1/5)\n{TRACEBACK}{OOM}\n",
    "an error that may be ignored": f"Failed to send. If transient, it's safe to ignore this error.\n{TRACEBACK}{OOM}\n",
    "an error that is skipped": f"{OOM}; skipping this batch\n",
    "an exception in a destructor": f"Exception ignored in: <function X.__del__ at 0x7f>\n{TRACEBACK}{OOM}\n",
}
OWN = {
    "a bare error": f"{OOM}\n",
    "an entry of a structured log": f'{{"level": "error", "time": "2026-01-01T00:00:00Z", "on": "{OOM}"}}\n',
    "the message of an entry": f'{{"msg": "{OOM}"}}\n',
    "logfmt": f'ts=2026-01-01T00:00:00Z level=error msg="{OOM}"\n',
    "a group of exceptions": f"""  + Exception Group Traceback (most recent call last):
  | ExceptionGroup: x (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    | {OOM}
    +------------------------------------
""",
    "a turn that was cut off and then the crash": f"<|im_start|>assistant\nAll is\n{TRACEBACK}{OOM}\n",
    "a turn that ended": f"<|im_start|>user\nhi<|im_end|>\n{TRACEBACK}{OOM}\n",
    "what tokens are special": f"special: ['<|im_start|>', '<|im_end|>']\n{OOM}\n",
    "an error after one that was skipped": f"{OOM}; skipping this batch\n{OOM}\n",
    "what a job says in quotes": f"[ERROR] job 3 failed: '{OOM}'\n",
    "what a program returned": f"result='{OOM}'\n",
    "an exception as Python writes it": f"'{OOM}'\n",
    "a crash after a warning": f"t.py:3: UserWarning: dtype raises an error in some cases and is ignored\n{TRACEBACK}{OOM}\n",
    "a crash after a notice": f"The argument torch_dtype is ignored.\n{TRACEBACK}{OOM}\n",
    "a list without a head": f"Two things failed:\n- {OOM}\n",
    "a name in apostrophes before it": f"worker 'a': {OOM}\n",
}


@pytest.mark.parametrize("what", FOREIGN)
def test_text_that_is_not_the_runs_own_is_no_message(what: str) -> None:
    assert fatal(FOREIGN[what]) == set()


@pytest.mark.parametrize("what", OWN)
def test_the_runs_own_message_counts(what: str) -> None:
    assert "cuda.oom" in fatal(OWN[what])


@pytest.mark.parametrize("what", [*FOREIGN, *OWN])
def test_it_does_not_matter_how_the_bytes_came(what: str) -> None:
    text = {**FOREIGN, **OWN}[what] + "bye\n"
    whole = fatal(text)
    assert {frozenset(fatal(text, cut=cut)) for cut in range(1, len(text.encode()), 3)} == {frozenset(whole)}


def test_a_conversation_among_the_lines_of_a_worker_hides_nothing_of_another() -> None:
    log = f"(A pid=1) <|im_start|>user\n(B pid=2) {OOM}\n(A pid=1) Killed\n(A pid=1) hi<|im_end|>\n"
    assert fatal(log) == {"cuda.oom"}


def test_among_thousands_of_bars_a_turn_that_was_cut_off_ends_with_the_next_one() -> None:
    bars = "".join(f"Epoch 1:  12%|#         | {step}/9000 [00:12<01:28,  1.00s/it]\n" for step in range(1, 3_000))
    assert fatal(f"{bars}<|im_start|>user\nhi\n{bars}{OOM}\n") == {"cuda.oom"}
    assert fatal(f"{bars}<|im_start|>user\n{OOM}\n{bars}") == set()
