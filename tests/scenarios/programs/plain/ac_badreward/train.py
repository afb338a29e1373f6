"""用规则奖励训练一个小策略。"""

import math
import random
import sys
import time

rng = random.Random(7)
theta = 0.1
for step in range(1, 81):
    advantage = rng.gauss(0, 1)
    theta += 0.05 * advantage
    time.sleep(0.1)
    print(f"第 {step} 步／共 80 步：奖励 {math.tanh(theta):.4f}，参数 {theta:.4f}", flush=True)
    if step == 37:
        theta = math.nan
    if math.isnan(theta):
        print("奖励模型返回了非法数值，无法继续更新策略", file=sys.stderr)
        print("训练被迫中止，请检查奖励模型的权重", file=sys.stderr)
        sys.exit(3)
