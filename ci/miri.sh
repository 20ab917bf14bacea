#!/bin/sh
# Runs the tests of the crate with hot-path unsafe under Miri, with reduced sizes.
set -eu
cd "$(dirname "$0")/.."
if ! rustup +nightly component list --installed 2>/dev/null | grep -q '^miri'; then
    if ! rustup +nightly component add miri rust-src; then
        echo "ci/miri.sh: Miri is not installed and cannot be fetched: nothing was checked" >&2
        exit 1
    fi
fi
export CARGO_TARGET_DIR="${MIRI_TARGET_DIR:-target/miri}"
export MIRIFLAGS="${MIRIFLAGS:--Zmiri-strict-provenance -Zmiri-disable-isolation}"
cargo +nightly miri test -p foldb-chains --tests "$@"
