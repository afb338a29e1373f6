"""Texts with secrets in them, made from `kinds.toml`: each has its own random secret, so that what is left can be counted."""

from __future__ import annotations

import random
import re
import string
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

KINDS = Path(__file__).with_name("kinds.toml")
ALNUM = string.ascii_letters + string.digits
KEY_LINES = 5


class Planted(NamedTuple):
    """`text`: a line or several, as they would be logged. `secrets`: what must not be found anywhere afterwards."""

    kind: str
    text: str
    secrets: tuple[str, ...]


def planted(each: int, seed: int, groups: tuple[str, ...] = ()) -> Iterator[Planted]:
    """`each` texts of every kind of these groups (none: of all)."""
    chance = random.Random(seed)
    for group, table in tomllib.loads(KINDS.read_text()).items():
        for text in table["texts"] if not groups or group in groups else ():
            for _ in range(each):
                yield _one(f"{group}: {text}", text, table["of"], chance)


def _one(kind: str, text: str, of: str, chance: random.Random) -> Planted:
    if of == "key":
        lines = [_body(chance, 64, ALNUM + "+/") for _ in range(KEY_LINES - 1)] + [_body(chance, 38, ALNUM + "+/") + "=="]
        shown = text.replace("{rank}", "\n".join(f"[rank1]: {line}" for line in lines))
        shown = shown.replace("{line}", "\\n".join(lines)).replace("{}", "\n".join(lines))
        return Planted(kind, shown, tuple(lines))
    secrets: list[str] = []

    def new(_: re.Match[str]) -> str:
        secrets.append(_body(chance, chance.randint(36, 40), ALNUM) if of == "alnum" else _mixed(chance))
        return secrets[-1]

    return Planted(kind, re.sub(r"\{\}", new, text), tuple(secrets))


def _mixed(chance: random.Random) -> str:
    """A hexadecimal key, a random token, or a password of a person's making."""
    made = chance.randrange(3)
    if made == 0:
        return _body(chance, 40, "0123456789abcdef")
    if made == 1:
        return _body(chance, chance.randint(20, 44), ALNUM)
    return "".join(
        (chance.choice(("Hunter", "Tr0ub4dor", "winter", "Qwen", "gpu")), chance.choice("!_-.~"), _body(chance, 8, ALNUM))
    )


def _body(chance: random.Random, length: int, alphabet: str) -> str:
    """Random, with at least one letter and one digit: a short number is no secret that could be told from a setting."""
    while True:
        body = "".join(chance.choices(alphabet, k=length))
        if any(map(str.isdigit, body)) and any(map(str.isalpha, body)):
            return body


HARMLESS = Path(__file__).with_name("harmless.txt")
MADE = (
    "checkpoint {hash} loaded", "actor_id={hash}01000000", "uuid {uuid}", "GPU-{uuid}", "/data/{word}/global_step_{n}/model.pt",
    "step {n}/4000 tokens={n} loss=2.{n}", "commit {hash}", "object store ref {hash}ffffffff0100", "rank {n}: max_token_len={n}",
    "/home/ada/.cache/torch/inductor/{word}/{hash}.py", "pid {n} start {n}", "seq {n} hash sha256:{hash}{hash}",
)  # fmt: skip


def harmless(seed: int) -> list[str]:
    """Evidence that must stay, each a line: those of `harmless.txt`, and made ones with ids, hashes and paths."""
    chance = random.Random(seed)
    made = [
        text.format(
            hash=_body(chance, 40, "0123456789abcdef"),
            uuid=re.sub(r"(.{8})(.{4})(.{4})(.{4})(.{12})", r"\1-\2-\3-\4-\5", _body(chance, 32, "0123456789abcdef")),
            word="".join(chance.choices(string.ascii_lowercase, k=8)),
            n=chance.randint(1, 99_999),
        )
        for text in MADE
        for _ in range(4)
    ]
    return HARMLESS.read_text().splitlines() + made
