"""Each optimizer of PyTorch: learning rate and settings of its groups; and each scheduler."""

import gc

import torch
from torch.optim.lr_scheduler import LRScheduler

for thing in gc.get_objects():
    if issubclass(type(thing), torch.optim.Optimizer):
        for number, group in enumerate(thing.param_groups):
            told = {name: value for name, value in group.items() if name != "params"}
            print(type(thing).__name__, f"group {number}, {len(group['params'])} parameters:", told)
    elif issubclass(type(thing), LRScheduler):
        print(type(thing).__name__, f"at {thing.last_epoch}, last learning rates {thing._last_lr}")
