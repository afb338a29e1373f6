"""A few examples of every reader of `tests.fuzz`, the same in every run, and what it has found before."""

from __future__ import annotations

import msgspec
import pytest

from hangtop.probe.ray.dashboard import api_schema
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


@pytest.mark.parametrize("number", [0, 370])
def test_a_ring_of_parents_ends(number: int) -> None:
    """Stale lines of a process table: the climb from a member to its parents went round for ever."""
    for near in range(number, number + 40):
        forests.judged(near.to_bytes(3, "big"))
