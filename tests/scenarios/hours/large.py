"""Hours of pre-training: DeepSpeed, Megatron-LM, torchtitan, NeMo, MaxText."""

from __future__ import annotations

from tests.scenarios.hours.run import Run, hour

STAMP = "%Y-%m-%d %H:%M:%S,%ms"


@hour("2026-03-06 02:15")
def deepspeed(run: Run) -> None:
    """ZeRO-3 in fp16 over two nodes under pdsh: skipped steps, a build of kernels, checkpoints in parts, two clocks."""

    def say(text: str, node: int = 0) -> None:
        zone_h = 8.0 if node else 0.0  # the second machine stands in another zone
        run.say(f"gpu-{node + 1}: [{run.time(STAMP, zone_h)}] {text}")

    say("[INFO] [runner.py:607:main] cmd = /usr/bin/python -u -m deepspeed.launcher.launch --world_info=eyJ9 train.py")
    run.wait(9)
    for node in (0, 1):
        say("[INFO] [comm.py:658:init_distributed] cdb=None", node)
        run.say(f"gpu-{node + 1}: Using /home/ada/.cache/torch_extensions/py311_cu124 as PyTorch extensions root...")
    run.say("gpu-1: Building extension module cpu_adam...")
    run.pause(run.about(65))
    run.say("gpu-1: Loading extension module cpu_adam...", "gpu-2: Loading extension module cpu_adam...")
    run.say("gpu-1: Time to load cpu_adam op: 66.10281801223755 seconds")
    say("[INFO] [stage3.py:181:__init__] Reduce bucket size 16777216")
    run.wait(44)
    say("[INFO] [config.py:1001:print]   train_batch_size ............. 1024")
    step, skipped, scale = 0, 0, 2**16
    while run.goes_on:
        step += 1
        run.wait(run.about(88 if step == 1 else 11.5, 0.06))
        if step < 4 or run.chance(0.02):
            scale, skipped = max(scale // 2, 1024), skipped + 1
            text = f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {scale * 2}, reducing to {scale}"
            say(f"[INFO] [loss_scaler.py:190:update_scale] {text}")
        if step % 5 == 0:
            say(f"[INFO] [logging.py:128:log_dist] [Rank 0] step={step}, skipped={skipped}, lr=[3e-05], mom=[(0.9, 0.95)]")
            say(
                f"[INFO] [timer.py:264:stop] epoch=0/micro_step={step * 8}/global_step={step}, RunningAvgSamplesPerSec="
                f"{run.near(88.1):.3f}, CurrSamplesPerSec={run.near(88):.3f}, MemAllocated=21.5GB, MaxMemAllocated=61.4GB"
            )
            run.say(f"gpu-1: step {step} loss: {run.falling(step, 10.8, 3.1, 80):.4f}")
        if run.chance(0.01):
            say(
                "[WARNING] [stage3.py:2114:step] 1 pytorch allocator cache flushes since last step. this happens when there is "
                "high memory pressure and is detrimental to performance.",
                1,
            )
        if step % 100 == 0:
            _deepspeed_save(run, step)


def _deepspeed_save(run: Run, step: int) -> None:
    def say(node: int, text: str) -> None:
        run.say(f"gpu-{node + 1}: [{run.time(STAMP, 8.0 * node)}] [INFO] {text}")

    say(0, f"[logging.py:128:log_dist] [Rank 0] [Torch] Checkpoint global_step{step} is about to be saved!")
    path = f"/nfs/ckpt/global_step{step}/zero_pp_rank_0_mp_rank_00_model_states.pt"
    say(0, f"[torch_checkpoint_engine.py:21:save] [Torch] Saving {path}...")
    run.pause(run.about(100, 0.1))
    say(0, f"[torch_checkpoint_engine.py:23:save] [Torch] Saved {path}.")
    for node in (1, 0):
        path = f"/nfs/ckpt/global_step{step}/bf16_zero_pp_rank_{node * 8}_mp_rank_00_optim_states.pt"
        say(node, f"[torch_checkpoint_engine.py:21:save] [Torch] Saving {path}...")
    run.pause(run.about(155, 0.15))
    for node in (0, 1):
        say(node, f"[torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint global_step{step} is ready now!")


@hour("2026-03-07 17:00")
def megatron(run: Run) -> None:
    """Megatron-LM from its start on: index maps, fused kernels, a slow first iteration, validation, long saves."""
    run.say("using world size: 64, data-parallel size: 8, tensor-model-parallel size: 4, pipeline-model-parallel size: 2")
    run.say("> initializing torch distributed ...")
    run.wait(28)
    run.say("> compiling dataset index builder ...", ">>> done with dataset index builder. Compilation time: 0.071 seconds")
    run.say("> compiling and loading fused kernels ...")
    run.pause(75)
    run.say(">>> done with compiling and loading fused kernels. Compilation time: 75.113 seconds")
    run.say(f"[after megatron is initialized] datetime: {run.time()} ", "building GPT model ...")
    run.wait(17)
    run.say(" > number of parameters on (tensor, pipeline) model parallel rank (0, 0): 1693556736")
    run.say("> building train, validation, and test datasets for GPT ...")
    run.say("INFO:megatron.core.datasets.gpt_dataset:Build and save the GPTDataset train indices")
    run.pause(run.about(240))
    run.say("INFO:megatron.core.datasets.gpt_dataset:> total number of samples: 61036162", "> finished creating GPT datasets ...")
    run.say(f"[after dataloaders are built] datetime: {run.time()} ", "done with setup ...", "training ...")
    run.say(f"[before the start of training step] datetime: {run.time()} ")
    run.wait(90)
    step = 0
    while run.goes_on:
        step += 1
        took = run.about(2.6, 0.02)
        run.wait(took)
        if step % 10 == 0:
            run.say(
                f" [{run.time()}] iteration {step:8d}/  500000 | consumed samples: {step * 1024:12d} | elapsed time per "
                f"iteration (ms): {took * 1000:.1f} | throughput per GPU (TFLOP/s/GPU): {run.near(412):.1f} | learning rate: "
                f"{min(step, 2000) * 1.5e-7:.6E} | global batch size:  1024 | lm loss: {run.falling(step, 11, 2.6, 300):.6E} | "
                f"loss scale: 1.0 | grad norm: {run.about(1.1, 0.4):.3f} | number of skipped iterations:   0 | "
                "number of nan iterations:   0 |"
            )
        if step % 250 == 0:
            run.say(f"Evaluating on {100 * 1024} samples", "Evaluating iter 1/100")
            for batch in range(10, 101, 10):
                run.wait(run.about(13))
                run.say(f"Evaluating iter {batch}/100")
            run.say("-" * 100, f" validation loss at iteration {step} | lm loss value: 2.81E+00 | lm loss PPL: 1.66E+01 | ")
            run.say(f"saving checkpoint at iteration {step:7d} to /lustre/ckpt/gpt in torch_dist format")
            run.pause(run.about(340, 0.15))
            run.say(f"  successfully saved checkpoint from iteration {step:7d} to /lustre/ckpt/gpt")
            run.say(f"(min, max) time across ranks (ms):\n    save-checkpoint ...: ({run.near(190e3):.2f}, 190412.18)")


@hour("2026-03-08 11:11", "logs")
def titan(run: Run) -> None:
    """torchtitan with a folder of outputs, one file a rank as torchrun writes them; compiling takes minutes."""

    def tell(text: str, ranks: range = range(8)) -> None:
        for rank in ranks:
            place = f"logs/none_k2v8x_91/attempt_0/{rank}/stderr.log"
            run.now += 0.05 * run.random.random()
            run.say(f"[titan] {run.time(STAMP)} - root - INFO - {text}", to=place)

    run.now = -3.0
    tell("Starting job: Llama 3 8B training")
    run.wait(12)
    tell("Building 1-D device mesh with ['dp_shard'], [8]")
    run.wait(21)
    tell("Preparing c4 dataset from allenai/c4")
    run.pause(64)
    tell("Compiling each TransformerBlock with torch.compile")
    tell("Applied FSDP to the model")
    run.wait(26)
    tell("Trainer is initialized with local batch size 2, global batch size 16, gradient accumulation steps 1")
    tell("Training starts at step 1 (compiling on the first step, which may take several minutes)")
    run.pause(210)
    step = 1
    while run.goes_on:
        step += 10
        run.wait(run.about(27, 0.03))
        loss = run.falling(step, 12.2, 3.3, 250)
        tell(
            f"step: {step - 1:2d}  loss: {loss:7.4f}  grad_norm: {run.about(0.9, 0.3):.4f}  memory: 74.48GiB(94.12%)  "
            f"tps: {run.near(6_010):,.0f}  tflops: {run.near(348):.2f}  mfu: {run.near(35.2):.2f}%"
        )
        if run.chance(0.03):
            name, where = "[W302 reducer]", f"logs/none_k2v8x_91/attempt_0/{run.random.randrange(8)}/stderr.log"
            run.say(f"{name} CUDA Memory allocation retries: 1 (num_alloc_retries); consider a smaller batch", to=where)
        if step % 250 == 1:
            tell("Saving the checkpoint (or staging if async is enabled).")
            run.pause(run.about(130, 0.1))
            tell(f"Finished saving the checkpoint (or staging if async is enabled) in {run.near(130):.2f} seconds.")
            tell("[GC] Performing periodical GC collection. 0.02 seconds")


@hour("2026-03-09 20:40", "slurm-88123.out")
def nemo(run: Run) -> None:
    """NeMo under srun --label, watched from its second hour: validation, checkpoints saved while it goes on, warnings of NCCL."""
    run.now = -1800.0
    run.say(f" 0: [NeMo I {run.time()} nemo_logger:145] Experiments will be logged at /results/llama3_70b/2026-03-09")
    run.say(" 0: [NeMo W 2026-03-09 20:10:01 exp_manager:773] No version folders would be created under the log folder")
    step, finalize = 0, 0.0
    while run.goes_on:
        run.wait(run.about(14.2, 0.03))
        run.say(
            f" 0: Training epoch 0, iteration {step}/599999 | lr: 2.9e-05 | global_batch_size: 2048 | global_step: {step} | "
            f"reduced_train_loss: {run.falling(step, 11, 2.2, 60):.4f} | train_step_timing in s: {run.near(14.2):.2f} | "
            f"consumed_samples: {(step + 1) * 2048}"
        )
        step += 1
        if finalize and run.now > finalize:
            run.say(f" 0: [NeMo I {run.time()} model_checkpoint:522] Async checkpoint save finalized successfully.")
            finalize = 0.0
        if run.chance(0.012):
            node = run.random.randrange(64)
            run.say(
                f"{node:2d}: node{node // 8:02d}:41{node}:502 [{node % 8}] transport/net_ib.cc:205 NCCL WARN NET/IB : "
                f"mlx5_{node % 8}:1 Got non-fatal async event: port error(10)"
            )
        if step % 40 == 0:
            for batch in range(1, 33, 8):
                run.say(f" 0: Validation: iteration {batch}/32")
                run.wait(run.about(26))
            run.say(f" 0: Validation: iteration 32/32 | val_loss: {run.falling(step, 11, 2.3, 60):.4f}")
            run.say(f" 0: [NeMo I {run.time()} model_checkpoint:497] Scheduled async checkpoint save for step={step}.ckpt")
            run.pause(run.about(70))
            finalize = run.now + 200


@hour("2026-03-10 04:44", "maxtext.log")
def maxtext(run: Run) -> None:
    """MaxText on a pod: absl's clock without a year, a compile that XLA itself calls very slow, orbax, profiling."""

    def absl(text: str, letter: str = "I") -> None:
        run.say(f"{letter}{run.time('%m%d %H:%M:%S.%f')} 140225 {text}")

    absl("xla_bridge.py:931] Unable to initialize backend 'rocm': module 'jaxlib.xla_extension' has no attribute 'GpuAllocator'")
    absl("distributed.py:106] Connecting to JAX distributed service on 10.128.0.4:8476")
    run.wait(24)
    run.say("System Information: Jax Version: 0.5.1", "Num_devices: 128, shape [('data', 1), ('fsdp', 128)]")
    absl("checkpoint_manager.py:717] [process=0][thread=MainThread] CheckpointManager created, primary_host=0")
    run.wait(33)
    run.say("Memstats: After params initialized:", "\tUsing (GB) 3.1 / 31.25 (9.920000%) on TPU_0(process=0,(0,0,0,0))")
    run.say("Compiling train_step ...")
    run.pause(120)
    absl("slow_operation_alarm.cc:73] ********************************", "E")
    absl(
        "slow_operation_alarm.cc:73] [Compiling module jit_train_step] Very slow compile? If you want to file a bug, run with "
        "envvar XLA_FLAGS=--xla_dump_to=/tmp/foo and attach the results.",
        "E",
    )
    run.pause(97)
    absl("slow_operation_alarm.cc:140] The operation took 3m37.1s", "E")
    step = 0
    while run.goes_on:
        took = run.about(3.9, 0.015)
        run.wait(took)
        run.say(
            f"completed step: {step}, seconds: {took:.3f}, TFLOP/s/device: {run.near(231):.3f}, Tokens/s/device: "
            f"{run.near(4201):.3f}, total_weights: 1048576, loss: {run.falling(step, 10.8, 2.7, 200):.3f}"
        )
        if step == 200:
            absl("profiler.py:80] Saving profile to gs://runs/maxtext/plugins/profile (this may take a few minutes)")
            run.pause(140)
        if step % 150 == 149:
            absl(f"checkpoint_manager.py:1478] [process=0] Saving checkpoint at step {step}")
            run.pause(run.about(31, 0.2))
            run.say(f"Started an asynchronous checkpoint save for step {step}")
        if step % 300 == 299:
            run.say(f"Running evaluation at step {step}: 64 batches")
            run.pause(run.about(150, 0.1))
            run.say(f"Completed eval step 64, average loss at step {step}: avg_loss={run.near(2.9):.4f}, total_weights=6.7e7")
        step += 1
