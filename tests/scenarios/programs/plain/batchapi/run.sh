#!/bin/bash
rm -f port
python server.py > server.log 2>&1 &
SERVER=$!
trap 'kill $SERVER' EXIT
until [ -s port ]; do sleep 0.2; done
echo "batch service on port $(cat port), pid $SERVER"
python distill.py "$(cat port)"
