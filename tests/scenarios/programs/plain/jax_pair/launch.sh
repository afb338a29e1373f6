# Two processes on this machine; the first is the coordinator.
address=127.0.0.1:$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
python -u train.py 0 "$address" "$@" &
python -u train.py 1 "$address" "$@" &
wait -n && wait -n
