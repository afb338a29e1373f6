"""Saves what can be saved: weights, optimizers and schedulers of this process, into a new file. Arguments: path, copies.

`path`: the file, or with a slash at its end the folder for it. With `copies=no` nothing is saved where all that this rank has is a
copy of what the first rank of its group has (DDP).
Of weights that are sharded over ranks the file has this rank's part. Nothing waits for other ranks. What lies on a GPU is copied by
a stream of its own, and only as long as the GPU answers.
"""

import gc
import os
import shutil
import time

import torch

GPU_S = 20.0
ends_at = time.monotonic() + GPU_S


def local(value):
    """A tensor in main memory: of a sharded one the part of this rank. Other values as they are."""
    if isinstance(value, dict):
        return {key: local(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(local, value)) if type(value) in (list, tuple) else value
    if not isinstance(value, torch.Tensor):
        return value
    here = value.detach()
    here = here.to_local() if hasattr(here, "to_local") else here
    if not here.is_cuda:
        return here
    with torch.cuda.stream(torch.cuda.Stream(here.device)):
        copied, done = here.to("cpu", non_blocking=True), torch.cuda.Event()
        done.record()
    while not done.query():
        if time.monotonic() > ends_at:
            raise RuntimeError("the GPU does not answer: nothing is saved")
        time.sleep(0.05)
    return copied


def is_sharded(model):
    """Whether its own state_dict() would wait for other ranks, or has only a part: FSDP, fully_shard, ZeRO-3."""
    kinds = any(kind.__name__ == "FullyShardedDataParallel" for part in model.modules() for kind in type(part).__mro__)
    return kinds or any(hasattr(each, "to_local") or hasattr(each, "ds_id") for each in model.parameters())


def part_of(model):
    """The parameters and buffers of this rank."""
    named = {name: getattr(each, "ds_tensor", each) for name, each in model.named_parameters()}
    return {name: local(each) for name, each in (*named.items(), *model.named_buffers())}


def is_copy(models):
    """Whether each of these, outermost models, is one of several that DDP keeps alike, and not the first. Asks no other rank."""
    groups = [getattr(model, "process_group", None) if type(model).__name__ == "DistributedDataParallel" else None for model in models]
    return bool(groups) and all(group is not None and torch.distributed.get_rank(group) > 0 for group in groups)


def size_of(value):
    if isinstance(value, torch.Tensor):
        return value.element_size() * value.nelement()
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return sum(map(size_of, inner))


def save():
    found = gc.get_objects()
    models = [thing for thing in found if issubclass(type(thing), torch.nn.Module)]
    inner = {id(part) for model in models for part in model.modules() if part is not model}
    outermost = [model for model in models if id(model) not in inner and any(True for _ in model.parameters())]
    if arguments.get("copies") == "no" and is_copy(outermost):
        print(f"rank {os.environ.get('RANK')} has a copy of the first rank's weights: not saved again")
        return
    saved = {"models": [], "optimizers": [], "schedulers": [], "rank": os.environ.get("RANK"), "at": time.time()}
    for model in outermost:
        sharded = is_sharded(model)
        weights = part_of(model) if sharded else local(dict(model.state_dict()))
        saved["models"].append({"class": type(model).__name__, "sharded": sharded, "weights": weights})
    for thing in found:
        if issubclass(type(thing), torch.optim.Optimizer) and thing.param_groups:
            saved["optimizers"].append({"class": type(thing).__name__, "state": local(thing.state_dict())})
        elif issubclass(type(thing), torch.optim.lr_scheduler.LRScheduler):
            saved["schedulers"].append({"class": type(thing).__name__, "state": local(thing.state_dict())})
    if not saved["models"]:
        raise RuntimeError("this process has no torch model")
    write(saved)


def write(saved):
    asked = arguments.get("path") or ""
    who = f"pid{os.getpid()}" if saved["rank"] is None else f"rank{saved['rank']}-pid{os.getpid()}"  # of Ray several have one rank
    file = f"hangtop-rescue-{who}-{int(saved['at'])}.pt"
    path = os.path.abspath(os.path.join(asked, file) if not asked or asked.endswith("/") else asked)
    if asked.endswith("/"):
        os.makedirs(asked, exist_ok=True)
    needed, free = size_of(saved), shutil.disk_usage(os.path.dirname(path)).free
    if free < 1.1 * needed + (64 << 20):
        raise RuntimeError(f"{needed >> 20} MiB do not fit: {free >> 20} MiB are free at {os.path.dirname(path)}")
    if os.path.exists(path):
        raise FileExistsError(f"{path} is there already: give another path")
    part = f"{path}.{os.getpid()}.part"
    try:
        torch.save(saved, part)
        os.rename(part, path)
    finally:
        if os.path.exists(part):
            os.unlink(part)
    parts = [f"{each['class']}{' (this rank of it)' if each['sharded'] else ''}" for each in saved["models"]]
    print(f"{path}: {needed >> 20} MiB, {', '.join(parts)}, {len(saved['optimizers'])} optimizers, {len(saved['schedulers'])} schedulers")


save()
