"""The command palette: every key's command, found by its words, with its key; a command that does nothing now says why."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import cast

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider

from hangtop.translations import say
from hangtop.tui.keys import ACT, LOOK, REPLAY, Key
from hangtop.tui.shell import Shell

ITSELF = "palette"


class KeyCommands(Provider):
    """The commands of the tables of keys."""

    async def discover(self) -> Hits:
        for text, key in self._commands():
            yield DiscoveryHit(text, partial(self._do, key), text, self._help(key))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for text, key in self._commands():
            if (score := matcher.match(text)) > 0:
                yield Hit(score, matcher.highlight(text), partial(self._do, key), text, self._help(key))

    def _commands(self) -> Iterator[tuple[str, Key]]:
        """What acts on the run first."""
        replay = REPLAY if self._hangtop.replay is not None else ()
        for key in (*ACT, *LOOK, *replay):
            if key.action and key.action != ITSELF:
                yield f"{self._hangtop.keymap.of(key).shown:<6} {say(key.help)}", key

    def _help(self, key: Key) -> str | None:
        return None if (why := self.off(key)) is None else say(why)

    def off(self, key: Key) -> str | None:
        """Why this key does nothing now; `None` if it does."""
        if key not in ACT or key in self._hangtop.keys:
            return None
        return "off: a replay touches nothing" if self._hangtop.replay is not None else "off: --read-only"

    async def _do(self, key: Key) -> None:
        if self.off(key) is None:
            await self.app.run_action(key.action)

    @property
    def _hangtop(self) -> Shell:
        return cast("Shell", self.app)


def palette() -> CommandPalette:
    """The palette, to be pushed as a screen."""
    return CommandPalette([KeyCommands], placeholder=say("What shall be done?"))
