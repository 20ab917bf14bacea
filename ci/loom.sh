#!/bin/sh
# Checks the publication of memtable records with loom, in a target directory of its own: the
# flag changes every crate.
set -eu
cd "$(dirname "$0")/.."
export RUSTFLAGS="--cfg loom"
export CARGO_TARGET_DIR="${LOOM_TARGET_DIR:-target/loom}"
export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-3}"
cargo test --release -p foldb-chains --test loom "$@"
