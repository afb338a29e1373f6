#!/usr/bin/env bash
# Mirrors a dataset folder file by file, like rsync would, and tries again what failed.
set -u
FROM=${1:?from} TO=${2:?to} TRIES=4
mkdir -p "$TO"
log() { printf '%s mirror[%d]: %s\n' "$(date '+%b %d %H:%M:%S')" $$ "$*"; }

copy() {
  local name=$1
  for ((try = 1; try <= TRIES; try++)); do
    if dd if="$FROM/$name" of="$TO/.$name.part" bs=64k status=none 2>>errors.txt; then
      mv "$TO/.$name.part" "$TO/$name"
      return 0
    fi
    rm -f "$TO/.$name.part"
    log "$name: $(tail -n 1 errors.txt), try $try/$TRIES"
    sleep $((try * 2))
  done
  return 1
}

total=$(ls "$FROM" | wc -l) done=0 failed=0
log "sending $total files, $(du -sh "$FROM" | cut -f1)"
for name in $(ls "$FROM"); do
  if copy "$name"; then
    done=$((done + 1))
    ((done % 5 == 0)) && log "$done/$total files"
  else
    failed=$((failed + 1))
    log "$name: gave up"
    ((failed >= 2)) && break
  fi
done
if ((failed)); then
  log "sent $done of $total files; some files could not be transferred (code 23)"
  exit 23
fi
log "total size is $(du -sh "$TO" | cut -f1)  speedup is 1.00"
