# features of clips go through a pipe into the packer, part by part; then a probe is trained
set -u
PARTS=${PACK_PARTS:-3}
mkfifo feats
echo "== stage 1: features -> shards ($PARTS parts)"
python -u pack.py feats "$PARTS" &
python -u extract.py feats &
wait
echo "== stage 2: probe"
python -u probe.py
echo "== all stages done"
