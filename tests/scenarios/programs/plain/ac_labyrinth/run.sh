#!/usr/bin/env bash
# Builds the labyrinth, and explores.
set -e
gcc -O2 -o maze maze.c
stdbuf -oL torchrun --standalone --nproc-per-node 2 train.py
