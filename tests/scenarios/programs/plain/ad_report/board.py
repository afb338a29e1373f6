"""看板: 把 report.json 给浏览器看."""

from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

server = ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
print(f"看板地址 http://127.0.0.1:{server.server_address[1]}/report.json", flush=True)
server.serve_forever()
