"""`hangtop explain`: by id, by message as it stands in a log, by setting, in two languages."""

from __future__ import annotations

import io

import pytest

from hangtop.commands.explain import run


def explain(query=None, *, listing=False, lang="en", framework=None, stdin=""):
    out = io.StringIO()
    code = run(query, listing=listing, lang=lang, framework=framework, out=out, stdin=io.StringIO(stdin))
    return code, out.getvalue()


def test_an_id_gives_meaning_ordered_fixes_with_their_place_and_sources():
    code, text = explain("nccl.watchdog_timeout")
    assert code == 0
    assert text.startswith("nccl.watchdog_timeout  fatal · a victim")
    assert text.index("What it means") < text.index("What to do, in this order") < text.index("  1. ") < text.index("  2. ")
    assert "environment:  TORCH_NCCL_TRACE_BUFFER_SIZE=2000" in text
    assert "What the usual advice gets wrong\n  NCCL_TIMEOUT is read by neither" in text
    assert "pytorch/pytorch#118369" in text


def test_a_framework_leaves_out_the_fixes_of_others():
    _, text = explain("nccl.watchdog_timeout", framework="verl")
    assert "actor_rollout_ref.nccl_timeout=7200" in text
    assert "ddp_timeout" not in text.split("What the usual")[0]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("CUDA out of memory. Tried to allocate", "cuda.oom "),
        ("[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has", "cuda.oom "),
        ("\x1b[36m(WorkerDict pid=1)\x1b[0m RuntimeError: CUDA error: device-side assert triggered", "cuda.device_assert "),
        ("2026-01-11T10:00:00.0Z stderr F OSError: [Errno 28] No space left on device", "fs.no_space "),
        ("undefined symbol", "env.undefined_symbol "),
    ],
)
def test_a_message_as_it_stands_in_a_log_is_found(query, first):
    code, text = explain(query)
    assert code == 0
    assert text.startswith(first)


def test_text_on_stdin_puts_causes_before_victims_and_summaries():
    log = (
        "[rank0]: torch.distributed.DistBackendError: NCCL communicator was aborted on rank 0.\n"
        "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    )
    code, text = explain("-", stdin=log)
    assert code == 0
    assert text.index("cuda.oom ") < text.index("nccl.aborted ") < text.index("elastic.child_failed ")


def test_a_setting_says_who_reads_it_and_what_works_instead():
    code, text = explain("export NCCL_TIMEOUT=600")
    assert code == 0
    assert "Read by\n  nobody" in text
    assert "Instead" in text
    assert "minutes" in explain("DEEPSPEED_TIMEOUT")[1]


def test_chinese_pages_have_chinese_cause_and_fixes():
    code, text = explain("cuda.oom", lang="zh")
    assert code == 0
    assert "显存" in text
    assert "处理办法" in text


def test_the_list_names_every_message_once():
    code, text = explain(listing=True)
    ids = [line.split()[0] for line in text.splitlines() if line.startswith("  ")]
    assert code == 0
    assert len(ids) == len(set(ids)) >= 164


@pytest.mark.parametrize("query", ["nccl.watchdog_timeot", "zzzzqqqq"])
def test_what_fits_nothing_ends_with_2_and_the_nearest(query):
    code, text = explain(query)
    assert code == 2
    assert text.startswith("Nothing known fits.")
    assert ("nccl.watchdog_timeout" in text) == ("watchdog" in query)


@pytest.mark.parametrize("query", [None, "", "  "])
def test_nothing_asked_is_said_in_one_line(query):
    code, text = explain(query)
    assert code == 2
    assert text.count("\n") == 1


def test_text_on_stdin_without_a_known_message_ends_with_2():
    assert explain("-", stdin="all is well\n")[0] == 2
