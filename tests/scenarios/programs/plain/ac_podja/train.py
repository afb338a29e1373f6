"""形態素の重みを学ぶ。"""

import json
import time

weights = {word: 0.0 for word in "あいうえおかきくけこ"}
for epoch in range(1, 6):
    for step in range(1, 9):
        for word in weights:
            weights[word] += (0.5 - weights[word]) / 9
        time.sleep(0.12)
        print(f"エポック {epoch}/10　ステップ {step}/8　損失 {sum(0.5 - value for value in weights.values()):.4f}", flush=True)
    print(f"エポック {epoch} の検証:正解率 {0.9 - 0.1 / epoch:.3f}", flush=True)
print("検証の結果が三回続けて良くならなかったため、早期終了します", flush=True)
with open("weights.json", "w", encoding="utf-8") as file:
    json.dump(weights, file)
print("学習が完了しました。重みは weights.json に保存しました。", flush=True)
