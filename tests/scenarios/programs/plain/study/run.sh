# two workers, one study
rm -f study.db
python worker.py a &
sleep 0.5
python worker.py b &
wait
echo "study is over"
