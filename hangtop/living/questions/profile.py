"""Profiles all threads with torch.profiler for some seconds, and writes a trace for perfetto. Arguments: seconds, path.

PyTorch's own library says a line or two on the program's stderr when it is begun by another thread than the main one.
"""

import os
import time

import torch
from torch.profiler import ProfilerActivity, _ExperimentalConfig, profile

seconds = float(arguments.get("seconds") or 2)
path = os.path.abspath(arguments.get("path") or f"profile-{os.getpid()}.json")
kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_initialized() else [])]
with profile(activities=kinds, experimental_config=_ExperimentalConfig(profile_all_threads=True)) as seen:
    time.sleep(seconds)
seen.export_chrome_trace(path)
print(seen.key_averages().table(sort_by="self_cpu_time_total", row_limit=12))
print(path)
