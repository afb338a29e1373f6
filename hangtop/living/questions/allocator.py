"""Writes CUDA's allocator snapshot to a file, for pytorch.org/memory_viz. Argument: path."""

import os
import pickle
import sys

torch = sys.modules.get("torch")
if torch is None or not torch.cuda.is_initialized():
    raise RuntimeError("this process has not begun to use CUDA")
path = os.path.abspath(arguments.get("path") or f"allocator-{os.getpid()}.pickle")
with open(path, "xb") as file:
    pickle.dump(torch.cuda.memory._snapshot(), file)
print(path)
