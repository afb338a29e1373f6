"""A person's own files where HOME is another user's, as after `sudo -u`: hangtop works without them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hangtop.common.own_files import own_files
from hangtop.logs.catalog.load import load
from hangtop.translations.pairs import user_pairs
from hangtop.tui.themes import load_palettes


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[Path]:
    """A folder that we may not enter, in which something lies."""
    folder = tmp_path / "hangtop"
    (folder / "themes").mkdir(parents=True)
    (folder / "themes" / "mine.toml").write_text("nothing")
    folder.chmod(0)
    own = os.geteuid()
    if own == 0:
        os.seteuid(65534)
    yield folder
    os.seteuid(own)
    folder.chmod(0o700)


def test_what_may_not_be_read_is_as_what_is_not_there(theirs: Path) -> None:
    assert own_files(theirs / "themes", ".toml") == []
    assert user_pairs("zh", theirs) == ([], "")
    assert load_palettes(theirs, pytest.fail) == load_palettes()
    assert load(theirs).profiles == load().profiles
