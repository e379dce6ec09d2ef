#!/usr/bin/env bash
# Runs each fuzz target for the given number of minutes, starting from its corpus and the inputs that earlier runs found.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$((${1:?usage: tools/fuzz.sh MINUTES} * 60))

for corpus in tests/fuzz/corpus/*/; do
  name=$(basename "$corpus")
  program=build/fuzz/tests/fuzz/fuzz_$name
  found=build/fuzz/found/$name
  mkdir -p "$found"
  echo "fuzzing $name for $seconds s (new inputs in $found)"
  "$program" -max_total_time="$seconds" -max_len=8192 -print_final_stats=1 -artifact_prefix="$found/crash-" "$found" "$corpus"
done
