"""Login names of user ids, read through a guard: a name server may be down."""

from __future__ import annotations

import pwd
from functools import partial

from hangtop.system.guard import Guard


class Users:
    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._guard: Guard[int, str] = Guard()

    def name(self, uid: int | None) -> str | None:
        """The login name, or the number if there is none or no answer in time."""
        if uid is None:
            return None
        if uid not in self._names:
            self._names |= self._guard.known({uid: partial(_name, uid)})
        return self._names.get(uid, str(uid))


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
