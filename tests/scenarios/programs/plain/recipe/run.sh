#!/bin/bash
# fetch -> train -> report, with one more try where the network is bad
set -uo pipefail
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir -p mirror && seq 1 3000 > mirror/numbers.txt
( sleep 4; cd mirror && exec timeout 60 python -m http.server --bind 127.0.0.1 "$PORT" > /dev/null 2>&1 ) &
MIRROR=$!
for TRY in 1 2 3 4 5 6; do
    echo "+ python fetch.py http://127.0.0.1:$PORT/numbers.txt"
    if python fetch.py "http://127.0.0.1:$PORT/numbers.txt"; then break; fi
    echo "fetch FAILED (try $TRY/6), again in 3 s"
    sleep 3
done
kill $MIRROR 2> /dev/null
wait $MIRROR 2> /dev/null
echo "+ python train.py"
python train.py || exit 1
echo "+ python report.py"
python report.py
echo "recipe done in ${SECONDS}s"
