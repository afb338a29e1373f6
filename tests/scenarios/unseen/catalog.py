"""The healthy programs: how a step looks in the log of each, and where that log is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
KIT = HERE / "kit"


@dataclass(frozen=True)
class Program:
    """One healthy program."""

    name: str
    step: str
    """What matches once for each step that is logged."""
    printers: int = 1
    """How many processes log each step."""
    log: str = "train.log"
    """Relative to its folder; where it is the default, standard output goes there."""

    @property
    def path(self) -> Path:
        return PROGRAMS / f"{self.name}.py"

    @property
    def has_torch(self) -> bool:
        return "import torch" in self.path.read_text(encoding="utf-8")

    @property
    def writes_own_log(self) -> bool:
        return self.log != "train.log"


CATALOG = (
    Program("actor_learner", r"Iteration \d+:"),
    Program("artifacts", r"step \d+ - loss"),
    Program("async_main", r'"event": "train"'),
    Program("bash_loop", r"step=\d+ w="),
    Program("by_hand", r"iter +\d+ ppl", printers=3, log="logs"),
    Program("cache_lock", r": step \d+ loss"),
    Program("condition", r"EPOCH \d+ <<<"),
    Program("ddp_spawn", r"step=\d+ loss", printers=2),
    Program("ddp_torchrun", r"step \d+/\d+ \| loss"),
    Program("evaluator", r"'loss': "),
    Program("evolution", r"gen +\d+ "),
    Program("fifos", r"n_batch=\d+"),
    Program("http_scorer", r"train/step \d+"),
    Program("loader", r"it/s, loss="),
    Program("many_logs", r"Train \[\d+/", printers=4, log="out"),
    Program("node_tree", r"round \d+/\d+ objective"),
    Program("param_server", r"update \d+ applied"),
    Program("pipeline", r"global_step \d+"),
    Program("ppo_pool", r"(?m)^ *\d+ +\d+ +-?\d+\.\d+ "),
    Program("reward_socket", r"grpo_step:\d+", printers=2),
    Program("ring", r"turn \d+: "),
    Program("rollouts", r"time/iterations"),
    Program("saver_process", r"Step \d+/\d+: loss"),
    Program("saver_thread", r"step: \d+ \| w_norm"),
    Program("sharded", r"\[fsdp\]\[\d+\]"),
    Program("shared_memory", r"sweep \d+ residual"),
    Program("shell_ranks", r"rank 0 \| it \d+ \|"),
    Program("streaming", r"R\d s\d+ l", printers=2),
    Program("torch_threads", r"step:\d+/\d+ train_loss"),
)


def program(name: str) -> Program:
    """The program of this name.

    Raises `KeyError` where there is none.
    """
    return {known.name: known for known in CATALOG}[name]
