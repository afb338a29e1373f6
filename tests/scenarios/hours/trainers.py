"""Hours of trainers that come as a library: HF Trainer, diffusers with Accelerate, Lightning, Keras."""

from __future__ import annotations

from tests.scenarios.hours.run import Run, hour, span, tqdm


@hour("2026-03-02 08:10")
def hf_trainer(run: Run) -> None:
    """HF Trainer from its start on: tokenising, a hub that times out once, evaluations with their own bar, big checkpoints."""
    run.say("[WARNING|logging.py:328] You are using a model of type llama to instantiate a model of type . This may go wrong.")
    run.wait(6)
    run.say(
        "'(ReadTimeoutError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out. (read timeout=10)\"), "
        "'(Request ID: 7c1f)')' thrown while requesting HEAD https://huggingface.co/meta-llama/Llama-3.2-3B/resolve/main/config.json",
        "Retrying in 1s [Retry 1/5].",
    )
    run.wait(2)
    for shard in range(5):
        run.write(tqdm("Loading checkpoint shards", shard, 4, shard * 11.0))
        run.wait(run.about(11, 0.2))
    run.write("\n")
    for done in range(1000, 52_001, 1000):
        run.write(tqdm("Map (num_proc=8)", done, 52_000, done / 640))
        run.wait(run.about(1.6, 0.3))
    run.say("", "[INFO|trainer.py:2414] >> ***** Running training *****", "[INFO|trainer.py:2415] >>   Num examples = 52,000")
    run.say("[INFO|trainer.py:2416] >>   Num Epochs = 3", "[INFO|trainer.py:2423] >>   Total optimization steps = 2,439")
    run.write(tqdm("", 0, 2439, 0.0))
    run.wait(2)
    run.say("`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.")
    run.wait(31)
    began, step = run.now, 0
    while run.goes_on:
        step += 1
        run.wait(run.about(2.1, 0.12))
        run.write(tqdm("", step, 2439, run.now - began))
        if step % 10 == 0:
            loss, norm = run.falling(step, 2.4, 1.1, 200), run.about(1.3, 0.3)
            run.write("\r" + " " * 60 + "\r")
            run.say(f"{{'loss': {loss:.4f}, 'grad_norm': {norm}, 'learning_rate': 1.8e-05, 'epoch': {step / 813:.2f}}}")
            run.write(tqdm("", step, 2439, run.now - began))
        if step % 400 == 0:
            _evaluate(run, step)
            run.say(f"[INFO|trainer.py:3993] >> Saving model checkpoint to out/sft/checkpoint-{step}")
            run.say(f"[INFO|configuration_utils.py:423] >> Configuration saved in out/sft/checkpoint-{step}/config.json")
            run.pause(run.about(150, 0.15))
            run.say(f"[INFO|tokenization_utils_base.py:2519] >> tokenizer config file saved in out/sft/checkpoint-{step}")
            run.wait(4)


def _evaluate(run: Run, step: int) -> None:
    run.say("", "[INFO|trainer.py:4309] >> ***** Running Evaluation *****", "[INFO|trainer.py:4311] >>   Num examples = 2000")
    for batch in range(1, 126):
        run.write(tqdm("", batch, 125, batch * 0.7))
        run.wait(run.about(0.7, 0.1))
    loss = run.falling(step, 2.2, 1.15, 300)
    run.say("", f"{{'eval_loss': {loss:.4f}, 'eval_runtime': 88.1, 'eval_steps_per_second': 1.42, 'epoch': {step / 813:.2f}}}")


@hour("2026-03-03 13:02:30")
def diffusers(run: Run) -> None:
    """Text to image with Accelerate: images drawn for validation, an upload that is tried again, a watch that begins mid-run."""
    run.now = -900.0
    run.say(f"{run.time('%m/%d/%Y %H:%M:%S')} - INFO - __main__ - ***** Running training *****")
    run.say("  Num examples = 83300", "  Gradient Accumulation steps = 4", "  Total optimization steps = 15000")
    began, step = run.now, 0
    while run.goes_on:
        step += 1
        run.wait(run.about(1.3, 0.06))
        tail = f", lr=1e-05, step_loss={run.about(0.09, 0.8):.4g}"
        run.write(tqdm("Steps", step, 15_000, run.now - began, tail))
        if step % 500 == 0:
            logged = run.time("%m/%d/%Y %H:%M:%S")
            run.say(f"{logged} - INFO - accelerate.accelerator - Saving current state to out/sdxl/checkpoint-{step}")
            run.pause(run.about(75, 0.2))
            run.say(f"{run.time('%m/%d/%Y %H:%M:%S')} - INFO - __main__ - Saved state to out/sdxl/checkpoint-{step}")
        if step % 750 == 0:
            _draw(run)
        if step % 1000 == 0:
            _upload(run, step)


def _draw(run: Run) -> None:
    stamp = run.time("%m/%d/%Y %H:%M:%S")
    run.say("", f"{stamp} - INFO - __main__ - Running validation... ", " Generating 4 images with prompt: a lighthouse in fog.")
    for image in range(4):
        for part in range(1, 31):
            run.write(tqdm("", part, 30, part * 0.4))
            run.wait(0.4)
        run.say("" if image < 3 else "\n")


def _upload(run: Run, step: int) -> None:
    stamp = "%m/%d/%Y %H:%M:%S"
    run.say(f"{run.time(stamp)} - INFO - __main__ - Uploading checkpoint-{step} to s3://models/sdxl (6.9 GB)")
    run.pause(40)
    run.say(
        f"{run.time(stamp)} - WARNING - __main__ - upload failed: An error occurred (SlowDown) when calling the UploadPart "
        "operation (reached max retries: 4): Please reduce your request rate. Retrying in 180 seconds (attempt 1 of 5)"
    )
    run.pause(180)
    run.say(f"{run.time(stamp)} - INFO - __main__ - Uploading checkpoint-{step} to s3://models/sdxl (6.9 GB)")
    run.pause(run.about(58))
    run.say(f"{run.time(stamp)} - INFO - __main__ - Uploaded checkpoint-{step}")


@hour("2026-03-04 23:31")
def lightning(run: Run) -> None:
    """Lightning with four ranks in one file, over midnight: sanity check, validation after each epoch, slow workers."""
    run.say("GPU available: True (cuda), used: True", "TPU available: False, using: 0 TPU cores", "Seed set to 7")
    for rank in (2, 0, 3, 1):
        run.wait(run.about(3, 0.5))
        run.say(f"Initializing distributed: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/4")
    run.say(
        "-" * 100, "distributed_backend=nccl", "All distributed processes registered. Starting with 4 processes", "-" * 100, ""
    )
    run.wait(7)
    run.say("  | Name    | Type             | Params | Mode ", "-" * 46, "0 | encoder | ConformerEncoder | 118 M  | train")
    run.say("1 | head    | CTCHead          | 1.1 M  | train", "-" * 46, "119 M     Trainable params", "")
    for batch in range(3):
        run.write(f"\rSanity Checking DataLoader 0: {batch * 50:3d}%|{'█' * batch * 5:10}| {batch}/2 [00:0{batch}<00:00]")
        run.wait(9)
    run.say(
        "",
        "The 'train_dataloader' does not have many workers which may be a bottleneck. Consider increasing the value of the "
        "`num_workers` argument` to `num_workers=63` in the `DataLoader` to improve performance.",
    )
    best = 9.9
    for epoch in range(50):
        if not run.goes_on:
            break
        began = run.now
        for batch in range(0, 361, 5):
            run.wait(run.about(5 if batch else 24, 0.1))
            loss = run.falling(epoch * 360 + batch, 6, 0.8, 700)
            tail = f", v_num=12, train/loss_step={loss:.3f}"
            run.write(tqdm(f"Epoch {epoch}", batch, 360, run.now - began, tail))
        _validate(run)
        score = run.falling(epoch, 0.9, 0.2, 3)
        if score < best:
            best = score
            where = f"/ckpt/conformer/epoch={epoch:02d}.ckpt"
            run.say(
                "", f"Epoch {epoch}, global step {(epoch + 1) * 360}: 'val_wer' reached {score:.5f}, saving model to '{where}'"
            )
            run.pause(run.about(55, 0.4))
        else:
            run.say("", f"Epoch {epoch}, global step {(epoch + 1) * 360}: 'val_wer' was not in top 1")


def _validate(run: Run) -> None:
    run.write("\n\rValidation: |          | 0/? [00:00<?, ?it/s]")
    run.wait(14)
    began = run.now
    for batch in range(1, 41):
        run.write(tqdm("Validation DataLoader 0", batch, 40, run.now - began + 0.1))
        run.wait(run.about(1.2, 0.3))


@hour("2026-03-05 06:00")
def keras(run: Run) -> None:
    """Keras with a progress line that is drawn over, noise of TensorFlow at each end of the data, a long evaluation; it ends."""
    run.say(
        "2026-03-05 06:00:00.113219: E external/local_xla/xla/stream_executor/cuda/cuda_fft.cc:477] Unable to register cuFFT "
        "factory: Attempting to register factory for plugin cuFFT when one has already been registered",
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
        "I0000 00:00:1772690404.501 4121 gpu_device.cc:2022] Created device /job:localhost/replica:0/task:0/device:GPU:0",
    )
    run.wait(19)
    run.say("Found 50000 files belonging to 100 classes.", "Using 40000 files for training.", 'Model: "functional_1"')
    run.wait(5)
    epochs, best = 24, 9.9
    for epoch in range(1, epochs + 1):
        run.say(f"Epoch {epoch}/{epochs}")
        for batch in range(1, 313):
            run.wait(28 if (epoch, batch) == (1, 1) else run.about(0.37, 0.1))
            left = span((312 - batch) * 0.37)
            full = f"{'━' * (batch * 20 // 312)}{'─' * (20 - batch * 20 // 312)}"
            loss = run.falling(epoch * 312 + batch, 4.6, 0.9, 2000)
            run.write(f"\r{batch}/312 {full} {left} 371ms/step - accuracy: {1 / (1 + loss):.4f} - loss: {loss:.4f}")
            if (epoch, batch) == (1, 1):
                run.say("", "I0000 00:00:1772690458.201 4190 device_compiler.h:188] Compiled cluster using XLA!")
        run.wait(run.about(12))
        value = run.falling(epoch, 4.0, 1.1, 5)
        run.say(
            "",
            f"{run.time()}.882013: I tensorflow/core/framework/local_rendezvous.cc:407] Local rendezvous is aborting with "
            "status: OUT_OF_RANGE: End of sequence",
            "\t [[{{node IteratorGetNext}}]]",
        )
        if value < best:
            run.say(f"Epoch {epoch}: val_loss improved from {best:.5f} to {value:.5f}, saving model to runs/best.keras")
            best = value
            run.wait(run.about(3, 0.3))
        else:
            run.say(f"Epoch {epoch}: val_loss did not improve from {best:.5f}")
        run.say(f"312/312 {'━' * 20} 129s 412ms/step - loss: {value:.4f} - val_loss: {value:.4f} - learning_rate: 1.0e-03")
    run.say("Evaluating on the full test set (50000 images, 4 crops each)")
    run.pause(200)
    run.finish("test_loss 1.1532 test_accuracy 0.7124", "Training finished, model written to runs/final.keras")
