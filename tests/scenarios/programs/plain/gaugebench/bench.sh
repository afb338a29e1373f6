#!/bin/bash
# three solvers on the same gauges; each may compute so long and no longer
ulimit -c 0
for solver in euler heun rk4; do
  echo "== $solver"
  ( ulimit -t 10; exec python -u solve.py $solver )
  code=$?
  if [ $code -ne 0 ]; then
    echo "bench.sh: $solver left with status $code"
    exit $code
  fi
done
echo "== all three solvers are through"
