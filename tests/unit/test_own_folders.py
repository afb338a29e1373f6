"""The folders of hangtop are those that platformdirs names, whatever the environment says."""

from __future__ import annotations

import pytest
from platformdirs import user_config_path, user_state_path

from hangtop.system.own_folders import config_folder, state_folder

HOMES = ("/home/ada", "relative", "", None)
TOLD = ("/somewhere/else", "relative", "", " ", None)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("told", TOLD)
def test_as_platformdirs_says(home: str | None, told: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("HOME", home), ("XDG_CONFIG_HOME", told), ("XDG_STATE_HOME", told)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert config_folder() == user_config_path("hangtop")
    assert state_folder() == user_state_path("hangtop")
