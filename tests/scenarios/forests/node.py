"""One process of a forest. Runs by itself, without the project: `python -I -S node.py … @NUMBER`, with the forest in $FOREST.

It registers what it starts, takes TERM in its way, and sleeps. The names it is copied to (`torchrun`, `train.py`) are what the
command lines show.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time

FOLDER = os.environ["FOREST"]
TYPED = os.environ.pop("TYPED", None)
with open(os.path.join(FOLDER, "nodes.json")) as planted:
    NODES = {node["number"]: node for node in json.load(planted)}
NODE = NODES[int(sys.argv[-1].lstrip("@"))]
SHELL = ["/bin/sh", "-c", "trap '' HUP; while :; do sleep 600 & wait; done"]
"""What another user runs may not be able to read this interpreter."""


def register(kind, pid, number=None):
    """A line of its own, written at once: who, by pid and start time."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            start = stat.read().rpartition(")")[2].split()[19]
    except OSError:
        return
    line = f"{kind} {NODE['number'] if number is None else number} {pid} {start}\n"
    out = os.open(os.path.join(FOLDER, "registry"), os.O_WRONLY | os.O_APPEND)
    os.write(out, line.encode())
    os.close(out)


def start(number, again=False):
    """A child as its node says. What is started again was born during the stop."""
    node = NODES[number]
    child = dict(os.environ, **node["environ"])
    argv = (
        SHELL
        if node["user"]
        else [sys.executable, "-I", "-S", os.path.join(FOLDER, node["program"]), *node["words"], f"@{number}"]
    )
    options = {"start_new_session": node["session"], "cwd": FOLDER, "env": child, "stdin": subprocess.DEVNULL}
    if node["group"] and not node["session"]:
        options["process_group"] = 0
    if node["user"]:
        options["user"] = options["group"] = node["user"]
    if node["output"]:
        options["stdout"] = options["stderr"] = os.open(os.path.join(FOLDER, node["output"]), os.O_WRONLY | os.O_APPEND)
    if node["relay"]:
        relay = subprocess.Popen(
            ["tee", "-a", os.path.join(FOLDER, node["relay"])], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        register("relay", relay.pid, number)
        options["stdout"] = options["stderr"] = relay.stdin
    process = subprocess.Popen(argv, **options)
    if node["output"]:
        os.close(options["stdout"])
    kind = node["kind"]
    if again:
        kind = "born" if NODE["kind"] == "member" and kind == "member" else "respawned" if kind == "member" else kind
    register(kind, process.pid, number)
    if node["user"]:
        register("up", process.pid, number)
    if node["relay"]:
        relay.stdin.close()
    return process


def be_born(way):
    """In a handler of TERM: what is started here must end too, or be named."""
    pid = os.fork()
    if pid:
        register("born", pid)
        return
    if "setsid" in way:
        os.setsid()
    if "twice" in way and (second := os.fork()):
        register("born", second)
        os._exit(0)
    register("born", os.getpid())
    if "hydra" not in way:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if "stubborn" not in way else signal.SIG_IGN)
    if "silent" in way:
        null = os.open("/dev/null", os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        os.closerange(3, 64)
    if "exec" in way:
        os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", "saver"])
    time.sleep(600)
    os._exit(0)


def on_term(*_):
    way = NODE["way"]
    if NODE["kind"] != "member":
        register("hit", os.getpid())
        return
    for _ in range(3 if "many" in way else 1):
        be_born(way)
    if "lingers" in way:
        time.sleep(0.3)
    if "stays" not in way:
        os._exit(0)


def main():
    way = NODE["way"]
    if TYPED:
        register(NODE["kind"], os.getpid())
    if "ignores" in way:
        signal.signal(signal.SIGTERM, lambda *_: None)
    elif NODE["kind"] != "member" or "forks" in way:
        signal.signal(signal.SIGTERM, on_term)
    for name, mode in NODE["opens"]:
        os.open(os.path.join(FOLDER, name), os.O_RDONLY if mode == "r" else os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    if "daemon" in way:  # it left its parent before anybody looked
        if os.fork():
            os._exit(0)
        os.setsid()
        if os.fork():
            os._exit(0)
        register(NODE["kind"], os.getpid())
    children = {number: start(number) for number in NODE["children"]}
    print(f"step 1 of {NODE['number']}", flush=True)
    if "headless" in way:
        threading.Thread(target=time.sleep, args=(600,)).start()
        register("up", os.getpid())
        ctypes.CDLL(None).pthread_exit(None)
    register("up", os.getpid())
    while True:
        if "restarts" in way:
            for number, process in list(children.items()):
                if process.poll() is not None:
                    children[number] = start(number, again=True)
            time.sleep(0.02)
        elif "breeds" in way:
            breed()
        else:
            for process in children.values():
                process.poll()
            time.sleep(0.2)


def breed():
    """An innocent that starts others all the time, some of which it leaves behind, and some of which stay for good."""
    time.sleep(0.4)
    pid = os.fork()
    if pid == 0:
        if os.getpid() % 3 == 0:
            os.setsid()
        if os.getpid() % 2 and os.fork():
            os._exit(0)
        stays = os.getpid() % 8 == 0
        register("innocent" if stays else "brief", os.getpid())
        time.sleep(600 if stays else 0.3)
        os._exit(0)
    if pid % 8:
        register("brief", pid)
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
        except ChildProcessError:
            break


main()
