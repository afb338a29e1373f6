"""A line of text that a person edits. No widget: a dialog paints its rows."""

from __future__ import annotations

from hangtop.render.spans import Row


class LineEdit:
    """`text` with the cursor at `place`. `problem`: why it is not accepted."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = len(self.text)
        self.problem = ""

    def press(self, key: str, character: str | None) -> None:
        """Move and edit as in a shell."""
        self.problem = ""
        match key:
            case "left" | "ctrl+b":
                self.place = max(0, self.place - 1)
            case "right" | "ctrl+f":
                self.place = min(len(self.text), self.place + 1)
            case "home" | "ctrl+a" | "up":
                self.place = 0
            case "end" | "ctrl+e" | "down":
                self.place = len(self.text)
            case "backspace" if self.place:
                self.text, self.place = self.text[: self.place - 1] + self.text[self.place :], self.place - 1
            case "delete" | "ctrl+d":
                self.text = self.text[: self.place] + self.text[self.place + 1 :]
            case "ctrl+w":
                start = self.text.rstrip()[: self.place].rstrip().rfind(" ", 0, self.place) + 1
                self.text, self.place = self.text[:start] + self.text[self.place :], start
            case _ if character is not None and character.isprintable():
                self.text, self.place = self.text[: self.place] + character + self.text[self.place :], self.place + 1

    def rows(self, width: int) -> list[Row]:
        """The line, broken at the width, with its cursor."""
        shown, found = f"{self.text} ", list[Row]()
        for start in range(0, len(shown), max(1, width)):
            part, at = shown[start : start + width], self.place - start
            if 0 <= at < len(part):
                found.append(((part[:at], "ink"), (part[at], "ink reverse"), (part[at + 1 :], "ink")))
            else:
                found.append(((part, "ink"),))
        return [*found, *(((self.problem, "bad"),) for _ in range(bool(self.problem)))]
