"""用打分服务的分数做策略微调。"""

import http.client
import json
import os
import random
import sys
import time

ANSWERS = ["A cat sat on the mat.", "Two and two is four.", "It rains in the north."]
LATER = {}
"""第几步起加入哪些回答。"""

print(f"[训练] 进程 {os.getpid()}", flush=True)
for _ in range(100):
    try:
        line = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
        line.connect()
        break
    except ConnectionRefusedError:
        time.sleep(0.2)
dice, weight = random.Random(5), 0.0
for step in range(1, 501):
    ANSWERS += LATER.get(step, [])
    text = ANSWERS[-1] if step in LATER else dice.choice(ANSWERS)
    body = json.dumps({"answer": text}, ensure_ascii=False)
    line.putrequest("POST", "/score")
    line.putheader("Content-Type", "application/json; charset=gb18030")
    line.putheader("Content-Length", str(len(body.encode("utf-8"))))
    line.endheaders(body.encode("gb18030"))
    score = json.loads(line.getresponse().read())["score"]
    weight += 0.05 * (score - weight)
    print(f"第 {step} 步：得分 {score:.3f}，平均 {weight:.3f}", flush=True)
    time.sleep(0.1)
print("训练结束", flush=True)
