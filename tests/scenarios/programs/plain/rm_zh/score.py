"""打分服务：请求是 JSON，回答也是。"""

import http.server
import json
import os
import sys


class Score(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        text = json.loads(body.decode("utf-8", errors="replace"))["answer"]
        answer = json.dumps({"score": len(set(text)) / (len(text) + 1)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Score)
print(f"[打分] 服务已启动，进程 {os.getpid()}", flush=True)
server.serve_forever()
