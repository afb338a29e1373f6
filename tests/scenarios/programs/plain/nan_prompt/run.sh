#!/bin/bash
# Training at a terminal of its own; what is typed comes through a pipe.
mkfifo typed
exec 3<> typed
script -qefc "python -u train.py" train.log <&3 > /dev/null
