"""The game as an actor sees it."""

import subprocess
import sys
from xmlrpc.client import ServerProxy


class Game:
    """Starts its own server."""

    def __init__(self, number: int) -> None:
        self.server = subprocess.Popen([sys.executable, "game.py", str(number)], stdout=subprocess.PIPE, text=True)
        assert self.server.stdout is not None
        self.port = int(self.server.stdout.readline())
        self.proxy = ServerProxy(f"http://127.0.0.1:{self.port}")

    def step(self, action: int) -> float:
        return float(str(self.proxy.step(action)))
