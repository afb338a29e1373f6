"""Files, data sets and models that the command line names: are they there?"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from hangtop.common.text import some
from hangtop.doctor.check_types import Check, Subject, fail, ok
from hangtop.doctor.command_words import listed, named_values

DATA_ENDINGS = (".parquet", ".jsonl", ".json", ".csv", ".arrow")
FILE_ENDINGS = (*DATA_ENDINGS, ".yaml", ".yml", ".toml", ".py", ".sh", ".safetensors")
SCRIPTS = (".py", ".sh")
FOLDER_TO_READ = re.compile(
    r"(?:^|[._])(?:model|pretrain(?:ed)?|tokenizer|processor|teacher|reward_model|ref_model|draft_model|critic_model)"
    r"(?:[._](?:name_or_)?(?:path|dir))?$|(?:^|[._])(?:model_name_or_path|data_dir|data_path|dataset_dir|dataset_path|prompt_data)$"
)
"""Names of options whose value a run only reads. Any other folder may be one that it makes."""
WRITTEN = re.compile(r"(?:^|[._])(?:out|output|save|log|dump|export|result|results|write|report)(?:[._]|$)")
"""Names of options whose value the run makes."""
MOST_SHOWN = 5


class Input(Struct, frozen=True):
    """What a run will read. `named`: the option that names it, if any."""

    path: str
    named: str = ""

    @property
    def is_data(self) -> bool:
        return self.path.endswith(DATA_ENDINGS)


def inputs(command: Sequence[str]) -> Iterator[Input]:
    """The files that the command line names, and the folders that it can only mean to read, each once. What may be a name on a
    hub (`Qwen/Qwen3-8B`) or lies elsewhere (`s3://…`) is none."""
    seen = set[str]()
    for name, value in named_values(command):
        for item in listed(value):
            if item and item not in seen and "://" not in item and _is_input(name, item):
                seen.add(item)
                yield Input(item, name)


def _is_input(name: str, item: str) -> bool:
    if WRITTEN.search(name):
        return False
    if item.endswith(FILE_ENDINGS):
        return "/" in item or item.endswith(SCRIPTS)
    return item.startswith(("/", "./", "../", "~/")) and FOLDER_TO_READ.search(name) is not None


def paths(subject: Subject) -> Iterator[Check]:
    """Each input of the command line: it is there, and a folder is not empty."""
    wanted = tuple(inputs(subject.command))
    wrong = [(each, why) for each in wanted if (why := _trouble(subject.cwd, each.path)) is not None]
    for each, why in wrong[:MOST_SHOWN]:
        of = f" ({each.named})" if each.named else ""
        yield fail("command", each.path, f"{why}{of}", f"ls -l {Path(subject.cwd, os.path.expanduser(each.path)).parent}")
    if len(wrong) > MOST_SHOWN:
        rest = len(wrong) - MOST_SHOWN
        yield fail("command", "paths", f"{some(rest, 'more path')} that {'is' if rest == 1 else 'are'} not there")
    if wanted and not wrong:
        names = ", ".join(each.path for each in wanted[:MOST_SHOWN])
        yield ok("command", "paths", f"there: {names}{' …' if len(wanted) > MOST_SHOWN else ''}")


def _trouble(cwd: str, path: str) -> str | None:
    place = os.path.join(cwd, os.path.expanduser(path))
    if glob.has_magic(path) and not os.path.exists(place):
        return None if glob.glob(place) else f"no file fits this pattern (from {cwd})"
    if not os.path.exists(place):
        return f"no such file or directory (from {cwd})"
    try:
        return "an empty folder" if os.path.isdir(place) and not os.listdir(place) else None
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
