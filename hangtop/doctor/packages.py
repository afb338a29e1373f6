"""Versions in the run's own interpreter: which clash with each other, with the GPU driver or with the Ray cluster."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping

from hangtop.doctor.check_types import Check, Subject, fail, ok, unknown, warn

LISTING = (
    "import importlib.metadata as m, json, sys; "
    "print(json.dumps({'python': sys.version.split()[0], **{d.metadata['Name'].lower().replace('_', '-'): d.version "
    "for d in m.distributions() if d.metadata['Name']}}))"
)
PINNING = ("vllm", "sglang", "flash-attn", "xformers", "torchvision", "torchaudio", "verl")
PINS = (
    "import importlib.metadata as m, json; found = {}\n"
    f"for name in {PINNING!r}:\n"
    "    try: found[name] = [each for each in m.requires(name) or () if '==' in each and 'extra' not in each]\n"
    "    except m.PackageNotFoundError: pass\n"
    "print(json.dumps(found))"
)
_PIN = re.compile(
    r"(?P<name>torch\w*|xformers|flash[-_]attn|ray|transformers|numpy)\s*\(?==\s*(?P<version>\d[\d.]*)\)?\s*(?:;|$)"
)
LISTING_S = 8.0
OLDEST_DRIVER = {11: (450, 80), 12: (525, 60), 13: (580, 65)}
"""The oldest driver by CUDA major version (NVIDIA, CUDA Toolkit release notes: minor version compatibility)."""
SHOWN = (
    "python",
    "torch",
    "numpy",
    "transformers",
    "vllm",
    "sglang",
    "flash-attn",
    "ray",
    "deepspeed",
    "verl",
    "openrlhf",
    "megatron-core",
)


def versions(subject: Subject) -> Iterator[Check]:
    """What is installed where the run's interpreter looks, and pairs that are known to clash."""
    try:
        found = installed(subject.python)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        detail = f"{subject.python} does not list its packages: {error}"
        yield unknown("packages", "interpreter", detail, f"{subject.python} -m pip list")
        return
    yield ok("packages", "interpreter", ", ".join(f"{name} {found[name]}" for name in SHOWN if name in found))
    yield from clashes(found)
    yield from debug_server(found)
    try:
        yield from unmet(pins(subject.python), found)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        detail = f"{subject.python} does not list them: {error}"
        yield unknown("packages", "requirements", detail, f"{subject.python} -m pip check")
    yield from extensions(subject, found)


def installed(python: str) -> dict[str, str]:
    """Versions by normalised name, the interpreter's own as `python`. Nothing is imported. Raises on a broken interpreter."""
    done = subprocess.run((python, "-c", LISTING), capture_output=True, text=True, timeout=LISTING_S, check=True)
    listed: dict[str, str] = json.loads(done.stdout)
    return listed


def pins(python: str) -> dict[str, list[str]]:
    """What the packages that are built for one torch require exactly, as they say it: `{"vllm": ["torch==2.7.0"]}`. Raises as
    `installed`."""
    done = subprocess.run((python, "-c", PINS), capture_output=True, text=True, timeout=LISTING_S, check=True)
    listed: dict[str, list[str]] = json.loads(done.stdout)
    return listed


def unmet(required: Mapping[str, Iterable[str]], found: Mapping[str, str]) -> Iterator[Check]:
    """Exact requirements that another version answers: compiled code then meets symbols it does not know. Pure."""
    for package, texts in required.items():
        for text in texts:
            pin = _PIN.match(text)
            name = pin["name"].lower().replace("_", "-") if pin else ""
            if pin is None or name not in found or _release(found[name]) == _release(pin["version"]):
                continue
            detail = f"{package} {found.get(package, '')} requires {name} {pin['version']}, {found[name]} is installed"
            yield fail("packages", f"{package} and {name}", detail, f"pip install '{name}=={pin['version']}'")


def clashes(found: Mapping[str, str]) -> Iterator[Check]:
    """Pairs of versions that cannot work together. Pure."""
    torch = _release(found.get("torch"))
    numpy = _release(found.get("numpy"))
    if torch and numpy and numpy >= (2,) and torch < (2, 3):
        detail = f"torch {found['torch']} was built for numpy 1, numpy {found['numpy']} is installed"
        yield fail("packages", "numpy ABI", detail, "pip install 'numpy<2'")
    of_torch = found.get("torch", "").partition("+")[2]
    for name in ("torchvision", "torchaudio"):
        local = found.get(name, "").partition("+")[2]
        if local and of_torch and local != of_torch:
            detail = f"torch is built for {of_torch}, {name} for {local}"
            yield fail("packages", f"{name} build", detail, f"pip install --force-reinstall {name} from the index of {of_torch}")
    if of_torch == "cpu" and not found.keys() & {"torch-rocm", "intel-extension-for-pytorch"}:
        yield warn("packages", "torch build", f"torch {found['torch']} has no GPU support", "pip install torch (a CUDA build)")


def debug_server(found: Mapping[str, str]) -> Iterator[Check]:
    """Whether PyTorch's debug server can be opened, by which hangtop sees the ranks of all nodes. Pure.

    torch/distributed/debug: since 2.10, its front end needs Jinja2 and aiohttp, which torch does not bring."""
    if (_release(found.get("torch")) or ()) < (2, 10):
        return
    missing = [name for name in ("jinja2", "aiohttp") if name not in found]
    call = "torch.distributed.debug.start_debug_server() on every rank, after init_process_group"
    if missing:
        yield ok("packages", "debug server", f"{call} shows the ranks of all nodes; first: pip install {' '.join(missing)}")
    else:
        yield ok("packages", "debug server", f"{call} shows the ranks of all nodes to hangtop")


def extensions(subject: Subject, found: Mapping[str, str]) -> Iterator[Check]:
    """Compiled extensions whose symbols must fit the installed torch: importing one is the only test there is."""
    for package, module in (("flash-attn", "flash_attn"), ("vllm", "vllm._C"), ("deepspeed", "deepspeed")):
        if package not in found or "torch" not in found:
            continue
        try:
            done = subprocess.run(
                (subject.python, "-c", f"import {module}"), capture_output=True, text=True, timeout=LISTING_S, check=False
            )
        except subprocess.TimeoutExpired:
            detail = f"importing it took longer than {LISTING_S:.0f} s"
            yield unknown("packages", package, detail, f"{subject.python} -c 'import {module}'")
            continue
        if done.returncode == 0:
            yield ok("packages", package, f"{found[package]} imports")
            continue
        why = (done.stderr.strip().splitlines() or ["no message"])[-1]
        mend = f"pip install --force-reinstall --no-build-isolation {package}"
        yield Check("packages", package, "fail" if "undefined symbol" in why or "ABI" in why else "warn", why, mend)


def cuda_of(installed: Mapping[str, str]) -> tuple[int, int] | None:
    """The CUDA version that torch was built for: by its own tag (`+cu128`), else by the runtime that it brought along."""
    if tag := re.search(r"\+cu(\d\d)(\d)", installed.get("torch", "")):
        return int(tag[1]), int(tag[2])
    if "torch" not in installed or "+" in installed["torch"]:
        return None
    runtimes = (name for name in installed if re.fullmatch(r"nvidia-cuda-runtime(?:-cu\d\d)?", name))
    found = re.match(r"(\d+)\.(\d+)", installed.get(next(runtimes, ""), ""))
    return (int(found[1]), int(found[2])) if found else None


def driver_fit(installed: Mapping[str, str], version: str | None, *, has_compat: bool) -> Iterator[Check]:
    """Whether the driver is new enough for torch's CUDA. `has_compat`: NVIDIA's forward compatibility libraries are there."""
    cuda, found = cuda_of(installed), re.match(r"(\d+)\.(\d+)", version or "")
    oldest = OLDEST_DRIVER.get(cuda[0]) if cuda else None
    if cuda is None or found is None or oldest is None:
        return
    pair = f"torch is built for CUDA {cuda[0]}.{cuda[1]}, the driver is {version}"
    if (int(found[1]), int(found[2])) >= oldest:
        yield ok("gpu", "CUDA and driver", pair)
        return
    detail = f"{pair}; CUDA {cuda[0]} needs {oldest[0]}.{oldest[1]} or newer"
    mend = "a newer driver, or a torch build for an older CUDA (https://pytorch.org/get-started/previous-versions)"
    yield Check("gpu", "CUDA and driver", "warn" if has_compat else "fail", detail, mend)


def cluster_fit(installed: Mapping[str, str], running: str) -> Iterator[Check]:
    """Ray refuses a driver of another version than its cluster's."""
    here = installed.get("ray")
    if not here or not running:
        return
    if here == running:
        yield ok("ray", "version", f"{here}, as the cluster")
    else:
        detail = f"the cluster runs {running}, the interpreter has {here}: ray.init() will refuse"
        yield fail("ray", "version", detail, f"pip install 'ray=={running}'")


def _release(version: str | None) -> tuple[int, ...] | None:
    if version is None:
        return None
    return tuple(int(part) for part in version.partition("+")[0].split(".")[:3] if part.isdigit()) or None
