"""The framework of a command line, and whether it looks like training. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from hangtop.common.late_pattern import late_pattern

MARKS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, late_pattern(pattern, re.IGNORECASE))
    for name, pattern in (
        ("gkd", r"recipe[/.]gkd|gkd[/.]megatron|main_gkd"),
        ("verl", r"\bverl\b|main_ppo\b|main_dapo\b"),
        ("openrlhf", r"\bopenrlhf\b"),
        ("lightrft", r"\blightrft\b"),
        ("nemo", r"\bnemo(_rl|_run|_automodel)?\b"),
        ("megatron", r"\bmegatron\b|pretrain_(gpt|bert|t5|mamba|vlm)\b"),
        ("deepspeed", r"\bdeepspeed\b"),
        ("accelerate", r"\baccelerate\b"),
        ("lightning", r"\blightning\b|\blitgpt\b"),
        ("sglang", r"\bsglang\b"),
        ("vllm", r"\bvllm\b|VLLM::"),
        ("hf", r"\bllamafactory(-cli)?\b|\bswift (sft|rlhf|pt)\b|\btrl\b|\btransformers\b"),
        ("ray", r"^ray::|\bray (start|job)\b"),
        ("torchrun", r"\btorchrun\b|torch\.distributed\.(run|launch)|torch/distributed/(run|launch)"),
    )
)
"""From the most special to the most general: verl runs vLLM under Ray, and is verl."""

LOOKS_LIKE_TRAINING = late_pattern(
    r"(?<![a-z])((pre)?train(er|ing)?|fine.?tun(e|ing)|sft|ppo|grpo|dpo|rlhf|rollout|distill)(?![a-z])", re.IGNORECASE
)
RANK_NAMES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "MASTER_PORT")


def framework_of(commands: Iterable[str]) -> str | None:
    """The most special framework that any of these command lines names; `None` for none."""
    return _named(tuple(commands))


def looks_like_training(commands: Iterable[str], environs: Iterable[Mapping[str, str]] = ()) -> bool:
    """True for the words of training in a command line, or the variables of a launcher in an environment."""
    lines = tuple(commands)
    return _named(lines) is not None or _trains(lines) or any(name in environ for environ in environs for name in RANK_NAMES)


@lru_cache(maxsize=512)
def _named(lines: tuple[str, ...]) -> str | None:
    """Cached: the same command lines come every second, for some 15 regexes over some kB."""
    return next((name for name, mark in MARKS if any(mark.search(line) for line in lines)), None)


@lru_cache(maxsize=512)
def _trains(lines: tuple[str, ...]) -> bool:
    return any(LOOKS_LIKE_TRAINING.search(line) for line in lines)
