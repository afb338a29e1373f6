"""The GPUs pane row by row, as it stands on the screen at 56, 80 and 120 cells."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pytest

from hangtop.common.text import ascii_only
from hangtop.records.gpu import Gpu, GpuProcess, GpuReading, MigInstance, NodeGpus
from hangtop.render.gpu_head import nodes_summary, short_name, summary
from hangtop.render.gpu_nodes import node_rows, node_table
from hangtop.render.gpu_rows import gpu_rows, table_rows
from hangtop.render.jitter_filter import settle
from hangtop.render.spans import Row, width_of
from hangtop.state.gpu_history import fold_gpus

G = 2**30
START = 1_000_000.0
END = START + 120


def gpu(index: int, at: float, **values: Any) -> Gpu:
    well: dict[str, Any] = {
        "status": "ok", "read_at": at, "uuid": f"GPU-{index}", "name": "NVIDIA H100 80GB HBM3", "limit_w": 700.0,
        "util_percent": 97.0, "power_w": 611.0, "used_bytes": 61 * G, "temperature_c": 62.0, "minor": index,
    }  # fmt: skip
    return Gpu(index, **{**well, **values})


def watched(count: int = 8, hung_from: float = math.inf, seconds: int = 120, **odd: Any) -> NodeGpus:
    """Two minutes of a run; from `hung_from` on all spin but GPU 3, which idles."""
    known: NodeGpus | None = None
    for second in range(0, seconds + 1, 5):
        at = START + second
        hung = {"util_percent": 100.0, "power_w": 92.0, "temperature_c": 45.0} if at >= hung_from else {}
        culprit = {**hung, "util_percent": 0.0, "power_w": 71.0} if hung else odd
        gpus = tuple(gpu(i, at, **(culprit if i == 3 else hung)) for i in range(count))
        known = fold_gpus(known, GpuReading(gpus=gpus), at)
    assert known is not None
    return known


def lines(rows: Iterable[Row]) -> list[str]:
    return ["".join(text for text, _ in row).rstrip() for row in rows]


def table(node: NodeGpus, width: int, *, trouble: bool = False, now: float = END) -> list[str]:
    return lines(table_rows(gpu_rows(node, now, trouble=trouble), width))


def head(node: NodeGpus, *, trouble: bool = False, now: float = END) -> str:
    return "".join(text for text, _ in summary(gpu_rows(node, now, trouble=trouble)))


def roles(row: Row, text: str) -> str:
    return next(role for said, role in row if said.strip() == text)


def test_a_run_that_is_well() -> None:
    node = watched()
    assert head(node) == "8 × H100 80G · limit 700 W"
    assert table(node, 56)[:2] == [
        "  gpu  util %        power W      mem G   °C trend",
        "    0  ━━━━━━━━  97  ━━━━━─  611   61.0   62 ▅▅▅▅▅▅",
    ]


def test_a_table_in_which_nothing_changed_is_not_built_again() -> None:
    node = watched()
    before, after = (table_rows(gpu_rows(node, END, trouble=False), 120) for _ in range(2))
    assert before is after
    assert table_rows(gpu_rows(node, END, trouble=False), 56) != before


def test_nothing_is_coloured_while_the_run_is_well() -> None:
    waiting = watched(hung_from=START)
    for row in table_rows(gpu_rows(waiting, END, trouble=False), 56)[1:]:
        assert not {role for _, role in row} & {"bad", "bad bold", "warn"}
    assert table(waiting, 56)[4].startswith("    3  ────────   0")  # no sign, no move
    assert table(waiting, 56)[1].startswith("~   0")


def test_the_idle_gpu_of_a_hung_run_stands_first_and_alone_in_red() -> None:
    node = watched(hung_from=START + 60)
    assert head(node, trouble=True) == "1 idle · 7 busy-wait · limit 700 W"
    rows = table_rows(gpu_rows(node, END, trouble=True), 56)
    assert lines(rows)[1:3] == [
        "▸   3  ────────   0  ╸─────   71   61.0   45 ▅▅▅▂▂▂",
        "~   0  ━━━━━━━━ 100  ━─────   92   61.0   45 ▅▅▅▂▂▂",
    ]
    assert roles(rows[1], "3") == "bad bold"
    assert roles(rows[1], "0") == "bad"
    assert roles(rows[2], "~") == "warn"
    assert roles(rows[2], "100") == "ink"
    assert [line[4] for line in lines(rows)[1:]] == list("30124567")


def test_a_lost_gpu_says_why_in_its_own_place_and_old_values_have_their_age() -> None:
    node = watched(count=8)
    silent = [gpu(i, END, status="no answer", since=END) for i in range(8)]
    silent[5] = gpu(5, END - 4, status="lost", why="fell off the bus", xid=79)
    node = fold_gpus(node, GpuReading(gpus=tuple(silent), stuck_since=END), END + 40)
    now = END + 40
    assert head(node, now=now) == "no answer for 40s · old values below"
    assert table(node, 56, now=now)[:3] == [
        "  gpu  util %        power W      mem G   °C value of",
        "▸   5  lost: fell off the bus (Xid 79)       40s ago",
        "    0  ━━━━━━━━  97  ━━━━━─  611   61.0   62 40s ago",
    ]
    rows = table_rows(gpu_rows(node, now, trouble=True), 56)
    assert roles(rows[2], "611") == "stale"
    assert roles(rows[1], "lost: fell off the bus (Xid 79)") == "bad bold"


def test_one_silent_gpu_stands_out_among_live_ones() -> None:
    node = watched()
    gpus = [gpu(i, END + 12) for i in range(8)]
    gpus[6] = gpu(6, END, status="no answer", since=END)
    node = fold_gpus(node, GpuReading(gpus=tuple(gpus)), END + 12)
    assert head(node, now=END + 12) == "1 no answer · limit 700 W"
    assert table(node, 56, now=END + 12)[1] == "▸   6  ━━━━━━━━  97  ━━━━━─  611   61.0   62 10s ago"


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"status": "reset needed", "why": "sudo nvidia-smi -r"}, "▸   3  reset needed: sudo nvidia-smi -r      <5s ago"),
        ({"status": "unknown error", "why": "no reason given"}, "▸   3  unknown error: no reason given        <5s ago"),
        ({"status": "not supported", "why": "it gives no values"}, "    3  not supported: it gives no values     <5s ago"),
        ({"status": "no permission", "read_at": None, "why": "refused"}, "    3  no permission: refused"),
        ({"status": "late", "read_at": None}, "    3  late: it never gave a value"),
        ({"status": "reading", "read_at": None}, "    3  reading …"),
    ],
)  # fmt: skip
def test_each_trouble_has_its_own_words(values: dict[str, Any], line: str) -> None:
    shown = next(row for row in table(watched(**values), 56) if "   3  " in row[:8])
    assert shown == line


def test_unknown_is_a_question_mark_and_never_a_zero() -> None:
    blank = watched(count=1)
    node = fold_gpus(
        None, GpuReading(gpus=(gpu(0, END, util_percent=None, power_w=None, used_bytes=None, temperature_c=None),)), END
    )
    assert table(node, 56)[1].split() == ["0", "────────", "?", "──────", "?", "?", "?"]
    assert "?" not in table(blank, 56)[1]


@pytest.mark.parametrize("width", [30, 40, 56, 80, 120, 200])
def test_no_row_is_wider_than_its_pane(width: int) -> None:
    node = watched(hung_from=START + 60, sm_clock_mhz=1755, pcie_rx_bytes_s=9e7, pcie_tx_bytes_s=1e8, pstate=0)
    assert all(width_of(row) <= width for row in table_rows(gpu_rows(node, END, trouble=True), width))


def test_narrow_panes_keep_the_numbers_and_wide_ones_add_columns() -> None:
    node = watched(
        sm_clock_mhz=1755, pcie_rx_bytes_s=9e7, pcie_tx_bytes_s=1e8, nvlink_rx_bytes_s=1.8e10, nvlink_tx_bytes_s=1.8e10, pstate=0
    )  # GPU 3
    assert table(node, 36)[0].split() == ["gpu", "util", "%", "W", "mem", "G"]
    assert "°C" in table(node, 56)[0]
    assert table(node, 120)[0].split()[-7:] == ["trend", "MHz", "PCIe", "in/out", "NVLink", "in/out", "P"]
    assert "1,755    85.8M/95.4M    16.8G/16.8G" in table(node, 120)[4]


def test_remarks_stand_beside_the_numbers_when_there_is_room() -> None:
    hot = watched(throttle=("hot (hardware)",), mig=(MigInstance(0), MigInstance(1)))
    shown = next(line for line in table(hot, 120, trouble=True) if "   3 " in line[:6])
    assert shown.endswith("62 °C, held back: hot (hardware)")
    narrow = next(line for line in table(hot, 80, trouble=True) if "   3 " in line[:6])
    assert narrow.endswith("  hot")


def test_ranks_stand_beside_their_gpu() -> None:
    rows = gpu_rows(watched(), END, trouble=False, ranks={0: (8,), 1: (9, 10)})
    shown = lines(table_rows(rows, 80))
    assert [line.split()[:2] for line in shown[:3]] == [["gpu", "rank"], ["0", "8"], ["1", "9-10"]]


def test_the_table_without_utf8_is_as_wide_and_says_the_same() -> None:
    for line in table(watched(hung_from=START + 60), 56, trouble=True):
        plain = ascii_only(line)
        assert plain.isascii()
        assert len(plain) == len(line)
    assert ascii_only(table(watched(hung_from=START + 60), 56, trouble=True)[1]).startswith(">   3  --------   0  =-----   71")


def test_many_nodes_show_means_with_the_odd_ones_first() -> None:
    nodes = {f"n{i}": watched(hung_from=START if i == 9 else START + 600) for i in range(12)}
    nodes["n8"] = fold_gpus(nodes["n8"], GpuReading(stuck_since=END, stuck_in="nvmlInit"), END)
    rows = node_rows(nodes, END, trouble=True)
    shown = lines(node_table(rows, 100, 8))
    assert shown[0].split() == ["node", "gpus", "util", "%", "power", "W", "mem", "G", "°C", "age", "trend", "odd"]
    assert shown[1].startswith("▸ n9       8  ━━━━━━━─  88  ━─────   89   61.0   45")
    assert shown[1].endswith("GPU 3 at 0 %")
    assert shown[2].startswith("  n8 ")
    assert shown[2].endswith("late")
    assert shown[3].split()[0] == "n0"
    assert shown[-1] == "  and 6 nodes like these"
    said = "".join(text for text, _ in nodes_summary(rows, END, trouble=True))
    assert said == "88 of 96 answer · 1 idle · 7 busy-wait · means per node, limit 700 W"


def test_numbers_stand_still_within_their_noise_and_move_after_five_seconds() -> None:
    def node(at: float, util: float) -> NodeGpus:
        return fold_gpus(None, GpuReading(gpus=(gpu(0, at, util_percent=util),)), at)

    shown = settle({}, node(END, 97.0), END)
    shown = settle(shown, node(END + 1, 95.0), END + 1)
    rows = gpu_rows(node(END + 9, 95.0), END + 9, trouble=False, shown={0: shown[0].gpu})
    assert (rows[0].gpu.util_percent, rows[0].fresh) == (97.0, True)
    assert settle(shown, node(END + 2, 90.0), END + 2)[0].gpu.util_percent == 90.0
    assert settle(shown, node(END + 5, 95.0), END + 5)[0].gpu.util_percent == 95.0


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 80G"),
        ("NVIDIA A100-SXM4-40GB", "A100-SXM4-40G"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        (None, "GPU"),
    ],
)
def test_names_are_short(name: str | None, short: str) -> None:
    assert short_name(name) == short


def test_each_mig_instance_has_a_row_with_its_memory_and_its_processes() -> None:
    parts = (MigInstance(0, "NVIDIA H100 80GB HBM3 MIG 1g.10gb", instance=7, used_bytes=G, total_bytes=10 * G), MigInstance(1))
    node = watched(mig=parts, processes=(GpuProcess(4711, G, instance=7), GpuProcess(4712, G)))
    rows = table(node, 56)
    at = next(place for place, row in enumerate(rows) if row.split()[0] == "3")
    assert rows[at + 1 : at + 3] == ["      └ MIG 0 1g.10gb     1.0 of 10.0 G  pid 4711", "      └ MIG 1 instance    ? of ?"]


def test_memory_that_grows_has_its_slope_where_there_is_little_room() -> None:
    known: NodeGpus | None = None
    for second in range(0, 1_801, 10):
        gpus = (gpu(0, START + second), gpu(1, START + second, used_bytes=61 * G + second * G // 900))
        known = fold_gpus(known, GpuReading(gpus=gpus), START + second)
    assert known is not None
    now = START + 1_800
    assert head(known, now=now) == "1 with growing memory · limit 700 W"
    assert table(known, 80, now=now)[2].endswith("+4.0 G/h")


def test_a_gpu_of_the_run_that_idles_for_long_is_named_while_the_run_goes_on() -> None:
    node, now = watched(seconds=310, util_percent=0.0, power_w=71.0), START + 310
    assert any("1 idle" in line for line in lines([summary(gpu_rows(node, now, trouble=False, of_run=range(8)))]))
    assert not any("1 idle" in line for line in lines([summary(gpu_rows(node, now, trouble=False, of_run=range(3)))]))
    assert "1 idle" not in head(node, now=now)
    assert "1 idle" not in head(node, now=START + 60)
