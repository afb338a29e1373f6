#!/usr/bin/env bash
# lot de nuit : préparation, entraînement (durée allouée limitée), évaluation
set -u
faites=0 echecs=0
etape() {
  local nom=$1; shift
  echo "== $(date +%H:%M:%S) étape « $nom »"
  "$@"
  local code=$?
  faites=$((faites + 1))
  if [ $code -ne 0 ]; then
    echecs=$((echecs + 1)); dernier=$code
    echo "== $(date +%H:%M:%S) étape « $nom » : code $code"
  fi
  return $code
}
dernier=0
etape préparation python -u prepare.py
etape entraînement timeout -s KILL "${DUREE:-14}" python -u entraine.py && etape évaluation python -u evalue.py
echo "== $(date +%H:%M:%S) fin du lot : $faites étapes sur 3, $echecs en échec"
exit $dernier
