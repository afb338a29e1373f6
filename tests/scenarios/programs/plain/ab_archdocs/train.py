"""Three ranks read documents with a pool of four threads each; some documents are archives of documents."""

import hashlib
import random
import time
from concurrent.futures import Future, ThreadPoolExecutor

import torch
import torch.distributed as dist

Document = str | list["Document"]


def documents(rank: int, step: int) -> list[Document]:
    """What a rank reads for one step."""
    rng = random.Random(rank * 1000 + step)
    plain: list[Document] = ["".join(rng.choices("abcdefgh ", k=400)) for _ in range(6)]
    if step % 9 == 4:
        plain[rng.randrange(6)] = [str(part) for part in plain[:3]]
    if rank == 2 and step == 31:
        return [[str(part), str(part)[::-1]] for part in plain]
    return plain


def vector(pool: ThreadPoolExecutor, document: Document) -> torch.Tensor:
    """The hashed words of a document, of an archive the mean of those in it."""
    if isinstance(document, list):
        parts: list[Future[torch.Tensor]] = [pool.submit(vector, pool, part) for part in document]
        return torch.stack([part.result() for part in parts]).mean(0)
    time.sleep(0.05)
    counts = torch.zeros(64)
    for word in document.split():
        counts[hashlib.sha1(word.encode()).digest()[0] % 64] += 1
    return counts / counts.norm()


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    weight = torch.zeros(64)
    with ThreadPoolExecutor(4) as pool:
        for step in range(1, 300):
            batch = torch.stack(list(pool.map(lambda document: vector(pool, document), documents(rank, step))))
            grad = ((batch @ weight - 1.0) / 6).unsqueeze(1).mul(batch).sum(0)
            dist.all_reduce(grad)
            weight -= 0.5 * grad / 3
            time.sleep(0.1)
            if rank == 0:
                print(f"step={step} error={(batch @ weight - 1).abs().mean().item():.4f}", flush=True)
    dist.destroy_process_group()


main()
