"""The machine's own signals: how they are read, and which of them are said of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from hangtop.common.decode_toml import decode_toml
from hangtop.diagnosis.facts.host_signals import killed_for_memory, sent_again, slow_signals, troubles
from hangtop.records.host_signals import FabricPort, HostSignals, KernelEvent, ServedMount
from hangtop.records.process import Process, ProcessReading
from hangtop.records.waiting import TcpSocket
from hangtop.records.watched_waits import SocketMoves, WaitsReading, WatchedProcess
from hangtop.state.run_state import RunState
from hangtop.system.host_signals import kernel_log
from hangtop.system.host_signals.fabric import FabricReader
from hangtop.system.host_signals.kernel_log import parse_record
from hangtop.system.host_signals.rates import RateReader, crowded
from hangtop.system.host_signals.served_mounts import MountReader, parse_lustre

MESSAGES = decode_toml((Path(kernel_log.__file__).parent / "kernel_messages.toml").read_text(), kernel_log._Messages).message


class TestKernelLog:
    @pytest.mark.parametrize("message", MESSAGES, ids=lambda message: f"{message.kind} {message.contains}")
    def test_each_message_is_told_from_its_example(self, message):
        event = parse_record(f"3,100,2000000,-;{message.example}\n SUBSYSTEM=x", 1_000.0)
        assert event is not None
        assert (event.kind, event.at, event.text) == (message.kind, 1_002.0, message.example)
        assert "4711" not in message.example or event.pid == 4711 or message.kind == "server silent"

    def test_what_a_program_wrote_there_is_no_word_of_the_kernel(self):
        assert parse_record("12,100,2000000,-;NVRM: Xid (PCI:0000:3b:00): 79", 0.0) is None

    @pytest.mark.parametrize(
        "record", ["", "6,1", "6,1,x,-;NVRM: Xid (PCI:0:3b:00): 79", "6,1,2,-;usb 1-1: new device", "6,1,2,-;an error"]
    )
    def test_other_lines_are_left_out(self, record: str):
        assert parse_record(record, 0.0) is None


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


class TestFabric:
    def test_errors_count_from_the_first_look_and_traffic_from_the_last(self, tmp_path: Path):
        port = tmp_path / "mlx5_0" / "ports" / "1"
        write(port, state="4: ACTIVE", link_layer="InfiniBand", rate="400 Gb/sec (4X NDR)")
        write(port / "counters", symbol_error="7", port_xmit_data="100", port_rcv_data="0")
        reader = FabricReader(tmp_path)
        (first,) = reader.read(10.0)
        assert (first.name, first.state, first.errors, first.sent_b_s) == ("mlx5_0/1", "ACTIVE", {}, None)
        write(port / "counters", symbol_error="9", port_xmit_data="600")
        (second,) = reader.read(12.0)
        assert (second.errors, second.since_s, second.sent_b_s) == ({"symbol_error": 2}, 2.0, 1000.0)


STATS = """\
device proc mounted on /proc with fstype proc
device filer01:/data mounted on /mnt/data with fstype nfs4 statvers=1.1
    opts:	rw,vers=4.2
    per-op statistics
    NULL: 1 1 0 44 24 0 0 0
    READ: {ops} {sent} {late} 100 100 5 {waited} {waited} 0
"""


class TestServedMounts:
    def test_the_mean_is_that_of_the_requests_since_the_last_look(self):
        reader = MountReader(lustre=())
        assert reader.read(STATS.format(ops=10, sent=10, late=0, waited=100))[0].mean_ms is None
        (mount,) = reader.read(STATS.format(ops=14, sent=16, late=1, waited=4_100))
        assert mount == ServedMount("/mnt/data", "filer01:/data", 1000.0, 4, 2, 1)

    def test_a_mount_that_began_anew_starts_over(self):
        reader = MountReader(lustre=())
        reader.read(STATS.format(ops=10, sent=10, late=0, waited=100))
        assert reader.read(STATS.format(ops=2, sent=2, late=0, waited=9))[0].requests == 0

    def test_lustre_tells_the_sum_of_waits_in_microseconds(self):
        totals = parse_lustre("snapshot_time 1.0 secs.nsecs\nreq_waittime 8 samples [usec] 50 900 2400 9\n")
        assert (totals.requests, totals.waited_ms) == (8, 2.4)


SNMP = "Tcp: RtoMin OutSegs RetransSegs\nTcp: 200 {out} {again}\n"


def test_parts_and_rates_are_those_since_the_last_look(tmp_path: Path):
    write(tmp_path / "net", snmp=SNMP.format(out=1_000, again=0))
    write(tmp_path, vmstat="pswpin 0\npswpout 5\n")
    write(tmp_path / "cpus" / "cpu0" / "thermal_throttle", package_throttle_count="3")
    reader = RateReader(tmp_path, tmp_path / "cpus")
    assert reader.read(None, 10.0).again_part is None
    write(tmp_path / "net", snmp=SNMP.format(out=3_000, again=40))
    write(tmp_path, vmstat="pswpin 10\npswpout 5\n")
    write(tmp_path / "cpus" / "cpu0" / "thermal_throttle", package_throttle_count="5")
    rates = reader.read(None, 20.0)
    assert (rates.again_part, rates.swap_in_b_s, rates.swap_out_b_s, rates.throttled) == (0.02, 4096, 0, 2)


def test_more_processes_than_cores_that_they_may_use_are_crowded():
    assert crowded([(1, "0", 1), (2, "0", 1), (3, "1-4", 4), (4, "1-4", 4)]) == (("0", (1, 2)),)


RANK = Process(pid=40, started_at=100.0, start_ticks=1, ppid=1, name="python", command="python", state="S", role="rank", rank=3)


def state_of(*events: KernelEvent, ours: bool = True, **more) -> RunState:
    signals = HostSignals(kernel=events, pids_are_ours=ours, **more)
    return RunState(procs=ProcessReading(processes=(RANK,)), signals=signals)


class TestSaid:
    def test_of_pids_only_those_of_the_run_count(self):
        killed = [KernelEvent(150.0, "oom", "Killed process", pid=pid) for pid in (40, 41)]
        assert [line for line in troubles(state_of(*killed)) if "rank 3 was killed for want of memory" in line]
        assert len(troubles(state_of(*killed))) == 1
        assert troubles(state_of(*killed, ours=False)) == []

    def test_what_came_before_the_run_is_the_past(self):
        xid = KernelEvent(50.0, "xid", "NVRM: Xid", what="0000:3b:00", code=79)
        assert troubles(state_of(xid)) == []
        assert "Xid 79 of GPU 0000:3b:00" in troubles(state_of(KernelEvent(150.0, "xid", "x", what="0000:3b:00", code=79)))[0]

    def test_a_server_that_came_back_is_no_trouble(self):
        silent, back = KernelEvent(150.0, "server silent", "", what="filer"), KernelEvent(160.0, "server back", "", what="filer")
        assert "file server filer does not answer since" in troubles(state_of(silent))[0]
        assert troubles(state_of(silent, back)) == []

    def test_a_port_is_down_only_where_another_works(self):
        down, up = FabricPort("mlx5_1/1", "DOWN"), FabricPort("mlx5_0/1", "ACTIVE")
        assert troubles(state_of(ports=(down, up))) == ["port mlx5_1/1 is down"]
        assert troubles(state_of(ports=(down,))) == []

    def test_the_kernels_word_on_a_death_counts_within_the_life_of_the_process(self):
        killed = KernelEvent(150.0, "oom", "", pid=40)
        assert killed_for_memory(state_of(killed), RANK) == killed
        assert killed_for_memory(state_of(KernelEvent(20.0, "oom", "", pid=40)), RANK) is None
        assert killed_for_memory(state_of(killed, ours=False), RANK) is None

    def test_what_slows_it_down_has_its_page(self):
        signals = HostSignals(
            mounts=(
                ServedMount("/mnt", "filer", 1_200.0, 9),
                ServedMount("/home", "near", 3.0, 900),
                ServedMount("/x", "rare", 9e3, 1),
            ),
            again_part=0.02,
            quota_part=0.62,
            quota_cores=4.0,
            pinned=(("0", (40, 41)),),
        )
        assert [(fact.page, fact.text) for fact in slow_signals(signals, {40: 0, 41: 1})] == [
            ("slow_cores", "ranks 0-1 may run on core 0 alone"),
            ("slow_cores", "the CPU quota of 4 cores stops the run in 60 % of the periods"),
            ("slow_data", "filer (/mnt) takes 1.2 s for a request"),
            ("slow_network", "2% of the TCP segments of this machine are sent again"),
        ]

    def test_a_rank_that_loses_segments_is_named_with_the_connection_that_loses_most(self):
        rows = [
            TcpSocket(7, "10.0.0.1:1", f"10.0.0.{far}:2", "established", 0, segments_out=sent, segments_again=again)
            for far, sent, again in ((2, 1_000, 50), (3, 1_000, 20), (4, 10, 9))
        ]
        watched = WatchedProcess(40, 1, "S", "python", sockets=tuple(map(SocketMoves, rows)))
        state = RunState(waits=WaitsReading(1, started_at=0.0, processes=(watched,)))
        (fact,) = sent_again(state, {40: 3})
        assert (fact.page, fact.text) == ("slow_network", "rank 3 sends 5% of its segments to 10.0.0.2:2 again")

    def test_a_quiet_machine_says_nothing(self):
        assert slow_signals(HostSignals(again_part=0.0001, quota_part=0.0, quota_cores=8.0, swap_in_b_s=0, throttled=0), {}) == ()
