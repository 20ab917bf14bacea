#!/usr/bin/env bash
# Fills small real file systems, in memory and in files that are mounted for the time: tmpfs, ext4, XFS and
# btrfs, as far as this machine can make and mount them. Says which ran and why others did not. Takes
# about two minutes. SMALL_DISKS="tmpfs btrfs" chooses.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${SMALL_DISKS_MOUNTS:-}" ]; then
    cargo test -p foldb --test small_disks --no-run
    SMALL_DISKS_TEST=$(cargo test -p foldb --test small_disks --no-run --message-format=json 2>/dev/null |
        sed -n 's/.*"executable":"\([^"]*small_disks-[^"]*\)".*/\1/p' | tail -n 1)
    export SMALL_DISKS_TEST SMALL_DISKS_MOUNTS=1
    if [ "$(uname)" != Linux ] || [ "$(id -u)" -ne 0 ]; then
        echo "ci/small_disks.sh: skipped: it takes root on Linux to mount file systems" >&2
        exit 0
    fi
    if ! unshare --mount true 2>/dev/null; then
        echo "ci/small_disks.sh: skipped: this machine allows no mounts of one's own" >&2
        exit 0
    fi
    # What is mounted in a namespace of its own is gone when this ends, however it ends.
    exec unshare --mount --propagation private "$0"
fi

work=$(mktemp -d)
trap 'cd /; for at in "$work"/*.at; do umount "$at" 2>/dev/null || true; done; rm -rf "$work"' EXIT

# kind, size, command that makes it
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
        # The smallest that its mkfs takes.
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
