"""The healthy programs: how a step looks in the log of each, and where that log is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
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
    folder: str = "."
    """Below `programs`."""
    packages: tuple[str, ...] = ()
    """What it imports, besides torch, that may not be installed."""
    redrawn: bool = False
    """Whether the same step may be shown again, as bars do: then each text that matches counts once."""
    is_asked: bool = False
    """Whether its processes work when another calls them, which then ends of an error of theirs."""
    lock: str | None = None
    """A file that whoever runs something of this sort has locked, among the temporary files."""

    @property
    def path(self) -> Path:
        return PROGRAMS / self.folder / f"{self.name}.py"

    @property
    def has_torch(self) -> bool:
        return "import torch" in self.path.read_text(encoding="utf-8")

    @property
    def writes_own_log(self) -> bool:
        return self.log != "train.log"

    @property
    def missing(self) -> tuple[str, ...]:
        """Packages that are not installed."""
        needed = (*(("torch",) if self.has_torch else ()), *self.packages)
        return tuple(package for package in needed if find_spec(package) is None)


PLAIN = (
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


def _with_packages(program: Program, *packages: str) -> Program:
    return replace(program, folder="frameworks", packages=packages)


FRAMEWORKS = (
    _with_packages(Program("accelerate_vision", r"Steps: +\d+%\|[^|]*\| \d+/", redrawn=True), "accelerate"),
    _with_packages(Program("ddp_workers", r"Epoch: \[\d+\]\[ *\d+/"), "numpy"),
    _with_packages(Program("fsdp_gloo", r"step: +\d+  loss"), "numpy"),
    _with_packages(Program("grpo_loop", r"'step': \d+\}"), "transformers"),
    _with_packages(Program("hf_trainer", r"\{'loss': "), "transformers", "accelerate"),
    _with_packages(Program("ignite_engine", r"(?:Epoch \[\d+/\d+\]|Iteration): \[\d+/", redrawn=True), "ignite"),
    _with_packages(Program("jax_processes", r"step = \d+, loss"), "jax", "numpy"),
    _with_packages(Program("lightning_ddp", r"Epoch \d+: +\d+%\|[^|]*\| \d+/", redrawn=True), "lightning"),
    _with_packages(Program("pipeline_stages", r"iteration +\d+ loss="), "numpy"),
    _with_packages(Program("ray_selfplay", r"iteration=\d+ mean_score", is_asked=True, lock="ray.lock"), "ray"),
    _with_packages(Program("rpc_trainers", r"it +\d+ \| loss", is_asked=True), "numpy"),
)
GROUPS = {"plain": PLAIN, "frameworks": FRAMEWORKS}
CATALOG = (*PLAIN, *FRAMEWORKS)


def program(name: str) -> Program:
    """The program of this name.

    Raises `KeyError` where there is none.
    """
    return {known.name: known for known in CATALOG}[name]
