"""The least that a Textual app costs: a screen full of text and nothing else. What hangtop takes longer is its own."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import Static


class FloorApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("\n".join(f"line {number:3} of a screen that is full of text, floor-is-painted" for number in range(40)))


if __name__ == "__main__":
    FloorApp().run()
