#!/bin/bash
# services rest while the machine is hot, and go on when it has cooled down
service=$1
hot() { [ "$(wc -c < heat 2>/dev/null || echo 0)" -gt 4000 ]; }
until hot; do sleep 0.2; done
echo "power: hot, service $service rests"
kill -STOP "$service"
for look in 1 2 3; do
  sleep 1
  hot || { kill -CONT "$service"; echo "power: cool again"; exit 0; }
done
echo "power: still hot after $look looks"
