"""Hours of reinforcement learning: verl, OpenRLHF, TRL's GRPO with a server of its own, self-play. Steps take what they take."""

from __future__ import annotations

from tests.scenarios.hours.run import Run, hour, tqdm

STAMP = "%Y-%m-%d %H:%M:%S,%ms"


@hour("2026-03-11 15:20")
def verl(run: Run) -> None:
    """verl's GRPO on Ray: minutes a step, validation before the first and after each eighth, a save, lines folded by Ray."""

    def of(worker: str, *lines: str) -> None:
        run.say(*(f"({worker}) {line}" for line in lines))

    task, first = "TaskRunner pid=204811", "WorkerDict pid=207320"
    run.say(f"{run.time(STAMP)}\tINFO worker.py:1888 -- Started a local Ray instance. View the dashboard at 127.0.0.1:8265 ")
    run.wait(17)
    of(task, "TaskRunner hostname: h100-04, PID: 204811", "filter dataset len: 17398", "Size of train dataloader: 67")
    run.wait(40)
    of(first, "Model config after override: Qwen2Config {", "Qwen2ForCausalLM contains 7.62B parameters")
    of(
        "WorkerDict pid=207533",
        "[Gloo] Rank 3 is connected to 7 peer ranks. Expected number of connected peer ranks is : 7 [repeated "
        "7x across cluster] (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0 to disable log deduplication)",
    )
    run.wait(58)
    of(first, f"INFO {run.time('%m-%d %H:%M:%S')} [gpu_model_runner.py:1347] Starting to load model /models/Qwen2.5-7B...")
    run.wait(49)
    of(first, f"INFO {run.time('%m-%d %H:%M:%S')} [gpu_model_runner.py:2048] Graph capturing finished in 28 secs, took 0.61 GiB")
    of(task, "Using LocalLogger is deprecated. The constructor API will change ", "Checkpoint tracker file does not exist")
    _verl_validate(run, task, 0)
    run.write("(TaskRunner pid=204811) \rTraining Progress:   0%|          | 0/1005 [00:00<?, ?it/s]\n")
    began, step = run.now, 0
    while run.goes_on:
        step += 1
        gen, update = run.about(95, 0.25), run.about(48, 0.06)
        run.pause(gen + run.about(22))  # the bar tells that this takes minutes
        if run.chance(0.3):
            of(
                first,
                "/usr/lib/python3/site-packages/torch/distributed/fsdp/fully_sharded_data_parallel.py:678: FutureWarning: "
                "FSDP.state_dict_type() and FSDP.set_state_dict_type() are being deprecated.",
            )
        run.pause(update)
        save_s = 0.0
        if step % 6 == 0:
            of(task, f"local_global_step_folder: checkpoints/gsm8k/qwen7b/global_step_{step}")
            save_s = run.about(150, 0.2)
            run.pause(save_s)
            of(first, f"[Rank 0] Saved model to checkpoints/gsm8k/qwen7b/global_step_{step}/actor/model_world_size_8_rank_0.pt")
        if step % 8 == 0:
            _verl_validate(run, task, step)
        of(
            task,
            f"step:{step} - actor/entropy:{run.near(0.31):.3f} - actor/kl_loss:{step * 2e-4:.5f} - actor/pg_loss:"
            f"{run.random.gauss(0, 0.02):.4f} - actor/grad_norm:{run.about(0.3):.3f} - critic/score/mean:{0.5 + step / 90:.3f} - "
            f"response_length/mean:{run.near(310):.1f} - timing_s/gen:{gen:.2f} - timing_s/update_actor:{update:.2f} - "
            f"timing_s/save_checkpoint:{save_s:.2f} - training/global_step:{step}",
        )
        of(task, tqdm("Training Progress", step, 1005, run.now - began).strip())


def _verl_validate(run: Run, task: str, step: int) -> None:
    meta = "{'eos_token_id': 151645, 'pad_token_id': 151643, 'recompute_log_prob': False, 'do_sample': False, 'validate': True}"
    run.say(f"({task}) test_gen_batch meta info: {meta}")
    run.pause(run.about(115, 0.1))
    run.say(f"({task}) validation generation end", f"({task}) [prompt] user: Natalia sold clips to 48 of her friends. How many?")
    run.say(f"({task}) [response] She failed to sell any in May. Error: none. The answer is #### 72", f"({task}) [score] 1.0")
    run.say(f"({task}) step:{step} - val-core/openai/gsm8k/reward/mean@1:{0.62 + step / 300:.4f}")


@hour("2026-03-12 09:05")
def openrlhf(run: Run) -> None:
    """OpenRLHF's PPO in its third hour: bars of each phase, engine lines, weights sent to the engines, a save of four minutes."""
    actor, engine, trainer = "PolicyModelActor pid=90121", "LLMRayActor pid=91877", "PPOTrainer pid=88400"
    run.now = -1500.0
    run.say(f"({actor}) [{run.time(STAMP)}] [INFO] [config.py:1001:print] DeepSpeedEngine configuration:")
    step = 340
    while run.goes_on:
        step += 1
        for part in range(1, 17):
            run.wait(run.about(4.5, 0.6))
            if part % 4 == 0:
                run.say(
                    f"({engine}) INFO {run.time('%m-%d %H:%M:%S')} metrics.py:489] Avg prompt throughput: {run.near(2101):.1f} "
                    f"tokens/s, Avg generation throughput: {run.near(8410):.1f} tokens/s, Running: {128 - part * 7} reqs, "
                    "Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: 21.4%"
                )
        began = run.now
        for part in range(1, 9):
            run.wait(run.about(1.5, 0.15))
            run.say(f"({trainer}) {tqdm('make_experience', part, 8, run.now - began).strip()}")
        began = run.now
        for part in range(1, 33):
            run.wait(run.about(1.9, 0.1))
            if part % 2 == 0:
                tail = f", act_loss={run.random.gauss(0, 0.01):.4f}, reward={0.2 + step / 2000:.3f}, kl={step * 1e-5:.4f}"
                run.say(f"({actor}) {tqdm('Train epoch [1/1]', part, 32, run.now - began, tail).strip()}")
        run.say(f"({actor}) Broadcast weights to 4 vLLM engines: 339 tensors")
        run.wait(run.about(17, 0.2))
        run.say(
            f"({trainer}) Global step {step}: {{'policy_loss': {run.random.gauss(0, 0.01):.5f}, 'reward': "
            f"{0.2 + step / 2000:.4f}, 'response_length': {run.near(712):.1f}, 'num_samples': 1024}}"
        )
        run.say(f"({trainer}) {tqdm('Episode [1/3]', step, 1450, step * 160).strip()}")
        if step % 10 == 0:
            run.say(
                f"({actor}) [{run.time(STAMP)}] [INFO] [logging.py:128:log_dist] [Rank 0] [Torch] Checkpoint "
                f"global_step{step} is about to be saved!"
            )
            run.pause(run.about(240, 0.1))
            run.say(
                f"({actor}) [{run.time(STAMP)}] [INFO] [torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint "
                f"global_step{step} is ready now!"
            )


@hour("2026-03-13 18:50", "train.log", "vllm_server.log")
def grpo(run: Run) -> None:
    """TRL's GRPO and its vLLM server, a log each: the server's access lines, a judge that is over its quota and asked again."""
    run.say("INFO:     Started server process [5120]", "INFO:     Waiting for application startup.", to="vllm_server.log")
    run.say(
        "Skipping import of cpp extensions due to incompatible torch version", "Server is not up yet. Retrying in 2.0 seconds"
    )
    for _ in range(22):
        run.wait(2)
        run.say(f"{run.time()} - trl.extras.vllm_client - INFO - Server is not up yet. Retrying in 2.0 seconds...")
    run.say("INFO:     Application startup complete.", "INFO:     Uvicorn running on http://0.0.0.0:8000", to="vllm_server.log")
    run.say(f"{run.time()} - trl.extras.vllm_client - INFO - Server is up!")
    run.wait(22)
    began, step = run.now, 0
    run.write(tqdm("", 0, 2000, 0.0))
    while run.goes_on:
        step += 1
        took = run.about(52, 0.35)
        run.wait(took * 0.1)
        for call in range(3):
            port = run.random.randrange(33_000, 61_000)
            path = "/update_named_param/" if call == 0 else "/generate/"
            run.say(f'INFO:     127.0.0.1:{port} - "POST {path} HTTP/1.1" 200 OK', to="vllm_server.log")
            run.wait(took * 0.2)
        if run.chance(0.06):
            text = "openai.RateLimitError: Error code: 429 - {'error': {'message': 'Rate limit reached for gpt-4o-mini'}}"
            run.say(f"judge: {text}; sleeping 60 s before attempt 2/6")
            run.pause(60)
        run.wait(took * 0.3)
        run.write(tqdm("", step, 2000, run.now - began))
        run.say(
            f"\n{{'loss': {step * 3e-5:.4f}, 'grad_norm': {run.about(0.2, 0.4):.4f}, 'learning_rate': 1e-06, 'num_tokens': "
            f"{step * 91_000}.0, 'completions/mean_length': {run.near(890):.1f}, 'rewards/accuracy_reward/mean': "
            f"{0.2 + step / 200:.4f}, 'kl': {step * 4e-5:.5f}, 'frac_reward_zero_std': 0.25, 'epoch': {step / 8000:.3f}}}"
        )
        if step % 25 == 0:
            run.say(f"Saving model checkpoint to out/grpo/checkpoint-{step}")
            run.pause(run.about(95, 0.3))


@hour("2026-03-14 07:30")
def selfplay(run: Run) -> None:
    """A home-made AlphaZero in its twelfth iteration: games of any length, an arena, new models now and then."""
    run.now = -400.0
    iteration = 12
    while run.goes_on:
        run.say(f"Starting Iter #{iteration} ...")
        for game in range(1, 41):
            moves = int(run.about(74, 0.45))
            run.wait(moves * 0.22)
            if game % 2 == 0:
                outcome = run.random.choice(("black", "white", "draw"))
                run.say(
                    f"self-play game {game}/40: {moves} moves, {outcome} wins"
                    if outcome != "draw"
                    else f"self-play game {game}/40: {moves} moves, draw by repetition"
                )
        run.say(f"Replay buffer: {iteration * 41_233} positions, writing checkpoint_{iteration}.pth.tar.examples (2.1 GB)")
        run.pause(run.about(45, 0.3))
        for epoch in range(1, 6):
            run.wait(run.about(18, 0.05))
            run.say(f"EPOCH ::: {epoch}/5  Loss_pi={run.falling(iteration, 3, 1.6, 20):.3e} Loss_v={run.near(0.6):.3e}")
        run.say("PITTING AGAINST PREVIOUS VERSION")
        began = run.now
        for game in range(1, 21):
            run.wait(run.about(7, 0.35))
            run.write(tqdm("Arena.playGames", game, 20, run.now - began))
        wins = run.random.randrange(6, 15)
        run.say("", f"NEW/PREV WINS : {wins} / {20 - wins} ; DRAWS : 0")
        run.say("ACCEPTING NEW MODEL" if wins > 10 else "REJECTING NEW MODEL")
        iteration += 1
