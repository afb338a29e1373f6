"""What fills the memory: Python's objects by type, the tensors, and CUDA's own summary."""

import gc
from collections import Counter

objects = gc.get_objects()
print(f"garbage collector: {len(objects)} objects, counts {gc.get_count()}, enabled {gc.isenabled()}")
for kind, count in Counter(type(thing).__name__ for thing in objects).most_common(12):
    print(f"{count:10}  {kind}")

import sys

if (torch := sys.modules.get("torch")) is not None:
    sizes = Counter()
    for thing in objects:
        if issubclass(type(thing), torch.Tensor):
            sizes[f"{thing.device} {thing.dtype}"] += thing.element_size() * thing.nelement()
    for kind, count in sizes.most_common(12):
        print(f"{count / 1e6:10.1f} MB in tensors on {kind}")
    if torch.cuda.is_initialized():
        print(torch.cuda.memory_summary())
