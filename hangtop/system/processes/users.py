"""Login names of user ids. Asked through a guard: a name server that is down would hold up the answer."""

from __future__ import annotations

import pwd
from functools import partial

from hangtop.system.guard import Guard


class Users:
    """Names that were asked for once are remembered."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._guard: Guard[int, str] = Guard()

    def name(self, uid: int | None) -> str | None:
        """The login name, or the number where there is none or nobody answers in time."""
        if uid is None:
            return None
        if uid not in self._names:
            answer = self._guard.ask({uid: partial(_name, uid)}).get(uid)
            if not isinstance(answer, str):
                return str(uid)
            self._names[uid] = answer
        return self._names[uid]


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
