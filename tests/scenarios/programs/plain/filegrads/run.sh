#!/bin/bash
# four ranks that meet in a folder; a page shows how it goes
mkdir -p logs exchange
python -u page.py > page.out 2>&1 &
page=$!
ranks=()
for r in 0 1 2 3; do
  python -u rank.py --rank $r --world 4 "$@" > logs/rank$r.txt 2>&1 &
  ranks+=($!)
done
for pid in "${ranks[@]}"; do
  wait $pid || code=1
done
echo "all ranks have ended; http://127.0.0.1:$(cat page.port) stays up, Ctrl-C ends it" >> logs/rank0.txt
wait $page
exit ${code:-0}
