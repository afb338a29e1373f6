#!/usr/bin/env bash
# 夜间增量训练: 每天 02:30 跑一次
cd "$(dirname "$0")" || exit 1
while true; do
  echo "[$(date '+%F %T')] ===== 开始增量训练 ====="
  if python -u train.py; then
    echo "[$(date '+%F %T')] 本次增量训练成功结束"
  else
    echo "[$(date '+%F %T')] 本次增量训练失败, 返回码 $?"
  fi
  next=$(( $(date -d 'tomorrow 02:30' +%s) - $(date +%s) ))
  sleep "$next"
done
