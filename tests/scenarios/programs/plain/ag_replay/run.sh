# replay over sockets: a buffer, two actors, a learner
rm -f buffer.port
python -u buffer.py >> train.log 2>&1 &
BUFFER=$!
until [ -e buffer.port ]; do sleep 0.2; done
PORT=$(cat buffer.port)
python -u actor.py 0 "$PORT" >> train.log 2>&1 &
python -u actor.py 1 "$PORT" >> train.log 2>&1 &
sleep 3
python -u learner.py "$PORT" >> train.log 2>&1
kill $BUFFER
wait
