#!/usr/bin/env bash
# Fuzzes every target for SECONDS, and keeps the smallest set of inputs that covers the same code.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: fuzz/all.sh SECONDS}
for target in $(cargo +nightly fuzz list); do
    printf '\n== %s\n' "$target"
    cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -max_len=4096 -print_final_stats=1
    cargo +nightly fuzz cmin "$target"
done
