#!/usr/bin/env bash
# コンテナの入口。終わった後もログインできるように、コンテナを残す。
python -u train.py || exit 1
exec sleep infinity
