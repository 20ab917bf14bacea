#!/usr/bin/env bash
# Runs a command such that programs of another processor start by themselves, with qemu: tests start
# their own executable again. The first argument is the name that qemu gives the processor. Linux 6.7
# and later has such a list in each user namespace, so nothing of the machine changes.
set -euo pipefail

# The bytes of an ELF header that name its class, byte order and processor.
case $1 in
    aarch64) class='\x02\x01' kind='\x02\x00\xb7\x00' ;;
    riscv64) class='\x02\x01' kind='\x02\x00\xf3\x00' ;;
    s390x) class='\x02\x02' kind='\x00\x02\x00\x16' ;;
    *) echo "ci/binfmt.sh: unknown processor '$1'" >&2; exit 2 ;;
esac
case $1 in
    # An executable has kind 2, a position-independent one kind 3.
    s390x) mask='\xff\xfe\xff\xff' ;;
    *) mask='\xfe\xff\xff\xff' ;;
esac
magic="\\x7fELF$class"'\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00'"$kind"
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff'"$mask"
export BINFMT_LINE=":foldb-$1:M::$magic:$mask:$(command -v "qemu-$1"):F"
shift

register='mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc &&
    printf %s "$BINFMT_LINE" > /proc/sys/fs/binfmt_misc/register'
if unshare --user --map-root-user --mount sh -c "$register" 2>/dev/null; then
    exec unshare --user --map-root-user --mount sh -c "$register"' && exec "$@"' sh "$@"
fi
echo "ci/binfmt.sh: this kernel has no private list of formats: tests that start themselves fail" >&2
exec "$@"
