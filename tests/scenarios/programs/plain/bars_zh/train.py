"""每轮训练之后在开发集上打分，用两个进程算编辑距离。"""

import multiprocessing as mp
import random
import sys
import time

from tqdm import tqdm

SENTENCES = {1: 60, 2: 60, 3: 7000, 4: 60}
"""每轮打分的句子数。"""


def distance(pair):
    one, two = pair
    row = list(range(len(two) + 1))
    for i, left in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(two, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1] / len(two)


def main():
    dice = random.Random(0)
    with mp.get_context("fork").Pool(2) as pool:
        for turn, count in SENTENCES.items():
            loss = 3.0 / turn
            with tqdm(total=100, desc=f"第{turn}轮训练", file=sys.stdout, mininterval=0.2, ncols=80) as bar:
                for _ in range(100):
                    time.sleep(0.03)
                    loss *= 0.998
                    bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
                    bar.update()
            pairs = [(dice.choices("天地玄黄宇宙洪荒", k=240), dice.choices("天地玄黄宇宙洪荒", k=240)) for _ in range(count)]
            print(f"开发集字错率 {sum(pool.map(distance, pairs, chunksize=10)) / count:.4f}", flush=True)


main()
