"""objcp - URL: puts its standard input to an URL, part by part."""

import http.client
import sys
import urllib.parse

target = urllib.parse.urlparse(sys.argv[2])
number = 0
while part := sys.stdin.buffer.read(131072):
    link = http.client.HTTPConnection(target.hostname or "", target.port)
    link.request("PUT", f"{target.path}?partNumber={number}", body=part)
    if link.getresponse().status != 200:
        sys.exit(1)
    link.close()
    number += 1
