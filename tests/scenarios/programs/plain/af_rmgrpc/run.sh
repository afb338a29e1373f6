#!/usr/bin/env bash
# reward model as a service, policy beside it
set -u
python -u reward_server.py --handlers "${HANDLERS:-6}" &
SERVER=$!
until [ -s port.txt ]; do sleep 0.2; done
python -u policy.py "$(cat port.txt)"
code=$?
kill $SERVER
exit $code
