#!/bin/bash
# a gateway that generates, three actors that ask it, a trainer that gives it weights
port=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
python -u gateway.py $port &
mkdir -p done
for n in 0 1 2; do
  python -u actor.py $n $port &
done
exec python -u trainer.py $port
