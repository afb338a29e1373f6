"""What a rank's GPU says of itself stands on the page of the rank, where it differs from its peers'."""

from __future__ import annotations

from types import MappingProxyType

from msgspec.structs import replace

from hangtop.records.gpu import Gpu, GpuReading
from hangtop.records.rank import Rank
from hangtop.render.rank_details import fact_rows, gpu_facts
from hangtop.state.gpu_history import fold_gpus
from hangtop.state.run_state import RunState

NOW = 1_000.0


def told(*gpus: Gpu) -> list[str]:
    """The lines of rank 0, which computes on the first of these GPUs."""
    node = fold_gpus(None, GpuReading(gpus=gpus), NOW)
    state = RunState(gpus=MappingProxyType({"n1": node}))
    ranks = [Rank(gpu.index, host="n1", gpu=gpu.index) for gpu in gpus]
    rows = fact_rows(ranks[0], ranks[1:], NOW, 60, "bad", gpu_facts(state))
    return [" ".join("".join(word for word, _ in row).split()) for row in rows]


def test_xid_memory_errors_and_what_holds_the_clocks_back_are_told_where_ranks_differ() -> None:
    peers = [Gpu(index, "ok", NOW, read_at=NOW, sm_clock_mhz=1755, ecc_uncorrected=0) for index in range(4)]
    sick = replace(peers[0], xid=79, ecc_uncorrected=3, throttle=("hot (hardware)",), sm_clock_mhz=345)
    lines = told(sick, *peers[1:])
    for line in ("▸ Xid 79 none", "▸ ECC errors 3 0", "▸ held back hot (hardware) no", "▸ GPU clock 345 MHz 1,755 MHz"):
        assert line in lines
    well = told(*peers)
    assert "GPU clock 1,755 MHz 1,755 MHz" in well
    assert not any(line.split(" ")[0] in ("Xid", "ECC", "held") for line in well)


def test_what_goes_over_the_links_is_one_number_both_ways() -> None:
    links = {"pcie_rx_bytes_s": 90e6, "pcie_tx_bytes_s": 10e6, "nvlink_rx_bytes_s": 0.0, "nvlink_tx_bytes_s": 0.0}
    busy = {**links, "nvlink_rx_bytes_s": 9e9, "nvlink_tx_bytes_s": 9e9}
    idle, *peers = (Gpu(index, "ok", NOW, read_at=NOW, **(busy if index else links)) for index in range(4))
    lines = told(idle, *peers)
    assert "PCIe 100 MB/s 100 MB/s" in lines
    assert "▸ NVLink 0.0 MB/s 18,000 MB/s" in lines
