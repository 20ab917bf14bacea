#!/usr/bin/env bash
# Fills small real file systems: tmpfs in memory, and ext4, XFS and btrfs in files that the script
# mounts. It skips those that this machine cannot make or mount, and prints the reason. It takes about
# two minutes. SMALL_DISKS="tmpfs btrfs" selects file systems.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${SMALL_DISKS_MOUNTS:-}" ]; then
    # With the features of the whole workspace, so that nothing is compiled again after its tests.
    cargo test --workspace --test small_disks --no-run
    SMALL_DISKS_TEST=$(cargo test --workspace --test small_disks --no-run --message-format=json 2>/dev/null |
        sed -n 's/.*"executable":"\([^"]*small_disks-[^"]*\)".*/\1/p' | tail -n 1)
    export SMALL_DISKS_TEST SMALL_DISKS_MOUNTS=1
    if [ "$(uname)" != Linux ] || [ "$(id -u)" -ne 0 ]; then
        echo "ci/small_disks.sh: skipped: only root on Linux can mount file systems" >&2
        exit 0
    fi
    if ! unshare --mount true 2>/dev/null; then
        echo "ci/small_disks.sh: skipped: this machine allows no private mounts" >&2
        exit 0
    fi
    # Mounts in a private namespace go away with the script, however it ends.
    exec unshare --mount --propagation private "$0"
fi

work=$(mktemp -d)
trap 'cd /; for at in "$work"/*.at; do umount "$at" 2>/dev/null || true; done; rm -rf "$work"' EXIT

# Arguments: kind and size.
make_disk() {
    local kind=$1 size=$2 image="$work/$1.image"
    mkdir "$work/$kind.at"
    if [ "$kind" = tmpfs ]; then
        mount -t tmpfs -o "size=$size" tmpfs "$work/$kind.at"
        return
    fi
    command -v "mkfs.$kind" >/dev/null || { echo "there is no mkfs.$kind"; return 1; }
    truncate -s "$size" "$image"
    "mkfs.$kind" -q "$image" && mount -o loop "$image" "$work/$kind.at"
}

ran=() skipped=()
for kind in ${SMALL_DISKS:-tmpfs ext4 xfs btrfs}; do
    case $kind in
        # The smallest size that its mkfs accepts.
        xfs) size=300M ;;
        btrfs) size=128M ;;
        *) size=64M ;;
    esac
    if ! why=$(make_disk "$kind" "$size" 2>&1); then
        skipped+=("$kind")
        echo "ci/small_disks.sh: $kind skipped: ${why//$'\n'/; }" >&2
        continue
    fi
    FOLDB_SMALL_DISKS="$work/$kind.at" "$SMALL_DISKS_TEST" --nocapture
    umount "$work/$kind.at"
    ran+=("$kind")
done
echo "ci/small_disks.sh: ran on ${ran[*]:-none}; skipped ${skipped[*]:-none}"
