#!/bin/bash
# a trainer; two replicas that sit behind a relay with little bandwidth, as over a line to another site
ports=($(python -c 'import socket
doors = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
print(*(door.getsockname()[1] for door in doors))'))
python -u replica.py 0 ${ports[0]} &
python -u replica.py 1 ${ports[1]} &
python -u relay.py ${ports[2]}:${ports[0]} ${ports[3]}:${ports[1]} &
python -u trainer.py ${ports[2]} ${ports[3]}
code=$?
kill $(jobs -p)
exit $code
