"""Run by the cluster's own Python, not by hangtop's: one short task on each node that calls py-spy there, then all of it ends.

Usage: hangtop_stacks.py GCS_ADDRESS, with `{"<node id>": [pid, …]}` on stdin. Each node's answer is a line on stdout:
`hangtop ` and JSON, `{"node": …, "dumps": {"<pid>": [threads or null, error]}}` or `{"node": …, "error": …}`.
For Python 3.8 and later.
"""

from __future__ import annotations

import json
import logging
import sys

WAIT_S = 25.0


def dump(pids: list[int]) -> dict[str, object]:
    """On the node: py-spy for each of these processes, none of which is stopped."""
    import os
    import shutil
    import subprocess
    import sys

    beside = os.path.join(os.path.dirname(sys.executable), "py-spy")
    tool = beside if os.path.exists(beside) else shutil.which("py-spy")
    if tool is None:
        return {str(pid): [None, "no py-spy"] for pid in pids}
    argv = [tool, "dump", "--json", "--nonblocking", "--pid"]
    running = {
        pid: subprocess.Popen([*argv, str(pid)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for pid in pids
    }
    dumps: dict[str, object] = {}
    for pid, process in running.items():
        try:
            out, err = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            dumps[str(pid)] = [None, "py-spy did not answer within 5 s"]
            continue
        text = err.decode("utf-8", "replace").strip()
        try:
            dumps[str(pid)] = [json.loads(out), ""] if process.returncode == 0 else [None, text or "py-spy failed"]
        except ValueError:
            dumps[str(pid)] = [None, "py-spy printed what is no JSON"]
    return dumps


def main() -> None:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    wanted = json.load(sys.stdin)
    ray.init(address=sys.argv[1], namespace="hangtop", log_to_driver=False, logging_level=logging.ERROR)
    task = ray.remote(num_cpus=0, max_retries=0)(dump)
    waiting = {}
    for node, pids in wanted.items():
        there = NodeAffinitySchedulingStrategy(node, soft=False)
        waiting[task.options(name="hangtop stacks", scheduling_strategy=there).remote(pids)] = node
    while waiting:
        ready, _ = ray.wait(list(waiting), num_returns=1, timeout=WAIT_S)
        if not ready:
            break
        node = waiting.pop(ready[0])
        try:
            said: dict[str, object] = {"node": node, "dumps": ray.get(ready[0])}
        except Exception as error:  # whatever keeps a task from running is told, and the other nodes go on
            said = {"node": node, "error": str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__}
        tell(said)
    for node in waiting.values():
        tell({"node": node, "error": f"no answer within {WAIT_S:g} s"})


def tell(said: dict[str, object]) -> None:
    sys.stdout.write("hangtop " + json.dumps(said) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
