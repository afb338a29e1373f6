"""Вахта: запускает обучение и следит за пульсом. Нет пульса — убить и начать с последнего сохранения."""

import os
import subprocess
import sys
import time
from pathlib import Path

PULSE, WARM_UP_S, LIMIT_S, TRIES = Path("pulse"), 300, 7, 4


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} вахта: {text}", flush=True)


for attempt in range(1, TRIES + 1):
    PULSE.unlink(missing_ok=True)
    child = subprocess.Popen([sys.executable, "-u", "obuchenie.py"], env=os.environ | {"ATTEMPT": str(attempt)})
    began = time.time()
    say(f"попытка {attempt}, pid {child.pid}")
    while child.poll() is None:
        time.sleep(1)
        quiet = time.time() - (PULSE.stat().st_mtime if PULSE.exists() else began)
        if quiet > (LIMIT_S if PULSE.exists() else WARM_UP_S):
            say(f"пульса нет {quiet:.0f} с, убиваю {child.pid} (SIGKILL)")
            child.kill()
            child.wait()
    if child.returncode == 0:
        say("обучение окончено")
        sys.exit(0)
    say(f"процесс {child.pid} завершился с кодом {child.returncode}, перезапуск")
say("попытки исчерпаны")
sys.exit(1)
