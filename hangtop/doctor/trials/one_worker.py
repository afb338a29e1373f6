"""Starts Ray by itself with one worker, in the run's interpreter: `python one_worker.py SECONDS FOLDER [MODULE]`. Its last line
is JSON.

It imports nothing of hangtop, joins no cluster, and ends what it started. `MODULE` is imported in the worker.
"""

import faulthandler
import json
import os
import sys
import time


def main(bound_s: float, folder: str, module: str) -> None:
    faulthandler.dump_traceback_later(bound_s, exit=True)  # where Ray itself does not come up
    began = time.monotonic()
    import ray

    imported_s = time.monotonic() - began
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False, _temp_dir=folder)
    started_s = time.monotonic() - began - imported_s
    here = os.getcwd()

    @ray.remote(num_cpus=1)  # type: ignore[untyped-decorator]
    def one() -> int:
        if module:
            import importlib

            sys.path.insert(0, here)
            importlib.import_module(module)
        return os.getpid()

    faulthandler.cancel_dump_traceback_later()
    answer = one.remote()
    done, _ = ray.wait([answer], timeout=max(1.0, bound_s - imported_s - started_s))
    if not done:
        ray.shutdown()
        sys.exit(f"Ray started in {started_s:.0f} s, its worker did not answer within {bound_s:.0f} s")
    pid = ray.get(answer)
    worked_s = time.monotonic() - began - imported_s - started_s
    ray.shutdown()
    sys.stdout.write(json.dumps({"import_s": imported_s, "ray_s": started_s, "worker_s": worked_s, "pid": pid}) + "\n")


main(float(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "")
