"""The options that several commands share, and what they mean: command line first, then the config file, then defaults."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import click

from hangtop.cli.config import Config, config_dir, read_config, refuse_keys
from hangtop.cli.finite_range import FiniteRange
from hangtop.probe.log.stdin_pipe import STDIN, as_log
from hangtop.records.watch_spec import ASKED_SOURCES, DEFAULT_SOURCES, DEFAULT_STALL_S, WatchSpec
from hangtop.translations import speak

Command = TypeVar("Command", bound=Callable[..., Any])

WATCH = (
    click.option(
        "--log",
        "logs",
        multiple=True,
        metavar="PATH",
        help="Log to watch: file, glob, directory, or - for stdin; again for more.",
    ),
    click.option(
        "--pid",
        "pids",
        multiple=True,
        type=int,
        metavar="PID",
        help="A process of the run, if hangtop does not find it by itself.",
    ),
    click.option("--profile", metavar="NAME|FILE", help="The framework, if the log does not tell it: see hangtop profiles list."),
    click.option(
        "--stall",
        type=FiniteRange(min=1),
        metavar="SECONDS",
        help=f"Silence that counts as a stall.  [default: {DEFAULT_STALL_S:g}]",
    ),
    click.option("--sources", metavar="LIST", help=f"Read only these of {','.join(DEFAULT_SOURCES)}."),
    click.option(
        "--ray", metavar="ADDRESS|auto|off", help="Ray dashboard of the run, HOST:8265; auto finds it.  [default: auto]"
    ),
    click.option("--hosts", metavar="H1,H2", help="Other nodes of the run, seen through ssh; nothing is stored there."),
    click.option(
        "--launcher",
        metavar="'CMD {host} {probe}'",
        help="What reaches the --hosts instead of ssh, such as 'docker exec -i {host} {probe}'.",
    ),
    click.option("--slurm", metavar="JOBID", help="Instead of --hosts: the nodes of this Slurm job, seen through srun."),
    click.option("--k8s", metavar="SELECTOR", help="Instead of --hosts: the pods with these labels, seen through kubectl exec."),
    click.option(
        "--torch-debug", metavar="HOST:PORT", help="Front end of PyTorch's debug server of the run, on the node of rank 0."
    ),
    click.option("--ckpt", metavar="DIR", help="Directory of the checkpoints, if hangtop does not find it by itself."),
    click.option(
        "--config",
        "config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Config file instead of hangtop/config.toml in your config folder.",
    ),
)
LOOK = (
    click.option("--theme", metavar="NAME", help="Colours: dark, light, safe (colour-blind), ansi (the terminal's), or yours."),
    click.option("--read-only", is_flag=True, help="Without the keys that stop, clean up or restart."),
    click.option("--calm", is_flag=True, help="Nothing flashes, no bell."),
    click.option("--plain", is_flag=True, help="Print one line per change instead of drawing a screen."),
)
TELL = (
    click.option(
        "--notify",
        "urls",
        multiple=True,
        metavar="URL",
        help="Tell trouble and the end there too: mail, chat, webhook … (an address of Apprise); again for more.",
    ),
    click.option("--metrics", metavar="HOST:PORT", help="Offer figures to Prometheus."),
)
RECORD = (
    click.option(
        "--record",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Record the session; `hangtop replay FILE` shows it again.",
    ),
)


PLAN = (
    click.option("--dry-run", is_flag=True, help="Only print the plan, as without --yes."),
    click.option("--yes", is_flag=True, help="Carry the plan out."),
)
"""For every command that changes something."""


def options(*groups: tuple[Callable[[Command], Command], ...]) -> Callable[[Command], Command]:
    """A decorator that adds these groups of options, in order."""
    wanted = [option for group in groups for option in group]
    return lambda command: reduce(lambda done, option: option(done), reversed(wanted), command)


def watch_spec(given: dict[str, Any], config: Config) -> WatchSpec:
    """What to watch: the command line first, then the config file, then the defaults."""
    sources = tuple(given["sources"].split(",")) if given["sources"] else config.sources or DEFAULT_SOURCES
    unknown = sorted(set(sources) - set(DEFAULT_SOURCES))
    if unknown:
        raise click.UsageError(f"--sources: no source is named {', '.join(unknown)}; there are {', '.join(DEFAULT_SOURCES)}")
    profile = given["profile"] or config.profile
    if profile:
        check_profile(profile)
    hosts, launcher = _nodes(given)
    if "" in given["logs"]:
        raise click.UsageError('--log "": no name; is a variable of the shell empty? echo "$LOG"')
    for log in given["logs"]:
        refuse_odd_name(log)
    path, stdin = as_log() if STDIN in given["logs"] else (STDIN, None)
    return WatchSpec(
        logs=tuple(path if log == STDIN else log for log in given["logs"]),
        stdin=stdin,
        pids=given["pids"],
        profile=profile,
        stall_s=given["stall"] or config.stall or DEFAULT_STALL_S,
        sources=(*sources, *ASKED_SOURCES),
        ray=given["ray"] or config.ray or "auto",
        checkpoint_dir=given["ckpt"],
        hosts=hosts,
        launcher=launcher,
        torch_debug=_host_port(given.get("torch_debug") or ""),
        config_dir=str(config_dir()),
        config_file=None if given.get("config") is None else str(given["config"]),
        lang=config.lang or system_language(),
    )


def refuse_odd_name(path: str) -> None:
    """Exit 2 for a name that is no UTF-8: it goes through pipes and recordings, which are."""
    try:
        path.encode()
    except UnicodeEncodeError:
        typed = "".join(
            chr(byte) if (chr(byte).isascii() and chr(byte).isalnum()) or byte in b"/._-" else f"\\x{byte:02x}"
            for byte in os.fsencode(path)
        )
        raise click.UsageError(f"the name of a file is no UTF-8; give it another one: mv $'{typed}' train.log") from None


def _host_port(typed: str) -> str:
    """The address as typed. Exit 2 if it is none."""
    host, _, port = typed.rpartition(":")
    if typed and not (host and port.isdecimal() and 0 < int(port) < 65_536):
        raise click.UsageError(f"--torch-debug: {typed!r} is no HOST:PORT, such as n1:25999")
    return typed


def _nodes(given: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """The other nodes of the run, and what reaches them."""
    if not any(given.get(name) for name in ("hosts", "launcher", "slurm", "k8s")):
        return (), ""
    from hangtop.cli.nodes import nodes_of

    return nodes_of(given)


def spec_of_run(given: dict[str, Any], config: Config) -> WatchSpec:
    """What to watch, for a command that needs a run. Exit 2 if none is named."""
    spec = watch_spec(given, config)
    if not spec.logs and not spec.pids:
        raise click.UsageError("which run? give --log PATH or --pid PID")
    return spec


@contextmanager
def bad_data_as_usage_error(prefix: str = "") -> Iterator[None]:
    """Turn a broken profile or signature into one line with file, line and key, and exit 2."""
    from hangtop.logs.catalog.load import CatalogError

    try:
        yield
    except BrokenPipeError:  # the reader has seen enough: click ends without a word
        raise
    except (CatalogError, OSError) as error:
        raise click.UsageError(f"{prefix}{error}") from error


def config_of(path: Path | None) -> Config:
    """The config; from here on hangtop speaks to people in the language that it names, or else their system."""
    config = read_config(path)
    if problem := speak(config.lang or system_language(), config_dir()):
        click.echo(f"hangtop: {problem}; this file is left out", err=True)
    return config


def system_language() -> str:
    """zh where the locale says so, else en."""
    spoken = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "zh" if spoken.startswith("zh") else "en"


def check_profile(profile: str) -> None:
    """Exit 2 with file, line and key if the profile is missing or broken."""
    from hangtop.logs.catalog.load import load as load_catalog

    is_file = "/" in profile or profile.endswith(".toml")
    with bad_data_as_usage_error("--profile: "):
        known = load_catalog(config_dir(), Path(profile) if is_file else None).profiles
    if not is_file and profile not in known:
        raise click.UsageError(f"--profile: no profile is named {profile}; there are {', '.join(sorted(known))}")


def watch_look(given: dict[str, Any], config: Config) -> Any:
    """How to show it, and whom to tell what changes."""
    from hangtop.cli.commands.watch import WatchOptions

    others, figures = _others(given.get("urls", ())), _figures(given.get("metrics"))
    return WatchOptions(
        others=others,
        lookers=() if figures is None else (figures.look,),
        as_lines=given["plain"],
        calm=given["calm"] or config.calm,
        read_only=given["read_only"] or config.read_only,
        theme=given["theme"] or config.theme,
        keymap=keymap_of(given.get("config"), config),
    )


def keymap_of(path: Path | None, config: Config) -> Any:
    """The keys that the person chose; exit 2 where these cannot be. `path`: the config file, if it was named."""
    from hangtop.tui.keymap import KeyProblem, keymap

    try:
        return keymap(config.keys)
    except KeyProblem as problem:
        refuse_keys(path, problem.name, str(problem))


def _figures(address: str | None) -> Any:
    """What offers figures; exit 2 where that cannot be."""
    if address is None:
        return None
    from hangtop.guard.metrics import MetricsError, serve

    try:
        return serve(address)
    except MetricsError as error:
        raise click.UsageError(str(error)) from error


def _others(urls: tuple[str, ...]) -> Any:
    """Who tells others; exit 2 for an address that cannot be used."""
    if not urls:
        return None
    from hangtop.guard.send_notice import problems_of
    from hangtop.guard.tell_others import TellOthers

    if problems := problems_of(urls):
        raise click.UsageError(f"--notify: {'; '.join(problems)}")
    return TellOthers(urls)


def recorder(path: Path | None, spec: WatchSpec) -> Callable[[Any], Any]:
    """What wraps a feed to record it; nothing without a path."""
    if path is None:
        return lambda feed: feed
    from hangtop.feeds.recording import RecordedFeed, Recorder
    from hangtop.feeds.replay import RecordingError

    try:
        writer = Recorder(path, spec)
    except RecordingError as error:
        raise click.UsageError(str(error)) from error
    click.get_current_context().call_on_close(lambda: _tell(writer.problem))
    return lambda feed: RecordedFeed(feed, writer)


def _tell(problem: str | None) -> None:
    """After the screen has closed, say that a recording is not whole."""
    if problem is not None:
        click.echo(f"hangtop: {problem}", err=True)
