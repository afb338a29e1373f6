"""点击率模型的增量更新."""

import time

import numpy as np

rng = np.random.default_rng(20)
weights = rng.normal(size=128) * 0.1
truth = rng.normal(size=128)
for batch in range(1, 31):
    x = rng.normal(size=(2000, 128))
    y = (x @ truth + rng.normal(size=2000) > 0).astype(float)
    p = 1 / (1 + np.exp(-x @ weights))
    weights += 0.5 * x.T @ (y - p) / len(y)
    loss = -np.mean(y * np.log(p + 1e-9) + (1 - y) * np.log(1 - p + 1e-9))
    time.sleep(0.25)
    if batch == 11:
        print("[警告] 分片 part-0011 有 37 行解析失败, 已跳过", flush=True)
    print(f"[{time.strftime('%F %T')}] 批次 {batch}/30 对数损失={loss:.5f} 准确率={np.mean((p > 0.5) == y):.4f}", flush=True)
np.save("weights.npy", weights)
print(f"[{time.strftime('%F %T')}] 模型已保存: weights.npy, 训练完成", flush=True)
