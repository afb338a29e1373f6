"""Hours of loops that people write themselves: nanoGPT, elastic torchrun, a log appended to and rotated, a file a rank."""

from __future__ import annotations

from tests.scenarios.hours.run import Run, hour


@hour("2026-03-15 12:00")
def nanogpt(run: Run) -> None:
    """nanoGPT: a compile, long evaluations that print one line, a checkpoint with each; the clock is in no line."""
    run.say("tokens per iteration will be: 491,520", "found vocab_size = 50304 (inside data/owt/meta.pkl)")
    run.say("Initializing a new model from scratch", "number of parameters: 123.59M")
    run.say("num decayed parameter tensors: 50, with 124,354,560 parameters", "using fused AdamW: True")
    run.say("compiling the model... (takes a ~minute)")
    run.pause(36)
    step, estimate = 0, run.about(71, 0.02)
    while run.goes_on:
        if step % 500 == 0:
            if step:
                run.say("estimating loss on 200 batches of train and val ...")
            run.pause(estimate)
            loss = run.falling(step, 10.9, 3.2, 900)
            run.say(f"step {step}: train loss {loss:.4f}, val loss {loss + 0.02:.4f}")
            if step:
                run.say("saving checkpoint to out-owt")
                run.pause(run.about(9))
        took = run.about(1.15, 0.03) if step else 21.0
        run.wait(took)
        if step % 10 == 0:
            loss = run.falling(step, 10.9, 3.2, 900)
            run.say(f"iter {step}: loss {loss:.4f}, time {took * 1000:.2f}ms, mfu {run.near(38):.2f}%")
        step += 1


@hour("2026-03-16 21:10")
def elastic(run: Run) -> None:
    """torchrun with a worker that is killed in the first half: the group is started again and goes on from its snapshot."""

    def agent(text: str, letter: str = "I", part: str = "elastic/agent/server/api.py:879") -> None:
        stamp = run.time("%m%d %H:%M:%S.%ms000")
        run.say(f"{letter}{stamp} 88 torch/distributed/{part}] {text}")

    agent("Starting elastic_operator with launch configs:", part="launcher/api.py:192")
    agent("[default] starting workers for entrypoint: python")
    run.wait(14)
    step = _elastic_steps(run, 0, 1100.0)
    agent("Sending process 143 closing signal SIGTERM", "W", "elastic/multiprocessing/api.py:900")
    agent("failed (exitcode: -9) local_rank: 1 (pid: 142) of binary: /usr/bin/python3", "E", "elastic/multiprocessing/api.py:874")
    agent("[default] Worker group FAILED. 3/3 attempts left; will restart worker group")
    agent("[default] Stopping worker group")
    run.wait(30)
    agent("[default] Rendezvous'ing worker group")
    run.wait(4)
    agent("[default] Rendezvous complete for workers. Result:")
    run.say("  restart_count=1", "  master_addr=10.4.0.12", "  global_world_sizes=[4, 4, 4, 4]", "")
    run.wait(26)
    snapshot = step - step % 200
    for rank in (0, 2, 1, 3):
        run.say(f"[rank{rank}] Resuming training from snapshot at step {snapshot}")
        run.wait(run.about(2, 0.4))
    _elastic_steps(run, snapshot, 3600.0)


def _elastic_steps(run: Run, step: int, until: float) -> int:
    """Four ranks in one file, the fourth a little late."""
    first = True
    while run.now < min(until, 3600.0):
        step += 1
        run.wait(38 if first else run.about(2.4, 0.08))
        first = False
        if step % 5 == 0:
            for rank in run.random.sample(range(4), 4):
                run.say(f"[rank{rank}] {run.time('%H:%M:%S')} step {step}/80000 loss={run.falling(step, 9, 2.4, 500):.4f}")
        if step % 200 == 0:
            run.say(f"[rank0] {run.time('%H:%M:%S')} saving snapshot at step {step} (all ranks wait)")
            run.pause(run.about(135, 0.1))
            run.say(f"[rank0] {run.time('%H:%M:%S')} snapshot saved")
        if run.chance(0.004):
            run.say("[rank2]: NCCL WARN NET/Socket : unexpected connection from 10.4.0.9<51120> dropped")
    return step


@hour("2026-03-17 05:00", "train.log")
def appended(run: Run) -> None:
    """Nohup with `>>`: yesterday's attempt ended out of memory, today's goes on with a smaller batch; logrotate comes by once."""

    def tell(text: str, level: str = "INFO") -> None:
        run.say(f"[{run.time('%d.%m.%Y %H:%M:%S', 1.0)}] {level:<7} {text}")

    run.now = -31_000.0
    for batch in range(0, 4000, 50):
        tell(f"epoch 1 batch {batch:>5}/18320 loss {run.falling(batch, 5, 2, 2000):.4f} lr 3.00e-04 12.1 img/s")
        run.wait(60)
    run.say(
        "Traceback (most recent call last):",
        '  File "/srv/seg/train.py", line 214, in <module>',
        "    main()",
        '  File "/srv/seg/train.py", line 160, in main',
        "    loss.backward()",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.21 GiB. GPU 0 has a total capacity of 23.64 GiB",
    )
    run.now = -20.0
    run.say("nohup: ignoring input")
    tell("config: batch_size=8 (was 16), resume=runs/seg/last.pt")
    tell("indexing /data/tiles ...")
    run.pause(170)
    tell("indexed 146560 tiles; class weights from cache")
    rotated = False
    for epoch in range(2, 99):
        for batch in range(0, 600, 20):
            if not run.goes_on:
                return
            run.wait(run.about(13, 0.15))
            tell(
                f"epoch {epoch} batch {batch:>5}/600 loss {run.falling(epoch * 600 + batch, 3, 0.7, 900):.4f} "
                f"lr 3.00e-04 {run.near(46):.1f} img/s"
            )
            if run.chance(0.01):
                tell("loss is nan in batch 83112 (tile_33_90.tif), batch skipped, scaler halved", "WARNING")
            if not rotated and run.now > 1900:
                run.rotate()
                rotated = True
        tell(f"epoch {epoch} done, validating on 18320 tiles")
        run.pause(run.about(210, 0.1))
        tell(f"epoch {epoch} val: miou {0.4 + epoch / 40:.4f}, saved runs/seg/last.pt")


@hour("2026-03-18 10:30", *(f"out/rank{rank}.log" for rank in range(8)))
def rank_files(run: Run) -> None:
    """A file for each of eight ranks: only the first tells its steps, the others beat once a minute; NCCL talks at first."""
    run.now = -5.0
    for rank in range(8):
        to = f"out/rank{rank}.log"
        run.say(f"gpu17:{6100 + rank}:{6100 + rank} [{rank}] NCCL INFO Bootstrap : Using eth0:10.2.0.17<0>", to=to)
        run.say(f"gpu17:{6100 + rank}:{6230 + rank} [{rank}] NCCL INFO NET/Plugin: Could not find: libnccl-net.so.", to=to)
        run.wait(0.4)
    run.wait(19)
    for rank in range(8):
        to = f"out/rank{rank}.log"
        run.say(
            f"gpu17:{6100 + rank}:{6230 + rank} [{rank}] NCCL INFO comm 0x55d{rank} rank {rank} nranks 8 - Init COMPLETE", to=to
        )
    run.wait(35)
    step, beaten, shard = 0, 0.0, 0
    while run.goes_on:
        step += 1
        run.wait(run.about(0.9, 0.1))
        if step % 10 == 0:
            norm = run.about(0.8, 0.3) if step % 730 else float("nan")
            loss = run.falling(step, 8, 2, 800) if step % 730 else float("nan")
            run.say(
                f"rank 0 | {run.time('%H:%M:%S', -8.0)} | step {step:>7} | loss {loss:.4f} | gnorm {norm:.3f}", to="out/rank0.log"
            )
            if step % 730 == 0:
                run.say("rank 0 | non-finite gradient, update skipped (1 in a row)", to="out/rank0.log")
        if run.now - beaten > 60:
            beaten = run.now
            for rank in range(1, 8):
                run.say(f"rank {rank} | {run.time('%H:%M:%S', -8.0)} | alive, {run.near(61.2):.1f} GiB", to=f"out/rank{rank}.log")
        if step % 900 == 0:
            shard += 1
            run.say(f"rank 0 | shard {shard} is used up, fetching shard-{shard + 1:05d}.tar.zst (31 GB)", to="out/rank0.log")
            for _ in range(run.random.randrange(6, 12)):
                run.pause(20)
                if run.chance(0.5):
                    run.say("rank 0 | still fetching ...", to="out/rank0.log")
            run.say(f"rank 0 | shard {shard + 1} opened", to="out/rank0.log")
