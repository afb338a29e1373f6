"""The language in which hangtop speaks to people. The core makes English sentences; what shows them to a person says them by
`say`. `check --json`, recordings and the log of actions stay English: programs read them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hangtop.translations.translator import Translator


class _Spoken:
    """The language of this process. Chosen once, before the first sentence."""

    translator: Translator | None = None


def speak(lang: str, user_dir: Path | None = None) -> str:
    """From here on `say` speaks this language, `en` or `zh`. `user_dir`: the folder of the user's own translations; what is
    wrong with a file there is the answer, which is empty where all is well."""
    _Spoken.translator, problem = (None, "") if lang == "en" else _translator(lang, user_dir)
    return problem


def say(text: str) -> str:
    """A sentence of hangtop in the language of its reader; what has no pair there stays English."""
    return text if _Spoken.translator is None else _Spoken.translator.say(text)


def say_comment(command: str) -> str:
    """A command as it is, and in the language of its reader what stands behind `#`."""
    run, mark, shows = command.partition("  # ")
    return f"{run}{mark}{say(shows)}"


def say_paste(paste: str, where: str) -> str:
    """What a person may run or set: a comment behind code is part of the code."""
    return say_comment(paste) if where == "shell" else paste


@lru_cache(maxsize=2)
def _translator(lang: str, user_dir: Path | None) -> tuple[Translator, str]:
    from hangtop.translations.pairs import kept, pairs, user_pairs  # English does without
    from hangtop.translations.translator import Translator

    own, problem = user_pairs(lang, user_dir) if user_dir is not None else ([], "")
    return Translator((*pairs(lang), *own), kept(lang)), problem
