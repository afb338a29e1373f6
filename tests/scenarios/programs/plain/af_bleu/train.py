"""A toy translation model; every eight epochs the development set is scored by the script that the group has used since 2009."""

import argparse
import os
import random
import subprocess
import time

WORDS = [f"w{n}" for n in range(300)]


def translate(rng: random.Random, reference: list[str], error: float) -> list[str]:
    return [rng.choice(WORDS) if rng.random() < error else word for word in reference]


def bleu(epoch: int, verbose: bool) -> str:
    argv = ["perl", "bleu.pl", "--samples", "30000", "dev.ref", f"dev.hyp.{epoch}"]
    if verbose:
        argv.insert(2, "--verbose")
    scorer = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    if scorer.wait() != 0:
        raise RuntimeError(f"bleu.pl left with {scorer.returncode}")
    return scorer.stdout.read().splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--verbose-scores", action="store_true")
    given = parser.parse_args()
    rng = random.Random(5)
    dev = [[rng.choice(WORDS) for _ in range(rng.randrange(6, 30))] for _ in range(2000)]
    with open("dev.ref", "w", encoding="utf-8") as file:
        file.writelines(" ".join(sentence) + "\n" for sentence in dev)
    print(f"INFO: pid {os.getpid()}, 2000 sentences in dev", flush=True)
    error = 0.9
    for epoch in range(1, 25):
        time.sleep(0.3)
        error *= 0.93
        print(f"INFO: epoch {epoch:2d}/24 | train nll {error * 5:.3f} | lr 3e-4", flush=True)
        if epoch % 8 == 0:
            with open(f"dev.hyp.{epoch}", "w", encoding="utf-8") as file:
                file.writelines(" ".join(translate(rng, sentence, error)) + "\n" for sentence in dev)
            print(f"INFO: epoch {epoch:2d}/24 | scoring dev.hyp.{epoch}", flush=True)
            print(f"INFO: epoch {epoch:2d}/24 | dev {bleu(epoch, given.verbose_scores)}", flush=True)
    print("INFO: finished training", flush=True)


main()
