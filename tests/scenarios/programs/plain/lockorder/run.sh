#!/bin/bash
# both ranks of this node
python rank.py 0 & python rank.py 1 & wait
