#!/usr/bin/env bash
# 教师在后台打分，学生在前台训练；CTX 是教师的位置表长度
set -u
export PYTHONUNBUFFERED=1
python teacher.py --sock ./teacher.sock --ctx "${CTX:-8192}" &
TEACHER=$!
trap 'kill $TEACHER 2>/dev/null' EXIT
while [ ! -S ./teacher.sock ]; do sleep 0.2; done
python student.py --sock ./teacher.sock
