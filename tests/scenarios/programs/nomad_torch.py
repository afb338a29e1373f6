"""The same with torch and gloo: each rank is started by a shell, and they meet by a file.

    nomad_torch.py CASE --folder F

Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from scripts import LIFE_S, PYTHON, RANK, ranks, shell

TORCH = (
    RANK + "import torch, torch.distributed as dist\nfrom datetime import timedelta\ntorch.set_num_threads(1)\n"
    "dist.init_process_group('gloo', init_method='file://' + os.path.abspath('store'), rank=rank, world_size=world,"
    " timeout=timedelta(hours=1))\npathlib.Path('imported').touch()\n"
)


def asks_for_key(folder: Path) -> None:
    """Rank 0 waits for a key of the store that nobody sets, the others are in a barrier."""
    ranks(
        folder,
        TORCH + "for step in range(1, 50):\n    time.sleep(0.1)\n"
        "    if rank == 0 and step == 6:\n        store = dist.TCPStore('127.0.0.1', 0, 1, True); store.wait(['model_ready'], timedelta(hours=1))\n"
        "    dist.barrier()\n    if rank == 0: print(f'step {step}/50', flush=True)\n",
        3,
    )


def debugger(folder: Path) -> None:
    """Rank 1 stands at a breakpoint, the others in all_reduce."""
    (folder / "train.py").write_text(
        TORCH + "for step in range(1, 50):\n    time.sleep(0.1)\n    if rank == 1 and step == 6: breakpoint()\n"
        "    dist.all_reduce(torch.ones(1))\n    if rank == 0: print(f'step {step}/50', flush=True)\n"
    )
    shell(folder, f"for r in 0 1 2 3; do RANK=$r WORLD_SIZE=4 {PYTHON} -u train.py < <(sleep {LIFE_S}) & done; wait")


def swallowed(folder: Path) -> None:
    """Rank 2 catches an error of its batch and goes on with the next: one collective less, and it ends in a barrier."""
    ranks(
        folder,
        TORCH + "for step in range(1, 12):\n    time.sleep(0.1)\n    try:\n"
        "        if rank == 2 and step == 6: raise ValueError('label out of range')\n"
        "        dist.all_reduce(torch.ones(1))\n    except ValueError as error: print(f'rank {rank}: skipped batch: {error}', flush=True)\n"
        "    if rank == 0: print(f'step {step}/11', flush=True)\ndist.barrier()\n",
        4,
    )


def saver_thread(folder: Path) -> None:
    """Rank 0 waits for its thread that saves, which waits for a lock; the others are in the next all_reduce."""
    ranks(
        folder,
        TORCH + "disk = threading.Lock(); disk.acquire()\ndef write():\n    with disk: pass\n"
        "for step in range(1, 50):\n    time.sleep(0.1)\n"
        "    if rank == 0 and step == 6:\n        t = threading.Thread(target=write); t.start(); t.join()\n"
        "    dist.all_reduce(torch.ones(1))\n    if rank == 0: print(f'step {step}/50', flush=True)\n",
        4,
    )


def hashes_for_ever(folder: Path) -> None:
    """Rank 1 of two looks for a free seed, and the condition never holds."""
    ranks(
        folder,
        TORCH + "def free_seed(seed):\n    found = False\n    while not found:\n        seed = hash(str(seed)) % 1000003\n    return seed\n"
        "for step in range(1, 50):\n    time.sleep(0.1)\n    if rank == 1 and step == 6: free_seed(step)\n"
        "    dist.all_reduce(torch.ones(1))\n    if rank == 0: print(f'step {step}/50', flush=True)\n",
        2,
    )


def remote_samples(folder: Path) -> None:
    """Two ranks; every sample of the DataLoader takes a second and a half from far away."""
    ranks(
        folder,
        TORCH + "from torch.utils.data import DataLoader, Dataset\n"
        "class Far(Dataset):\n    def __len__(self): return 10000\n    def __getitem__(self, i):\n        time.sleep(1.5)\n        return torch.zeros(3)\n"
        "print(f'rank {rank}: epoch 0', flush=True)\nfor batch in DataLoader(Far(), batch_size=16, num_workers=2):\n    dist.all_reduce(torch.ones(1))\n",
        2,
    )


def remote_sample_lost(folder: Path) -> None:
    """Rank 1's DataLoader worker asks again and again whether its file has come; it never does."""
    ranks(
        folder,
        TORCH + "from torch.utils.data import DataLoader, Dataset\n"
        "class Far(Dataset):\n    def __len__(self): return 10000\n    def __getitem__(self, i):\n"
        "        while rank == 1 and i > 40 and not os.path.exists(f'sample-{i}'): time.sleep(0.5)\n        return torch.zeros(3)\n"
        "for step, batch in enumerate(DataLoader(Far(), batch_size=8, num_workers=2)):\n    time.sleep(0.1); dist.all_reduce(torch.ones(1))\n"
        "    if rank == 0: print(f'step {step}/1250', flush=True)\n",
        2,
    )


def evaluates(folder: Path) -> None:
    """Rank 0 of three scores answers in plain Python, the others wait at the barrier."""
    ranks(
        folder,
        TORCH + "def edit_distance(a, b):\n    row = list(range(len(b) + 1))\n    for i, x in enumerate(a, 1):\n        last, row[0] = row[0], i\n"
        "        for j, y in enumerate(b, 1): last, row[j] = row[j], min(row[j] + 1, row[j-1] + 1, last + (x != y))\n    return row[-1]\n"
        "for step in range(1, 6):\n    time.sleep(0.1); dist.all_reduce(torch.ones(1))\n    if rank == 0: print(f'step {step}/50', flush=True)\n"
        "if rank == 0:\n    print('***** Running Evaluation *****', flush=True)\n    for n in range(10000): edit_distance('abcde' * 100, 'bcdea' * 100)\ndist.barrier()\n",
        3,
    )


if __name__ == "__main__":
    signal.alarm(LIFE_S)
    globals()[sys.argv[1]](Path(sys.argv[sys.argv.index("--folder") + 1]))
