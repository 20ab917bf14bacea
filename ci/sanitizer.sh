#!/usr/bin/env bash
# Runs foldb-stress, with its kills, and the tests with several threads under a sanitizer of the
# nightly compiler. ci/asan.sh and ci/tsan.sh start it:
#
#   ci/asan.sh [MINUTES]     finds wrong uses of memory (AddressSanitizer)
#   ci/tsan.sh [MINUTES]     finds data races (ThreadSanitizer)
#
# MINUTES is the time for foldb-stress, 2 by default, without the tests and the build. The script ends
# with 1 at the first report. SANITIZER_SEED is the first seed of foldb-stress. STRESS_MORE adds
# arguments to it.
set -euo pipefail
cd "$(dirname "$0")/.."
kind=${1:?usage: ci/sanitizer.sh address|thread [MINUTES]}
minutes=${2:-2}
name=ci/${kind:0:1}san.sh
target=x86_64-unknown-linux-gnu

if ! rustup run nightly rustc --version >/dev/null 2>&1; then
    echo "$name: there is no nightly toolchain, nothing was checked: 'rustup toolchain install nightly'" >&2
    exit 1
fi
if ! [ -d "$(rustup run nightly rustc --print sysroot)/lib/rustlib/src/rust/library" ]; then
    if ! rustup component add --toolchain nightly rust-src; then
        echo "$name: rust-src is not installed and cannot be fetched: nothing was checked" >&2
        exit 1
    fi
fi

# libleveldb: the C++ compiler's sanitizers see the C++ half, the programs that use it, and the heap
# of the Rust half. The test skips without a C++ compiler.
if [ "$kind" = address ]; then
    cargo test -p foldb-leveldb --test drop_in -- --ignored
    # librocksdb: they see the programs in C, and the heap of the library.
    cargo test -p foldb-rocksdb --test drop_in -- --ignored sanitizers
fi

export CARGO_TARGET_DIR="${SANITIZER_TARGET_DIR:-target/$kind-sanitizer}"
# The crate rustix then makes its system calls through the C library, where the sanitizer sees them.
# Otherwise a mapping at the address of an earlier one would look like a race with it.
export RUSTFLAGS="-Zsanitizer=$kind -Cunsafe-allow-abi-mismatch=sanitizer --cfg rustix_use_libc"
# A report ends the process at once: the supervisor of foldb-stress notices a worker that ends.
export ASAN_OPTIONS="${ASAN_OPTIONS:-halt_on_error=1:detect_leaks=0:detect_stack_use_after_return=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}"
# Build the standard library too, because ThreadSanitizer must see its atomics and locks.
cargo_nightly() { cargo +nightly "$@" -Zbuild-std --target "$target"; }

cargo_nightly test -p foldb-chains --test stress
cargo_nightly test -p foldb-env --lib --tests
cargo_nightly test -p foldb --test engine -- concurrency:: failed_writes:: runtime::
cargo_nightly build -p foldb-stress --bin foldb-stress
stress=$CARGO_TARGET_DIR/$target/debug/foldb-stress
seed=${SANITIZER_SEED:-1}
end=$(($(date +%s) + 60 * minutes))
databases=0
while [ "$(date +%s)" -lt "$end" ]; do
    # shellcheck disable=SC2086
    "$stress" run --seed "$seed" --databases 1 --kills 3 --life 1500 --allow-gaps ${STRESS_MORE:-}
    seed=$((seed + 1))
    databases=$((databases + 1))
done
echo "$name: no report; foldb-stress worked on $databases databases in $minutes minutes"
