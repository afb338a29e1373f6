#!/bin/bash
# tokens come from a small service; power.sh looks after the fan
python -u tokens.py &
tokens=$!
bash power.sh $tokens &
python -u train_words.py
code=$?
kill $tokens
exit $code
