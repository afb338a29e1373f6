"""Notices are grouped, no more than one in a while, and that the run goes on is told at once."""

from __future__ import annotations

from hangtop.guard.notices import NoticeBox
from hangtop.guard.policy import Notices

TO = Notices(urls=("json://127.0.0.1/",), every=60)


def test_the_first_goes_at_once_and_later_ones_together() -> None:
    box = NoticeBox(TO)
    box.put("hung", "Rank 3 stands.")
    first = box.ready(0.0)
    assert first is not None
    assert (first.title, first.body) == ("hung", "Rank 3 stands.")
    box.put("nan", "loss: not a number")
    box.put("disk", "/data 99 % full")
    assert box.ready(59.0) is None
    second = box.ready(60.0)
    assert second is not None
    assert second.title == "disk"
    assert second.body == "nan\nloss: not a number\n\ndisk\n/data 99 % full"
    assert box.ready(600.0) is None


def test_that_it_goes_on_is_not_held_back() -> None:
    box = NoticeBox(TO)
    box.put("hung", "Rank 3 stands.")
    assert box.ready(0.0) is not None
    box.put("it goes on", "Running as before.", urgent=True)
    assert box.ready(1.0) is not None


def test_without_an_address_nothing_is_sent() -> None:
    box = NoticeBox(Notices())
    box.put("hung", "Rank 3 stands.")
    assert box.ready(0.0) is None
