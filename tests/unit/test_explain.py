"""`hangtop explain`: by id, by message as it stands in a log, by setting, in two languages."""

from __future__ import annotations

import io

import pytest

from hangtop.cli.commands.explain import run
from hangtop.diagnosis.explanation import page, setting_page
from hangtop.logs.catalog.load import load


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
    _, text = explain("nccl.watchdog_timeout", framework="")
    assert "actor_rollout_ref.nccl_timeout=7200" not in text, "a framework without a name is none that has fixes of its own"


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
    assert "Read by\n  only scripts that read it themselves" in text
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


WRAPPED = {
    "after a word": "[rank3]: torch.OutOfMemoryError: CUDA out of\n memory. Tried to allocate 2.00 GiB.",
    "within a word": "RuntimeError: CUDA error: device-si\nde assert triggered",
    "over three lines": "[rank1]:[E304 10:11:30.9 P.cpp:632] Watchdog caught\ncollective operation\ntimeout: WorkNCCL(SeqNum=26)",
    "quoted in a mail": "> torch.OutOfMemoryError: CUDA out of\n> memory. Tried to allocate 2.00 GiB.",
}


@pytest.mark.parametrize("how", WRAPPED)
def test_a_message_that_a_terminal_has_wrapped_is_found(how):
    code, text = explain("-", stdin=WRAPPED[how])
    assert code == 0
    assert text.split()[0] in {"cuda.oom", "cuda.device_assert", "nccl.watchdog_timeout"}


@pytest.mark.parametrize("query", ["cuda oom", "CUDA_OOM", "cuda.OOM"])
def test_an_id_may_be_spelled_in_any_way(query):
    assert explain(query)[1].startswith("cuda.oom ")


@pytest.mark.parametrize(
    ("query", "near"),
    [
        ("nccl.wachdog_timeout", "nccl.watchdog_timeout"),
        ("ray.actor_dead", "ray.actor_died"),
        ("port in use", "dist.port_in_use"),
    ],
)
def test_what_is_nearly_an_id_names_it_first(query, near):
    code, text = explain(query)
    assert code == 2
    assert f"The nearest known: {near}" in text


def test_a_page_is_wholly_in_one_language():
    catalog = load(lang="zh")
    pages = [(page(each, "zh"), each.speaks_zh) for each in catalog.signatures.values()]
    pages += [(setting_page(each, "zh"), bool(each.truth_zh)) for each in catalog.settings.values()]
    for text, chinese in pages:
        assert ("含义" in text, "What it means" in text) == (chinese, not chinese), text


def test_a_setting_is_found_by_its_full_name_too():
    assert explain("init_process_group(timeout=)")[0] == 0
