#!/bin/bash
# Active learning on the workstation: a round whenever new labels may have come in.
EVERY=${EVERY:-60}
mkdir -p state
for round in $(seq 1 500); do
    echo "[loop] $(date '+%F %T') round $round starts"
    if ! python -u round.py --round "$round"; then
        echo "[loop] round $round failed, trying again with the next one"
    fi
    echo "[loop] round $round over, next one at $(date -d "+$EVERY seconds" '+%F %T')"
    sleep "$EVERY"
done
