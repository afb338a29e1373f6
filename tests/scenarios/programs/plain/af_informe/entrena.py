"""Entrena un clasificador con parada temprana y deja un tablero con las curvas."""

import http.server
import json
import os
import random
import threading
import time

PACIENCIA, EPOCAS = 5, 40
curva: list[dict[str, float]] = []


class Tablero(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        cuerpo = json.dumps(curva).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(cuerpo)

    def log_message(self, *_) -> None:
        pass


servidor = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tablero)
hilo = threading.Thread(target=servidor.serve_forever, name="tablero")
hilo.start()
print(f"tablero en http://127.0.0.1:{servidor.server_port} (pid {os.getpid()})", flush=True)
azar, mejor, sin_mejora = random.Random(8), 9.9, 0
for epoca in range(1, EPOCAS + 1):
    time.sleep(0.5)
    perdida = 0.42 + 1.3 * 0.7 ** min(epoca, 12) + (0 if epoca < 13 else azar.random() * 0.02)
    curva.append({"epoca": epoca, "val": perdida})
    print(f"época {epoca:>2}/{EPOCAS}  val {perdida:.4f}", flush=True)
    if perdida < mejor - 1e-4:
        mejor, sin_mejora = perdida, 0
        continue
    sin_mejora += 1
    if sin_mejora == PACIENCIA:
        break
with open("pesos.json", "w") as archivo:
    json.dump({"mejor": mejor}, archivo)
print(f"sin mejora desde hace {sin_mejora} épocas; me quedo con la {epoca - sin_mejora}", flush=True)
print("pesos.json escrito. Las curvas siguen en el tablero; Ctrl-C para cerrarlo.", flush=True)
