"""三个进程各自训练, 共用一份词表缓存: 谁先到谁建."""

import collections
import fcntl
import itertools
import json
import os
import random
import time
from pathlib import Path

RANK = int(os.environ["RANK"])


def say(text: str) -> None:
    print(f"{time.strftime('%Y年%m月%d日 %H:%M:%S')} [进程{RANK}] {text}", flush=True)


def build(merges: int) -> list[str]:
    rng = random.Random(4)
    words = collections.Counter("".join(rng.choices("abcdefghij", k=rng.randint(4, 12))) for _ in range(30000))
    pieces = {word: list(word) for word in words}
    made = []
    for _ in range(merges):
        pairs: collections.Counter[tuple[str, str]] = collections.Counter()
        for word, parts in pieces.items():
            for pair in itertools.pairwise(parts):
                pairs[pair] += words[word]
        left, right = pairs.most_common(1)[0][0]
        for word, parts in pieces.items():
            at = 0
            while at < len(parts) - 1:
                if parts[at] == left and parts[at + 1] == right:
                    parts[at : at + 2] = [left + right]
                at += 1
            pieces[word] = parts
        made.append(left + right)
    return made


def vocabulary(stage: int) -> list[str]:
    path = Path(f"vocab-{stage}.json")
    with open("vocab.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            say(f"第{stage}阶段: 建立词表缓存 {path}")
            path.write_text(json.dumps(build(1 if stage == 1 else MERGES)), encoding="utf-8")
        return json.loads(path.read_text(encoding="utf-8"))


def main() -> None:
    for stage in (1, 2):
        words = vocabulary(stage)
        loss = 5.0 / stage
        for step in range(1, 11):
            time.sleep(0.3 + 0.1 * RANK)
            loss *= 0.97
            say(f"阶段 {stage} 步 {step} 损失 {loss:.3f} 词表 {len(words)}")


MERGES = 440

if __name__ == "__main__":
    main()
