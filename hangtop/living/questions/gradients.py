"""Gradients that are not finite, by parameter, and the norm of the others. Of tensors on a GPU nothing is read while it stands."""

import gc
import time

import torch

GPU_S = 5.0


def told(tensor):
    """The values that say it, or None where the GPU does not answer within some seconds. A stream of its own waits for no other."""
    values = torch.stack([tensor.isfinite().all().float(), tensor.float().norm()])
    if not tensor.is_cuda:
        return values.tolist()
    there, done = values.to("cpu", non_blocking=True), torch.cuda.Event()
    done.record()
    ends_at = time.monotonic() + GPU_S
    while not done.query():
        if time.monotonic() > ends_at:
            return None
        time.sleep(0.05)
    return there.tolist()


def look():
    inner = set()
    models = [thing for thing in gc.get_objects() if issubclass(type(thing), torch.nn.Module)]
    for model in models:
        inner.update(id(child) for child in model.modules() if child is not model)
    for model in (model for model in models if id(model) not in inner):
        total, bad = 0.0, []
        for name, parameter in model.named_parameters():
            if parameter.grad is None:
                continue
            gradient = parameter.grad.to_local() if hasattr(parameter.grad, "to_local") else parameter.grad
            with torch.cuda.stream(torch.cuda.Stream(gradient.device)) if gradient.is_cuda else torch.no_grad():
                values = told(gradient.detach())
            if values is None:
                print("the GPU does not answer: no gradient is read")
                return
            bad += [] if values[0] else [name]
            total += values[1] ** 2 if values[0] else 0.0
        print(f"{type(model).__name__}: norm of the finite ones {total**0.5:.6g}, not finite: {', '.join(bad) or 'none'}")


look()
