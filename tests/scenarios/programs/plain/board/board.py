"""Shows a file over HTTP."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

handler = partial(SimpleHTTPRequestHandler, directory=".")
ThreadingHTTPServer(("127.0.0.1", 0), handler).serve_forever()
