"""A few examples of every reader of `tests.fuzz`, the same in every run, and what it has found before."""

from __future__ import annotations

import msgspec
import pytest

from hangtop.probe.nodes.node_gpus import CLOCK, INDEX, PSTATE, TOTAL, USED, NodeGpusTold, gpu_reading
from hangtop.probe.ray.dashboard import api_schema
from hangtop.query.tables import Step
from hangtop.query.whole_run import NoTimeError, whole_run
from hangtop.records import wire
from tests.fuzz import forests
from tests.fuzz.__main__ import tried
from tests.fuzz.readers import READERS, Reader


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_mutated_input_is_read_or_refused(reader: Reader) -> None:
    tried(reader, 12, same=True)


@pytest.mark.parametrize(
    "line", [b'{"source":"\x80log","host":"n1","at":1.0,"value":{"type":"beat"}}', b"\xff\xfe", b'{"file":"ha\x80"}']
)
def test_a_line_that_is_not_utf8_is_no_record(line: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.decode_reading(line)
    with pytest.raises(wire.WireError):
        wire.decode_header(line)


@pytest.mark.parametrize("body", [b'{"data":{"\xff":1}}', b'[{"job_id":"\x80"}]'])
def test_an_answer_that_is_not_utf8_is_of_unknown_shape(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        api_schema.data_of(body, dict[str, int])
    with pytest.raises(msgspec.DecodeError):
        api_schema.jobs_of(body)


@pytest.mark.parametrize(("column", "word"), [(USED, "inf"), (TOTAL, "nan"), (CLOCK, "1e999"), (PSTATE, "Pinf"), (INDEX, "²")])
def test_a_gpu_of_a_node_has_finite_numbers_or_none(column: int, word: str) -> None:
    row = ["0", "GPU-1", "H100", "0000:01", "9", "3", "100", "81559", "70", "700", "33", "1980", "1980", "P0", "570"]
    row[column] = word
    gpu_reading(NodeGpusTold(1.0, (tuple(row),), (("GPU-1", "²", "inf", True),)), 1, 0.0, None)


@pytest.mark.parametrize("at", [-1.0, 1e12, 1e300])
def test_a_time_beyond_every_calendar_is_not_drawn(at: float) -> None:
    with pytest.raises(NoTimeError):
        whole_run([Step("run", 1_768_000_000.0, 0, 1, None, None, "step"), Step("run", at, 0, 2, None, None, "step")])


@pytest.mark.parametrize("number", [0, 370])
def test_a_ring_of_parents_ends(number: int) -> None:
    """Stale lines of a process table: the climb from a member to its parents went round for ever."""
    for near in range(number, number + 40):
        forests.judged(near.to_bytes(3, "big"))
