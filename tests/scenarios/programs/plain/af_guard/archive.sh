#!/usr/bin/env bash
# archive.sh: copy old checkpoints away once the run has made its first; the disk is shared, so the copy is slow and rank 1 is paused meanwhile
set -euo pipefail
# 256 kB at a time, with a rest after each
copy_gently() {
  size=$(stat -c %s "$1")
  for ((part = 0; part * 262144 < size; part++)); do
    dd if="$1" of="$2" bs=256k count=1 skip=$part seek=$part conv=notrunc status=none
    sleep 0.7
  done
}
until [ -s ckpt/rank1.pid ]; do sleep 0.5; done
sleep 5
pid=$(cat ckpt/rank1.pid)
mkdir -p archive
kill -STOP "$pid"
echo "[archive] rank 1 (pid $pid) paused, copying old checkpoints"
for epoch in 0 1 2; do
  copy_gently "ckpt/epoch-$epoch.bin" "archive/epoch-$epoch.bin"
done
kill -CONT "$pid"
echo "[archive] rank 1 goes on"
