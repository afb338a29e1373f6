"""An answer is kept while its arguments are the same, and no longer."""

from __future__ import annotations

from hangtop.common.memo import memoized


def test_the_same_record_is_asked_about_once_and_another_one_anew() -> None:
    asked: list[object] = []

    @memoized
    def first(records: tuple[str, ...], now: float, *, loud: bool = False) -> str:
        asked.append(records)
        return records[0].upper() if loud else records[0]

    record, other = ("a", "b"), ("c",)
    assert [first(record, 1.5), first(record, float("1.5")), first(record, 1.5)] == ["a", "a", "a"]
    assert len(asked) == 1
    assert first(record, 2.5) == "a"
    assert first(other, 2.5) == "c"
    assert first(other, 2.5, loud=True) == "C"
    assert first(other, 2.5) == "c"
    assert len(asked) == 5


def test_equal_records_are_not_taken_for_the_same_one() -> None:
    asked: list[object] = []

    @memoized
    def size(records: list[int]) -> int:
        asked.append(records)
        return len(records)

    assert size([1]) == size([1]) == 1
    assert len(asked) == 2
