"""The reward model: how far an answer is from the reference, over HTTP."""

import json
import random
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

REFERENCE = "".join(random.Random(7).choice("abcdef ") for _ in range(9000))


def distance(one, other):
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, wanted in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != wanted))
    return row[-1]


class Judge(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        answers = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["answers"]
        rewards = [-distance(answer, REFERENCE[: len(answer)]) / len(answer) for answer in answers]
        body = json.dumps({"rewards": rewards}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


HTTPServer(("127.0.0.1", int(sys.argv[1])), Judge).serve_forever()
