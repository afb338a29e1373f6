"""A log given as text, read as a whole."""

from __future__ import annotations

from itertools import pairwise

from hangtop.logs.catalog.load import load
from hangtop.logs.digest import Digest
from hangtop.logs.extract.literal_index import index_of
from hangtop.logs.joined_logs import join_logs
from hangtop.records.log import LogFile, LogReading

INDEX = index_of(load())


def read(text: str, *cuts: int) -> LogReading:
    """The log, read in one piece or cut, all that is known asked for after each."""
    data = text.encode()
    digest = Digest(INDEX, 0)
    for begin, end in pairwise([0, *sorted(cuts), len(data)]):
        digest.feed(data[begin:end])
        digest.facts()
    return join_logs([digest.facts()], [LogFile("train.log", size_bytes=len(data), scanned_bytes=len(data))], INDEX.catalog)
