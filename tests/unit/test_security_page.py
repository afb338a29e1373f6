"""Each row of SECURITY.md names tests, and they are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_threat_names_tests_that_exist() -> None:
    rows = [line for line in (ROOT / "hangtop/SECURITY.md").read_text().splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 12
    for row in rows:
        named = re.findall(r"`(tests/\S+\.py)`", row)
        assert named, row
        assert [path for path in named if not (ROOT / path).is_file()] == []
