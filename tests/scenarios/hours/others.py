"""Hours of other people's trainers: fairseq, mmengine, a study of Optuna."""

from __future__ import annotations

from tests.scenarios.hours.run import Run, hour


@hour("2026-03-19 03:03")
def fairseq(run: Run) -> None:
    """fairseq in fp16: overflows, an epoch a shard and the next shard loaded, validation, a checkpoint to a busy disk."""

    def tell(part: str, text: str, level: str = "INFO") -> None:
        run.say(f"{run.time()} | {level} | {part} | {text}")

    tell("fairseq_cli.train", "num. shared model params: 209,911,808 (num. trained: 209,911,808)")
    tell("fairseq.trainer", "NOTE: your device may support faster training with --amp", "WARNING")
    update, scale = 0, 128.0
    for epoch in range(1, 40):
        tell("fairseq.trainer", f"loading train data for epoch {epoch}")
        run.pause(run.about(28, 0.2))
        tell("fairseq.data.data_utils", f"loaded 4,510,023 examples from: data-bin/shard{(epoch - 1) % 12}/train.en-de.en")
        tell("fairseq.tasks.translation", f"data-bin/shard{(epoch - 1) % 12} train en-de 4510023 examples")
        tell("fairseq.data.iterators", "grouped total_num_itrs = 1200")
        run.pause(run.about(37, 0.2))
        tell("fairseq.trainer", f"begin training epoch {epoch}")
        tell("fairseq_cli.train", "Start iterating over samples")
        for batch in range(1, 1201):
            if not run.goes_on:
                return
            run.wait(run.about(0.62, 0.08))
            if (batch in (1, 2) and epoch == 1) or run.chance(0.001):
                scale = max(16.0, scale / 2)
                tell("fairseq.trainer", f"NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: {scale}")
                continue
            update += 1
            if update % 100 == 0:
                loss = run.falling(update, 13, 3.4, 1500)
                tell(
                    "train_inner",
                    f"epoch {epoch:03d}:   {batch:4d} / 1200 loss={loss:.3f}, nll_loss={loss - 1.2:.3f}, ppl="
                    f"{2 ** (loss - 1.2):.2f}, wps={run.near(51_000):.1f}, ups=1.61, wpb=31803.2, bsz=1102.1, "
                    f"num_updates={update}, lr=0.0005, gnorm={run.about(0.6, 0.2):.3f}, loss_scale={scale}, train_wall=62, "
                    f"gb_free=11.2, wall={run.now:.0f}",
                )
        tell("fairseq_cli.train", 'begin validation on "valid" subset')
        run.pause(run.about(90, 0.15))
        tell(
            "valid",
            f"epoch {epoch:03d} | valid on 'valid' subset | loss {run.falling(update, 13, 3.6, 1500):.3f} | num_updates {update}",
        )
        tell("fairseq.checkpoint_utils", f"Preparing to save checkpoint for epoch {epoch} @ {update} updates")
        tell("fairseq.trainer", f"Saving checkpoint to /work1/ckpt/checkpoint{epoch}.pt")
        run.pause(run.about(140, 0.25))
        tell("fairseq.trainer", f"Finished saving checkpoint to /work1/ckpt/checkpoint{epoch}.pt")
        tell("fairseq_cli.train", f"end of epoch {epoch} (average epoch stats below)")


@hour("2026-03-20 14:00", "20260320_140000.log")
def mmengine(run: Run) -> None:
    """mmdetection: annotations indexed, training, COCO's evaluation with prints of its own, a loader that warns."""

    def tell(text: str, level: str = "INFO") -> None:
        run.say(f"{run.time('%Y/%m/%d %H:%M:%S', 8.0)} - mmengine - {level} - {text}")

    tell("\n" + "-" * 60 + "\nSystem environment:\n    sys.platform: linux\n    GPU 0,1,2,3: NVIDIA A100-SXM4-80GB\n" + "-" * 60)
    run.wait(6)
    run.say("loading annotations into memory...")
    run.wait(24)
    run.say("Done (t=23.71s)", "creating index...", "index created!")
    run.wait(11)
    tell("Hooks will be executed in the following order:\nbefore_run:\n(VERY_HIGH   ) RuntimeInfoHook\n -------------------- ")
    tell("load model from: torchvision://resnet50", "WARNING")
    tell('"FileClient" will be deprecated in future. Please use io functions in fileio.py', "WARNING")
    tell("Checkpoints will be saved to /work_dirs/faster-rcnn_r50.")
    for epoch in range(1, 13):
        for batch in range(50, 1101, 50):
            if not run.goes_on:
                return
            took = run.about(0.52, 0.05)
            run.wait(took * 50 + (12 if batch == 50 else 0))
            loss = run.falling(epoch * 1100 + batch, 1.9, 0.5, 3000)
            tell(
                f"Epoch(train)  [{epoch}][{batch:4d}/1100]  base_lr: 2.0000e-02 lr: 2.0000e-02  eta: 1:{59 - batch // 50}:14  "
                f"time: {took:.4f}  data_time: 0.0121  memory: 9120  loss: {loss:.4f}  acc: {run.near(92):.4f}"
            )
        tell("Exp name: faster-rcnn_r50_20260320_140000")
        tell(f"Saving checkpoint at {epoch} epochs")
        run.pause(run.about(20, 0.3))
        for batch in range(50, 626, 50):
            run.wait(run.about(4.1, 0.1))
            tell(f"Epoch(val)  [{epoch}][{batch:3d}/625]    eta: 0:00:{(625 - batch) // 12:02d}  time: 0.0811  data_time: 0.0032")
        tell("Evaluating bbox...")
        run.say("Loading and preparing results...", "DONE (t=3.12s)", "creating index...", "index created!")
        run.say("Running per image evaluation...", "Evaluate annotation type *bbox*")
        run.pause(run.about(130, 0.1))
        run.say("DONE (t=128.41s).", "Accumulating evaluation results...")
        run.pause(run.about(25, 0.1))
        run.say(
            "DONE (t=24.9s).", f" Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = {0.1 + epoch / 50:.3f}"
        )
        tell(f"bbox_mAP_copypaste: {0.1 + epoch / 50:.3f} 0.412 0.280 0.113 0.289 0.356")


@hour("2026-03-21 19:00", "study.log")
def optuna(run: Run) -> None:
    """A study of Optuna with boosted trees: one trial after the other, one fails and is caught, some are pruned; it ends."""
    run.say(f"[I {run.time('%Y-%m-%d %H:%M:%S,%ms')}] A new study created in RDB with name: churn-v3")
    best, best_at = 0.0, 0
    for trial in range(36):
        depth, rate = run.random.randrange(3, 12), run.random.uniform(0.01, 0.3)
        rounds, pace = 600, run.about(0.14, 0.35)
        pruned, failed = run.chance(0.2), trial in (9, 23)
        for done in range(0, rounds, 50):
            run.say(f"[{done}]\ttrain-auc:{0.7 + done / 3000:.5f}\tvalid-auc:{0.69 + done / 4000:.5f}")
            run.wait(pace * 50)
            if (pruned or failed) and done == 200:
                break
        stamp = run.time("%Y-%m-%d %H:%M:%S,%ms")
        params = f"{{'max_depth': {depth}, 'eta': {rate:.4f}}}"
        if failed:
            run.say(
                f"[W {stamp}] Trial {trial} failed with parameters: {params} because of the following error: "
                "XGBoostError('[19:22:01] src/tree/updater_gpu_hist.cu:781: Check failed: memory allocation error')."
            )
            run.say(
                "Traceback (most recent call last):",
                '  File "/venv/optuna/study/_optimize.py", line 201, in _run_trial',
                "    value_or_values = func(trial)",
                "xgboost.core.XGBoostError: memory allocation error",
                f"[W {stamp}] Trial {trial} failed with value None.",
            )
        elif pruned:
            run.say(f"[I {stamp}] Trial {trial} pruned. ")
        else:
            value = run.near(0.83, 0.02)
            best, best_at = max((best, best_at), (value, trial))
            run.say(
                f"[I {stamp}] Trial {trial} finished with value: {value:.6f} and parameters: {params}. Best is trial {best_at} "
                f"with value: {best:.6f}."
            )
        if run.now > 3200:
            break
    run.say(f"Refitting the best of {trial + 1} trials on all 41 M rows")
    run.pause(180)
    run.finish(f"Best value: {best:.6f}", "model written to models/churn-v3.ubj", "Study finished")
