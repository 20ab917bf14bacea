#!/bin/sh
# Runs the tests of the crate with hot-path unsafe under Miri, with reduced sizes. Without arguments
# it then runs one of them with more seeds, what the environment keeps for each process, the
# functions that C++ calls for LevelDB's files, and the examples of docs/format and the checked-in
# databases with big-endian byte order and with 32-bit addresses.
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
[ "$#" -eq 0 ] || exit 0
# Readers that pin beside a writer. Each seed has another order of threads, and other loads that see
# an old value where the order of memory accesses allows it.
MIRIFLAGS="$MIRIFLAGS -Zmiri-many-seeds=0..8" \
    cargo +nightly miri test -p foldb-chains --test stress h2_
# Values that threads make at the same time. Miri knows no forks and no mapped files.
MIRIFLAGS="$MIRIFLAGS -Zmiri-many-seeds=0..8" \
    cargo +nightly miri test -p foldb-env --lib -- forks::tests_of_threads threads::tests
cargo +nightly miri test -p foldb-leveldb --lib
for target in s390x-unknown-linux-gnu i686-unknown-linux-gnu; do
    of_files="cargo +nightly miri test --target $target -p foldb --features untested-platform"
    $of_files --lib -- worked_example
    $of_files --test engine -- every_fixture_opens_in_memory
done
