"""What `hangtop check` says in the language of the person."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_check_in_chinese_tells_cause_and_fixes_and_in_english_otherwise(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1/9 loss 0.5\nRuntimeError: CUDA error: device-side assert triggered\n")
    for locale, said in (("zh_CN.UTF-8", "检查标签和 pad id"), ("C.UTF-8", "check labels and the pad id")):
        env = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "1", "XDG_CONFIG_HOME": str(tmp_path)}
        command = (sys.executable, "-m", "hangtop", "check", "--log", str(log), "--sources", "log")
        answer = subprocess.run(command, env=env, capture_output=True, text=True, encoding="utf-8", timeout=240, check=False)
        assert said in answer.stdout
        assert "CUDA_LAUNCH_BLOCKING=1" in answer.stdout
        as_json = subprocess.run(
            (*command, "--json"), env=env, capture_output=True, text=True, encoding="utf-8", timeout=240, check=False
        ).stdout
        assert "check labels and the pad id" in as_json, "programs read it"
