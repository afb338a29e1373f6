"""The daemons of a Ray cluster, by their command lines, which are kept in the probe for a restart. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from hangtop.common.addresses import is_loopback
from hangtop.common.secrets.redactor import Redactor
from hangtop.common.secrets.rules import MARK
from hangtop.probe.ray.local.start_options import options_of
from hangtop.records.ray.cluster import DaemonKind, RayPart
from hangtop.system.processes.table import Identity

LEADING = ("gcs_server", "raylet")
PROGRAMS: tuple[tuple[str, DaemonKind], ...] = (
    ("/ray/dashboard/dashboard.py", "dashboard"),
    ("/ray/autoscaler/_private/monitor.py", "autoscaler"),
    ("/ray/autoscaler/v2/monitor.py", "autoscaler"),
    ("/ray/_private/log_monitor.py", "log_monitor"),
    ("/ray/dashboard/agent.py", "agent"),
    ("/ray/_private/runtime_env/agent/main.py", "runtime_env_agent"),
    ("ray.util.client.server", "client_server"),
)
"""What the interpreter runs, by the end of one of its first words."""
TITLES: dict[str, DaemonKind] = {"ray::DashboardAgent": "agent", "ray::RuntimeEnvAgent": "runtime_env_agent"}
HIDDEN = "***"
"""What stands for a secret in the words of a start; a restart puts the secret back."""


class DaemonStart:
    """How a daemon was started, with secrets: a restart needs it. Stays in the probe, and does not show its text when printed.

    `environ`: empty until it could be read."""

    __slots__ = ("environ", "words")

    def __init__(self, words: tuple[str, ...] = (), environ: Mapping[str, str] | None = None) -> None:
        self.words, self.environ = words, environ or {}

    def __repr__(self) -> str:
        return "DaemonStart(hidden)"


class OfSession(Struct, frozen=True, kw_only=True):
    """A process of Ray on this machine. `folder`: of its session, where that is known."""

    identity: Identity = Identity(0, 0)
    started_at: float = 0.0
    state: str = "S"
    uid: int | None = None
    folder: str | None = None

    @property
    def pid(self) -> int:
        return self.identity.pid

    @property
    def session(self) -> str:
        """`session_<date>_<time>_<microseconds>_<pid>`; empty where it is not known."""
        return (self.folder or "").rstrip("/").rpartition("/")[2]


class Daemon(OfSession, frozen=True, kw_only=True):
    """A daemon. `gcs_address` and `dashboard`: `host:port`. `node`: id of its node.

    `socket`: of a raylet, its address and the path of its socket, which tell its node if it has no id (Ray 2.9).
    `on_our_network`: 127.0.0.1 is the same machine for it as for us."""

    kind: DaemonKind
    name: str = ""
    node: str | None = None
    gcs_address: str | None = None
    dashboard: str | None = None
    socket: tuple[str, str] = ("", "")
    cwd: str | None = None
    gone_at: float | None = None
    start: DaemonStart = DaemonStart()
    on_our_network: bool = False

    def part(self) -> RayPart:
        return RayPart(
            self.kind, self.pid, self.started_at, self.identity.start_ticks, self.state, self.node, self.name, self.gone_at
        )


def missing_daemons(daemons: Iterable[Daemon]) -> tuple[DaemonKind, ...]:
    """What must run beside these daemons of one session, and was never seen: the head has a GCS and a raylet, both or none."""
    known = tuple(daemons)
    alive = [daemon for daemon in known if daemon.gone_at is None and daemon.state != "Z"]
    kinds = {daemon.kind for daemon in known}
    heads = any(daemon.kind == "raylet" and "--head" in daemon.start.words for daemon in alive)
    if heads and "gcs_server" not in kinds:
        return ("gcs_server",)
    return ("raylet",) if any(daemon.kind == "gcs_server" for daemon in alive) and "raylet" not in kinds else ()


def addresses_of(daemons: Iterable[Daemon], hostname: str) -> tuple[str, ...]:
    """Every `host:port` of a session, GCS first: as its daemons name them, and by the other names of this machine where the
    listening daemon is here. 127.0.0.1 is left out where it means another machine."""
    found: dict[str, None] = {}
    near = sorted((d for d in daemons if d.gcs_address or d.dashboard), key=lambda daemon: daemon.kind != "gcs_server")
    head = next((daemon.gcs_address for daemon in near if daemon.kind == "gcs_server"), None)
    for daemon in near:
        client = options_of(daemon.start.words).get("port") if daemon.kind == "client_server" else None
        own = {"gcs_server": daemon.gcs_address, "dashboard": daemon.dashboard}.get(daemon.kind)
        listens = f"{(head or '').rpartition(':')[0]}:{client}" if client and head else own
        for address in (daemon.gcs_address, daemon.dashboard, listens):
            if address and (daemon.on_our_network or not is_loopback(address)):
                found[address] = None
        if listens and head and daemon.on_our_network:
            port = listens.rpartition(":")[2]
            hosts = (head.rpartition(":")[0], "127.0.0.1", hostname)
            found.update((f"{host}:{port}", None) for host in hosts if host)
    return tuple(found)


def daemon_of(words: Sequence[str]) -> Daemon | None:
    """The daemon of this command line; `None` when it is none."""
    kind = _kind(words)
    if kind is None:
        return None
    options = options_of(words)
    logs = options.get("logs-dir") or options.get("log-dir", "")
    return Daemon(
        kind=kind,
        folder=options.get("session-dir") or logs.removesuffix("/logs") or None,
        node=options.get("node-id"),
        gcs_address=_gcs(kind, options),
        dashboard=_dashboard(kind, options),
        socket=(options.get("node-ip-address", ""), options.get("raylet-socket-name", "")),
        start=DaemonStart(tuple(words)),
    )


def daemon_by_title(title: str) -> Daemon | None:
    """The daemon that has set this title in place of its command line, which is lost with it."""
    if title.startswith("ray-dashboard-"):
        name = title.split("(")[0].strip().removeprefix("ray-dashboard-").partition("-")[0]
        return Daemon(kind="dashboard_part", name=name)
    return Daemon(kind=TITLES[title]) if title in TITLES else None


@lru_cache(maxsize=1_024)
def without_secrets(word: str) -> str:
    """A word of a command line with passwords and tokens taken out."""
    return Redactor().text(word).replace(MARK, HIDDEN)


def _kind(words: Sequence[str]) -> DaemonKind | None:
    match words[0].rpartition("/")[2]:
        case ("raylet" | "gcs_server") as kind:
            return kind
    return next((kind for word in words[1:4] for end, kind in PROGRAMS if word.endswith(end)), None)


def _gcs(kind: DaemonKind, options: Mapping[str, str]) -> str | None:
    if kind == "gcs_server":
        return f"{options.get('node-ip-address', '127.0.0.1')}:{options.get('gcs-server-port', '6379')}"
    return options.get("gcs-address") or (options.get("address") if kind == "client_server" else None)


def _dashboard(kind: DaemonKind, options: Mapping[str, str]) -> str | None:
    """A dashboard knows its own address; a raylet passes it to its workers. Without frontend (`--include-dashboard=false`) there
    is none."""
    if kind == "dashboard" and "disable-frontend" not in options:
        host = options.get("host", "127.0.0.1")
        return f"{'127.0.0.1' if host in ('0.0.0.0', '::', '') else host}:{options.get('port', '8265')}"
    match = re.search(r"--webui=(\S+:\d+)", options.get("python-worker-command", ""))
    return match[1] if kind == "raylet" and match else None
