#!/usr/bin/env bash
# 训练；无论如何都清理缓存。
mkdir -p cache
trap 'rm -rf cache; echo "缓存已清理"' EXIT
python -u train.py
