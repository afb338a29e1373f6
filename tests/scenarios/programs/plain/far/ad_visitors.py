"""People who use a service: a few at once, then nobody for a while. Says the port that the service is to take."""

import json
import socket
import time
import urllib.request
from contextlib import suppress

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
print(port, flush=True)
while True:
    with suppress(OSError):
        for number in range(6):
            body = json.dumps({"texts": ["wie geht es", "how are you"] * (number + 1)}).encode()
            urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/embed", body), timeout=30).read()
            time.sleep(0.5)
        time.sleep(42)
    time.sleep(1)
