"""Bytes like real ones, with a few of them changed, cut, doubled, or from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

ODD = (
    b"\x00", b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"\x1b]0;x\x07", b"\r", b"\n", b"-1", b"1e308", b"NaN", b"9" * 40,
    b"null", b"[]", b"{}", b'"', b"\\", b"(", b")", b" ", b"\xe2\x80\xae", b"[" * 600, b"0x", b"true",
)  # fmt: skip
"""What parsers stumble over."""


@st.composite
def mutated(draw: st.DrawFn, examples: Sequence[bytes], most: int = 4) -> bytes:
    """One of the examples after up to `most` changes."""
    data = draw(st.sampled_from(examples))
    for _ in range(draw(st.integers(0, most))):
        begin = draw(st.integers(0, len(data)))
        end = min(len(data), begin + draw(st.integers(0, 40)))
        kind = draw(st.sampled_from(("odd", "cut", "double", "bytes")))
        middle = data[begin:end]
        new = {
            "odd": draw(st.sampled_from(ODD)) if kind == "odd" else b"",
            "cut": b"",
            "double": middle * 2,
            "bytes": draw(st.binary(max_size=8)) if kind == "bytes" else b"",
        }[kind]
        data = data[:begin] + new + data[end:]
    return data
