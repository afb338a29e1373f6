"""The role of a process in a run, by its name, command line and environment. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hangtop.common.late_pattern import late_pattern
from hangtop.records.process import ProcessRole

LAUNCHERS = late_pattern(
    r"(?:^|[/ ])(?:torchrun|deepspeed|accelerate|mpirun|mpiexec(?:\.hydra)?|orterun|prterun|prted|orted|horovodrun|srun)(?: |$)"
    r"|torch[./]distributed[./](?:run|launch)|deepspeed[./]launcher|^slurmstepd: \[\S+\.\d|(?:^|[/ ])ray job submit"
)
COMPILERS = frozenset(
    "nvcc ptxas cicc cudafe++ fatbinary nvlink cc1 cc1plus gcc g++ c++ cc clang clang++ ld ld.lld lld as ninja cmake triton "
    "hipcc".split()
)
COMPILE_WORKER = late_pattern(r"torch/_inductor/compile_worker|torch\._inductor\.compile_worker")
ENGINE = late_pattern(r"^(?:VLLM::|sglang::|sglang\.)|EngineCore")
RAY_DAEMON = late_pattern(
    r"^ray::(?:DashboardAgent|RuntimeEnvAgent)|^ray-dashboard|/raylet/raylet |/gcs/gcs_server |/ray/dashboard/|/ray/autoscaler/|"
    r"/ray/_private/(?:log_monitor|monitor)\.py|(?:^| )ray\.util\.client\.server(?: |$)"
)
RAY_DAEMON_NAMES = frozenset(("raylet", "gcs_server"))
SHELLS = frozenset("bash sh dash zsh fish ksh env nohup timeout numactl nsys ncu time strace stdbuf uv conda".split())
"""Programs that start another one and wait: the rank is what they started."""
RELAYS = frozenset(
    "tee cat ts grep egrep rg sed awk gawk mawk tr cut head pv logger rotatelogs multilog svlogd cronolog unbuffer script".split()
)
"""Programs that only pass on what others write. Not `nohup`, which becomes the program it starts."""
PYTHON = late_pattern(r"(?:^|/)(?:python|pypy)[\d.]*t?$")
WITH_CODE = late_pattern(r"^-[bBdEiIOPqsSuvx]*c$")
"""`-c`, and flags without a value that stand before it in one word, such as `-uc` (python(1))."""
FORKED = late_pattern(r"--multiprocessing-fork|multiprocessing[./](?:spawn|forkserver)")
SERVICE = late_pattern(r"multiprocessing[./](?:resource|semaphore)_tracker\b")

RUNNER = "hangtop.actions.execute.runner"
"""The module that keeps terminal and log of a run that hangtop started, as its command line shows it."""
HANGTOP = late_pattern(r"(?:^|/)hangtop(?:\.(?!actions\.execute\.runner|demo\.)[\w.]+)?(?: |$)")
"""A program of hangtop itself, except the runner, which keeps a run's log, and the demo's processes."""

RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
"""Variables that number ranks, the innermost first: under srun, torchrun has a SLURM_PROCID and its children a RANK."""
LOCAL_RANKS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
WORLDS = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
RESTARTS = ("TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RESTART_COUNT")
"""How often torchrun starts all ranks again, and how often it has (torch/distributed/elastic/agent/server)."""
BY_NODE, NODE = "LOCAL_RANK", "NODE_RANK"
"""Lightning tells its ranks only these (lightning/fabric/strategies/launchers/subprocess_script.py)."""


def role_by_name(name: str, command: Sequence[str]) -> ProcessRole | None:
    """The role by name and command line alone; `None` if they do not tell."""
    line = " ".join(command)
    if name.startswith("pt_data_"):
        return "data worker"
    if name in COMPILERS or COMPILE_WORKER.search(line):
        return "compiler"
    if name in RAY_DAEMON_NAMES or RAY_DAEMON.search(line):
        return "ray daemon"
    if line.startswith("ray::"):
        return "ray worker"
    if ENGINE.search(line):
        return "engine core"
    return "launcher" if name not in SHELLS and LAUNCHERS.search(program(command)) else None


def program(command: Sequence[str]) -> str:
    """The program without its arguments: `train.py --launcher torchrun` is no launcher. Of `ray`, two words more."""
    words = _given_to_python(command) if _is_python(command) else list(command)
    words = words[1:] if words[:1] == ["-m"] else words
    titled = bool(words) and words[0].endswith(":")  # `slurmstepd: [77.0]`: a title, not arguments
    return " ".join(words[: 3 if words and words[0].endswith("ray") else 2 if titled or words[:1] == ["-c"] else 1])


def code(command: Sequence[str]) -> str | None:
    """The program itself, where it stands on the command line: `python -c 'while True: …'`."""
    words = _given_to_python(command) if _is_python(command) else []
    return words[1] if words[:1] == ["-c"] and len(words) > 1 else None


def _is_python(command: Sequence[str]) -> bool:
    return bool(command) and PYTHON.search(command[0]) is not None


def _given_to_python(command: Sequence[str]) -> list[str]:
    """Its script, `-m` or `-c`, and what follows that."""
    words = list(command[1:])
    while words and words[0].startswith("-") and words[0] != "-m" and not WITH_CODE.search(words[0]):
        words = words[2 if words[0] in ("-W", "-X") else 1 :]
    return ["-c", *words[1:]] if words and WITH_CODE.search(words[0]) else words


def is_hangtop(command: Sequence[str]) -> bool:
    """Whether it is hangtop, which only watches runs or acts on them, and is part of none."""
    return HANGTOP.search(program(command)) is not None


def is_forked(command: Sequence[str]) -> bool:
    """Whether Python's multiprocessing started it as a fresh interpreter."""
    return FORKED.search(" ".join(command)) is not None


def is_service(command: str) -> bool:
    """Whether it is a tracker of multiprocessing, which does no work of the program."""
    return SERVICE.search(command) is not None


def number(environ: Mapping[str, str], names: Sequence[str]) -> int | None:
    """The first of these variables that holds a number."""
    return next((int(environ[name]) for name in names if environ.get(name, "").isdecimal()), None)


def rank_variable(environs: Sequence[Mapping[str, str]]) -> str | None:
    """The variable that numbers the ranks of this run: the innermost that any of its processes has."""
    return next((name for name in (*RANKS, BY_NODE) if any(name in environ for environ in environs)), None)
