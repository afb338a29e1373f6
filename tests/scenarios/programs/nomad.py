"""A second lot of runs by somebody who had seen the first: scripts written into the folder and started as people start them.

    nomad.py CASE --folder F

Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from scripts import BY_FILES, LIFE_S, PYTHON, RANK, START, ranks, script, shell

# one process


def thread_ranks(folder: Path) -> None:
    """Four threads of one process meet at a barrier; one of them waits for a lock that it holds."""
    script(
        folder,
        "meet = threading.Barrier(4)\n"
        "def replica(number):\n"
        "    lock = threading.Lock()\n"
        "    for step in range(1, 100):\n"
        "        time.sleep(0.1)\n"
        "        if number == 2 and step == 7:\n            lock.acquire(); lock.acquire()\n"
        "        meet.wait()\n"
        "        if number == 0: print(f'step {step}/100 loss {2/step:.3f}')\n"
        "all = [threading.Thread(target=replica, args=(n,)) for n in range(4)]\n"
        "for thread in all: thread.start()\nfor thread in all: thread.join()\n",
    )


def imports(folder: Path) -> None:
    """A module asks a server when it is imported, and gets no answer."""
    (folder / "tracking.py").write_text("import socket\nlisten = socket.create_server(('127.0.0.1', 0))\nline = socket.create_connection(listen.getsockname())\nline.recv(1)\n")
    script(folder, "print('Importing libraries ...')\nimport tracking\n")


def executor(folder: Path) -> None:
    """A coroutine awaits a function in a thread, which waits for a lock."""
    script(
        folder,
        "import asyncio\nguard = threading.Lock(); guard.acquire()\n"
        "async def main():\n"
        "    for turn in range(5):\n        await asyncio.sleep(0.2); print('episode', turn, 'reward 0.1')\n"
        "    await asyncio.get_running_loop().run_in_executor(None, guard.acquire)\n"
        "asyncio.run(main())\n",
    )


def wrapper(folder: Path) -> None:
    """A wrapper starts the training and passes its output on; the training waits for a file lock of another program."""
    (folder / "train.py").write_text(
        START + "import fcntl\nfor e in range(4):\n    print(f'Epoch {e}: train_loss=0.{9-e} val_loss=0.{9-e}', flush=True); time.sleep(0.3)\n"
        "f = open('registry.lock', 'w'); fcntl.flock(f, fcntl.LOCK_EX)\n"
    )
    (folder / "run.py").write_text(
        START + f"import fcntl, subprocess\nheld = open('registry.lock', 'w'); fcntl.flock(held, fcntl.LOCK_EX)\n"
        f"child = subprocess.Popen([{PYTHON!r}, 'train.py'], stdout=subprocess.PIPE, text=True)\n"
        "for line in child.stdout: print('[train]', line.rstrip(), flush=True)\n"
    )
    subprocess.run([PYTHON, "run.py"], cwd=folder, check=False)


def steps_of_shell(folder: Path) -> None:
    """A job script of several programs; the second waits for a line from its standard input."""
    (folder / "prepare.py").write_text("print('prepared 12000 samples')\n")
    (folder / "train.py").write_text(START + "print('epoch 1', flush=True)\nsys.stdin.readline()\n")
    shell(folder, f"sleep 200 | (set -e; {PYTHON} prepare.py; {PYTHON} train.py; {PYTHON} prepare.py)")


def bar_stops(folder: Path) -> None:
    """A progress bar that stops at 45 %: select() on a socket that says nothing."""
    script(
        folder,
        "import select\na, b = socket.socketpair()\n"
        "for i in range(46):\n    sys.stdout.write(f'\\rMap:  {i:2d}%|####      | {i*100}/10000 [00:0{i//10}<00:09, 990 examples/s]'); sys.stdout.flush(); time.sleep(0.05)\n"
        "select.select([a], [], [])\n",
    )


def killed_alone(folder: Path) -> None:
    """A training below a shell is killed; the shell goes on to copy results, which takes for ever."""
    (folder / "train.py").write_text(START + "for s in range(6): print('step', s, 'loss', 1/(s+1), flush=True); time.sleep(0.3)\nos.kill(os.getpid(), 9)\n")
    shell(folder, f"{PYTHON} train.py; exec sleep {LIFE_S}")


def compiled(folder: Path) -> None:
    """Three ranks in C; one waits in pause(), the others read from it."""
    compile_c(folder, 'if (rank == 1) pause(); else { int p[2]; pipe(p); char c; read(p[0], &c, 1); }')


def compiled_works(folder: Path) -> None:
    """Three ranks in C that compute."""
    compile_c(folder, "double x = rank; for (;;) x = x * 1.0000001 + 1e-9; printf(\"%f\", x);")


def compile_c(folder: Path, body: str) -> None:
    (folder / "solver.c").write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\nint main() { int rank = atoi(getenv(\"RANK\"));\n"
        f"alarm({LIFE_S}); setbuf(stdout, 0);\nfor (int s = 1; s < 6; s++) {{ printf(\"rank %d iteration %d residual 0.%d\\n\", rank, s, 9 - s); usleep(200000); }}\n{body} }}\n"
    )
    shell(folder, "gcc -O1 -w solver.c -o solver && (for r in 0 1 2; do RANK=$r WORLD_SIZE=3 ./solver & done; wait)")


def tracker_binary(folder: Path) -> None:
    """The training keeps a helper that is no Python, as trackers do, and waits for a lock."""
    script(
        folder,
        "import subprocess\nhelper = subprocess.Popen(['sleep', '190'])\n"
        "for s in range(1, 6): print(f'step {s}/90 loss {1/s:.2f}'); time.sleep(0.2)\nlock = threading.Lock(); lock.acquire(); lock.acquire()\n",
    )


def monitor_child(folder: Path) -> None:
    """The training keeps a process of its own that watches the machine, and waits for a queue that nobody fills."""
    script(
        folder,
        "import multiprocessing as mp, queue\n"
        "def watch():\n    while True:\n        pathlib.Path('/proc/loadavg').read_text(); time.sleep(1)\n"
        "mp.get_context('fork').Process(target=watch, daemon=True).start()\n"
        "for s in range(1, 6): print(f'step {s}/90 loss {1/s:.2f}'); time.sleep(0.2)\nqueue.Queue().get()\n",
    )


def scored_far_away(folder: Path) -> None:
    """Four threads ask a model far away, over half a second an answer; the main thread waits for their results in order."""
    script(
        folder,
        "from concurrent.futures import ThreadPoolExecutor\ndef score(number):\n    time.sleep(0.6)\n    return number\n"
        "print('scoring 4000 samples')\nwith ThreadPoolExecutor(4) as pool: list(pool.map(score, range(4000)))\n",
    )


def fetched_by_pool(folder: Path) -> None:
    """A pool of four processes fetches files, over half a second each; the training waits for all of them."""
    script(
        folder,
        "import multiprocessing as mp\ndef fetch(number):\n    time.sleep(0.6)\n    return number\n"
        "print('fetching 5000 files with 4 workers')\nwith mp.get_context('fork').Pool(4) as pool: pool.map(fetch, range(5000), chunksize=10)\n",
    )


def accumulates(folder: Path) -> None:
    """The main thread takes 256 batches from a queue before its first step; its own thread puts one every 0.8 s."""
    script(
        folder,
        "import queue\nready = queue.Queue(2)\ndef produce():\n    for n in range(10000): time.sleep(0.8); ready.put(n)\n"
        "threading.Thread(target=produce, daemon=True).start()\nprint('accumulating 256 micro batches')\n"
        "for step in range(100): batch = [ready.get() for _ in range(256)]; print('step', step)\n",
    )


# several processes


def upload_script(folder: Path) -> None:
    """Rank 0 waits for a shell script that packs a part and rests, again and again; the others are at the barrier."""
    ranks(
        folder,
        BY_FILES + "import subprocess\nfor step in range(1, 6):\n    time.sleep(0.1); meet(step)\n    if rank == 0: print(f'step {step}/50', flush=True)\n"
        "if rank == 0:\n    print('uploading checkpoint', flush=True)\n"
        "    subprocess.run('for i in $(seq 200); do head -c 3000000 /dev/urandom | gzip > part.gz; sleep 1; done', shell=True)\nmeet(6)\n",
        4,
    )


def board_beside(folder: Path) -> None:
    """A parent of four forked ranks keeps a board that serves metrics; rank 2 waits for an event."""
    script(
        folder,
        "import multiprocessing as mp\nmp = mp.get_context('fork')\n"
        "def board():\n    import http.server\n    http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler).serve_forever()\n"
        "def rank_main(rank, meet):\n    for step in range(1, 90):\n        time.sleep(0.1)\n"
        "        if rank == 2 and step == 6: threading.Event().wait()\n        meet.wait()\n        if rank == 0: print(f'step {step}/90')\n"
        "meet = mp.Barrier(4)\nmp.Process(target=board, daemon=True).start()\n"
        "all = [mp.Process(target=rank_main, args=(r, meet)) for r in range(4)]\nfor process in all: process.start()\nfor process in all: process.join()\n",
    )


def waits_in_vain(folder: Path) -> None:
    """Rank 3 looks for a file for an hour, which nobody will write; the others wait for it."""
    ranks(
        folder,
        BY_FILES + "for step in range(1, 100):\n    time.sleep(0.1)\n"
        "    if rank == 3 and step == 6:\n        while not os.path.exists('shard-00003.ready'): time.sleep(1)\n"
        "    meet(step)\n    if rank == 0: print(f'step {step}/100', flush=True)\n",
        4,
    )


def polite_barrier(folder: Path) -> None:
    """Six ranks meet by files, and each looks for an hour at most; rank 1 waits for a thread that waits for it."""
    ranks(
        folder,
        BY_FILES + "def evaluate():\n    done = threading.Event()\n    t = threading.Thread(target=done.wait); t.start(); t.join()\n"
        "for step in range(1, 100):\n    time.sleep(0.1)\n    if rank == 1 and step == 6: evaluate()\n"
        "    meet(step)\n    if rank == 0: print(f'step {step}/100', flush=True)\n",
        6,
    )


def three_nodes(folder: Path) -> None:
    """Twelve ranks below three launchers, each in a session of its own; rank 7 waits for a semaphore."""
    (folder / "train.py").write_text(
        BY_FILES.replace("for _ in range(36000):", "while True:")
        + "for step in range(1, 100):\n    time.sleep(0.1)\n    if rank == 7 and step == 6:\n        s = threading.Semaphore(0); s.acquire()\n"
        "    meet(step)\n    if rank == 0: print(f'[rank0] step {step}/100 tgs 1234', flush=True)\n"
    )
    node = f"for r in 0 1 2 3; do RANK=$((4*NODE+r)) LOCAL_RANK=$r WORLD_SIZE=12 {PYTHON} -u train.py & done; wait"
    nodes = [subprocess.Popen(["bash", "-c", node], cwd=folder, env=os.environ | {"NODE": str(n)}, start_new_session=True) for n in range(3)]
    for launcher in nodes:
        launcher.wait()


def done_but_one(folder: Path) -> None:
    """Rank 0 said that the training is over; rank 2 hangs at its end."""
    ranks(
        folder,
        BY_FILES + "for step in range(1, 7):\n    time.sleep(0.1); meet(step)\n    if rank == 0: print(f'step {step}/6', flush=True)\n"
        "if rank == 0: print('Training completed.', flush=True)\nif rank == 2: threading.Event().wait()\n",
        3,
    )


def queue_stages(folder: Path) -> None:
    """Four stages of a pipeline with bounded queues between them; stage 2 waits for an event of its own."""
    script(
        folder,
        "from multiprocessing import Process, Queue\n"
        "def stage(number, source, target):\n    for micro in range(1, 10**6):\n        item = source.get()\n"
        "        if number == 2 and micro == 9: threading.Event().wait()\n        time.sleep(0.02); target.put(item)\n"
        "def feed(target):\n    for micro in range(10**6): target.put(micro)\n"
        "queues = [Queue(4) for _ in range(5)]\n"
        "for n in range(4): Process(target=stage, args=(n, queues[n], queues[n + 1])).start()\n"
        "threading.Thread(target=feed, args=(queues[0],), daemon=True).start()\n"
        "while True: print('microbatch', queues[4].get(), 'done')\n",
    )


def two_barriers(folder: Path) -> None:
    """Eight ranks; half of them enter two barriers in one order, half in the other."""
    script(
        folder,
        "from multiprocessing import Barrier, Process\n"
        "def tensor_sync(): first.wait(); second.wait()\ndef data_sync(): second.wait(); first.wait()\n"
        "def rank_main(rank):\n    for step in range(1, 6):\n        time.sleep(0.1); start.wait()\n"
        "        if rank == 0: print(f'step {step}/50')\n    (tensor_sync if rank < 4 else data_sync)()\n"
        "start, first, second = Barrier(8), Barrier(8), Barrier(8)\n"
        "all = [Process(target=rank_main, args=(r,)) for r in range(8)]\nfor process in all: process.start()\nfor process in all: process.join()\n",
    )


def one_of_four_servants(folder: Path) -> None:
    """A driver asks four workers over pipes, step by step; worker 3 takes a lock twice."""
    script(
        folder,
        "from multiprocessing import Pipe, Process\n"
        "def serve(number, line):\n    lock = threading.Lock()\n    while True:\n        job = line.recv()\n"
        "        if number == 3 and job == 6:\n            lock.acquire(); lock.acquire()\n        time.sleep(0.1); line.send(job)\n"
        "pipes = [Pipe() for _ in range(4)]\nfor n, (_, far) in enumerate(pipes): Process(target=serve, args=(n, far), daemon=True).start()\n"
        "for job in range(1, 100):\n    for near, _ in pipes: near.send(job)\n    for near, _ in pipes: near.recv()\n"
        "    print(f'iteration {job}/100 reward_mean 0.{job}')\n",
    )


def last_to_save(folder: Path) -> None:
    """Three of four ranks are done and gone; rank 0 writes the final model to a slow disk."""
    ranks(
        folder,
        BY_FILES + "for step in range(1, 7):\n    time.sleep(0.1); meet(step)\n    if rank == 0: print(f'step {step}/2000', flush=True)\n"
        "if rank == 0:\n    print('early stopping; exporting weights', flush=True)\n    f = open('model.bin', 'wb')\n"
        "    for part in range(4000):\n        f.write(os.urandom(1 << 18)); f.flush(); os.fsync(f.fileno()); f.seek(0); time.sleep(0.1)\n",
        4,
    )


def survived(folder: Path) -> None:
    """An error that was caught, and a thread that died; the training goes on."""
    ranks(
        folder,
        BY_FILES + "import traceback\ndef upload(): raise ConnectionError('tracker unreachable')\n"
        "for step in range(1, 900):\n    time.sleep(0.2); meet(step)\n"
        "    if rank == 1 and step == 2:\n        threading.Thread(target=upload).start()\n        try: {}['x']\n        except KeyError: traceback.print_exc()\n"
        "    if rank == 0: print(f'step {step}/900 loss {2/step:.3f}', flush=True)\n",
        2,
    )


def fed_slowly(folder: Path) -> None:
    """Two trainers get samples from their own reader processes, one a second each; a batch has 64."""
    ranks(
        folder,
        RANK + "import multiprocessing as mp\n"
        "def reader(q):\n    for n in range(10**6):\n        time.sleep(0.8); q.put([n] * 50)\n"
        "def batches(q):\n    while True: yield [q.get() for _ in range(64)]\n"
        "q = mp.get_context('fork').Queue(8)\nmp.get_context('fork').Process(target=reader, args=(q,), daemon=True).start()\n"
        "print(f'rank {rank}: first batch', flush=True)\nfor batch in batches(q): print('step', flush=True)\n",
        2,
    )


def agents(folder: Path) -> None:
    """Thirty coroutines play episodes against a server that takes its time; a line every few minutes."""
    script(
        folder,
        "import asyncio, json\n"
        "async def serve(r, w):\n    while line := await r.readline():\n        await asyncio.sleep(0.7); w.write(line); await w.drain()\n"
        "async def play(port, n):\n    r, w = await asyncio.open_connection('127.0.0.1', port)\n"
        "    for turn in range(10**6):\n        w.write(json.dumps({'n': n, 'history': list(range(400))}).encode() + b'\\n'); json.loads(await r.readline())\n"
        "async def main():\n    s = await asyncio.start_server(serve, '127.0.0.1', 0, limit=2**20)\n    port = s.sockets[0].getsockname()[1]\n"
        "    print('rollout: 30 episodes', flush=True)\n    await asyncio.gather(*(play(port, n) for n in range(30)))\n"
        "asyncio.run(main())\n",
    )


def beside_another(folder: Path) -> None:
    """This run computes; another run of the machine, in the same folder, hangs."""
    (folder / "other.py").write_text(START + "print('step 1', flush=True)\nthreading.Event().wait()\n")
    with (folder / "other.log").open("w") as log:
        subprocess.Popen([PYTHON, "other.py"], cwd=folder, stdout=log, stderr=log, start_new_session=True)
    ranks(
        folder,
        RANK + "print(f'rank {rank}: building vocabulary', flush=True)\nwords = {}\n"
        "for i in range(10**9): words[i % 5000] = words.get(i % 5000, 0) + i\n",
        2,
    )


if __name__ == "__main__":
    signal.alarm(LIFE_S)
    globals()[sys.argv[1]](Path(sys.argv[sys.argv.index("--folder") + 1]))
