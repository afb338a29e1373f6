"""Tests that only wait for processes of their own are played at the same time, in a thread each.

Mark them `side_by_side`, and with one `xdist_group` those of a module: each worker that gets one of them plays all. The first of
them plays all that were chosen; each tells its own end. They may use parameters and `tmp_path`.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import pytest

MARK = "side_by_side"
Played = dict[pytest.Item, "Future[None]"]
PLAYED = pytest.StashKey[Played]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}: it only waits, and is played while the others of its module are")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if pyfuncitem.get_closest_marker(MARK) is None:
        return None
    assert pyfuncitem.get_closest_marker("xdist_group") is not None, (
        "without a group, each worker that gets one plays all of them"
    )
    played = pyfuncitem.session.stash.setdefault(PLAYED, {})
    if pyfuncitem not in played:
        played |= _played([each for each in pyfuncitem.session.items if _is_beside(each, pyfuncitem)], pyfuncitem)
    played[pyfuncitem].result()
    return True


def _is_beside(item: pytest.Item, first: pytest.Function) -> bool:
    return isinstance(item, pytest.Function) and item.module is first.module and item.get_closest_marker(MARK) is not None


def _played(items: list[pytest.Item], first: pytest.Function) -> Played:
    """All begun, and those that are at their end told later."""
    folders = first._request.getfixturevalue("tmp_path_factory")
    pool = ThreadPoolExecutor(len(items))
    played = {}
    for number, item in enumerate(items):
        assert isinstance(item, pytest.Function)
        params = item.callspec.params if hasattr(item, "callspec") else {}
        given = {name: params[name] for name in item._fixtureinfo.argnames if name in params}
        if "tmp_path" in item._fixtureinfo.argnames:
            given["tmp_path"] = folders.mktemp(f"beside-{number}")
        played[item] = pool.submit(item.obj, **given)
    pool.shutdown(wait=False)
    return played
