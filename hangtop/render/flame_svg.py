"""A flame graph of many processes side by side, as SVG: the width of a frame is its share of the samples.

After Brendan Gregg, "The Flame Graph", CACM 59(6), 2016; drawn from above, the root first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from hangtop.stacks.folded import Profile

WIDTH, ROW, LEFT, TOP = 1_200, 17, 10, 40
LEAST_WIDTH = 0.7
"""Frames that would be narrower are not drawn."""
LETTER = 6.7
SHADES = ("accent", "data")


class _Node:
    def __init__(self, name: str) -> None:
        self.name, self.count = name, 0
        self.children: dict[str, _Node] = {}


def flame_svg(profiles: Sequence[Profile], title: str, colours: Mapping[str, str], fonts: str) -> str:
    """The picture. Each process has the same width, in the order given."""
    shown = [profile for profile in profiles if profile.samples]
    wide = (WIDTH - 2 * LEFT) / max(1, len(shown))
    parts: list[str] = []
    deepest = 0
    for nth, profile in enumerate(shown):
        root = _tree(profile)
        for text, depth in _boxes(root, LEFT + nth * wide, wide - 2, 0, root.count, colours):
            parts.append(text)
            deepest = max(deepest, depth)
    height = TOP + (deepest + 1) * ROW + 20
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="{fonts}" font-size="11"><rect width="100%" height="100%" fill="{colours["background"]}"/>'
        f'<text x="{LEFT}" y="22" font-size="14" fill="{colours["ink"]}">{escape(title)}</text>'
    )
    return "\n".join((head, *parts, "</svg>\n"))


def _tree(profile: Profile) -> _Node:
    root = _Node(profile.name)
    for frames, count in profile.stacks.items():
        root.count += count
        node = root
        for frame in frames:
            node = node.children.setdefault(frame, _Node(frame))
            node.count += count
    return root


def _boxes(node: _Node, x: float, wide: float, depth: int, total: int, colours: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """The box of this node and those below it, each with its depth."""
    waiting = [(node, x, wide, depth)]
    while waiting:
        here, left, width, level = waiting.pop()
        if width < LEAST_WIDTH:
            continue
        yield _box(here, left, width, level, total, colours), level
        for child in sorted(here.children.values(), key=lambda each: each.name):
            part = width * child.count / here.count
            waiting.append((child, left, part, level + 1))
            left += part


def _box(node: _Node, x: float, wide: float, level: int, total: int, colours: Mapping[str, str]) -> str:
    y, role = TOP + level * ROW, "ok" if level == 0 else SHADES[level % len(SHADES)]
    room = int((wide - 4) / LETTER)
    name = node.name if len(node.name) <= room else f"{node.name[: room - 1]}…" if room > 3 else ""
    label = f'<text x="{x + 2:.1f}" y="{y + 12}" fill="{colours["background"]}">{escape(name)}</text>' if name else ""
    tip = escape(f"{node.name}: {node.count / total:.0%} of the samples")
    return (
        f'<g><title>{tip}</title><rect x="{x:.1f}" y="{y}" width="{max(LEAST_WIDTH, wide - 0.5):.1f}" height="{ROW - 1}" '
        f'fill="{colours[role]}"/>{label}</g>'
    )
