#!/bin/sh
# Checks the publication of memtable records with loom. The flag changes every crate, so the script
# uses a separate target directory.
set -eu
cd "$(dirname "$0")/.."
export RUSTFLAGS="--cfg loom"
export CARGO_TARGET_DIR="${LOOM_TARGET_DIR:-target/loom}"
export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-3}"
cargo test --release -p foldb-chains --test loom "$@"
