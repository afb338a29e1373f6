"""Each data loader of PyTorch: workers, batch size, time limit, and its dataset."""

import gc

from torch.utils.data import DataLoader

for loader in gc.get_objects():
    if not issubclass(type(loader), DataLoader):
        continue
    told = ("num_workers", "batch_size", "prefetch_factor", "timeout", "pin_memory", "persistent_workers", "drop_last")
    print(type(loader).__name__, *(f"{name}={getattr(loader, name, None)}" for name in told))
    length = len(loader.dataset) if hasattr(type(loader.dataset), "__len__") else "unknown"
    print(f"  dataset={type(loader.dataset).__name__} length={length} sampler={type(loader.sampler).__name__}")
