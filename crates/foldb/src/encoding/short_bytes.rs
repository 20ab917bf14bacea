//! Copies and comparisons of a few bytes without a call.

/// Copies `src` to the start of `dst`, fast for up to 32 bytes: two overlapping fixed-size moves
/// instead of a call of `memcpy`, which costs more than the copy itself.
#[inline(always)]
pub(crate) fn copy_short(dst: &mut [u8], src: &[u8]) {
    let len = src.len();
    let dst = &mut dst[..len];
    match len {
        8..=16 => {
            let (head, tail) = (word::<8>(src, 0), word::<8>(src, len - 8));
            dst[..8].copy_from_slice(&head);
            dst[len - 8..].copy_from_slice(&tail);
        }
        4..8 => {
            let (head, tail) = (word::<4>(src, 0), word::<4>(src, len - 4));
            dst[..4].copy_from_slice(&head);
            dst[len - 4..].copy_from_slice(&tail);
        }
        17..=32 => {
            let (head, tail) = (word::<16>(src, 0), word::<16>(src, len - 16));
            dst[..16].copy_from_slice(&head);
            dst[len - 16..].copy_from_slice(&tail);
        }
        0 => {}
        1..4 => {
            dst[0] = src[0];
            dst[len / 2] = src[len / 2];
            dst[len - 1] = src[len - 1];
        }
        _ => dst.copy_from_slice(src),
    }
    debug_assert_eq!(dst, src, "the words of a short copy cover all its bytes");
}

/// Returns whether two keys have the same bytes. It makes no call for keys of 8 to 16 bytes, and
/// none if the first or the last eight bytes differ, as those of neighbouring keys mostly do.
#[inline(always)]
pub(crate) fn is_same_key(a: &[u8], b: &[u8]) -> bool {
    let len = a.len();
    if len != b.len() || len < 8 {
        return a == b;
    }
    word::<8>(a, len - 8) == word::<8>(b, len - 8)
        && word::<8>(a, 0) == word::<8>(b, 0)
        && (len <= 16 || a == b)
}

#[inline(always)]
fn word<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut word = [0; N];
    word.copy_from_slice(&bytes[at..at + N]);
    word
}

/// Length of the longest common prefix of `a` and `b`.
#[inline(always)]
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let mut at = 0;
    while at + 8 <= len {
        let differing = u64::from_le_bytes(word(a, at)) ^ u64::from_le_bytes(word(b, at));
        if differing != 0 {
            return at + differing.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while at < len && a[at] == b[at] {
        at += 1;
    }
    at
}

/// The first eight bytes as a big-endian number, padded with zeroes: numbers order as the bytes
/// do, except that equal numbers decide nothing.
#[inline]
pub(crate) fn key_prefix(key: &[u8]) -> u64 {
    if key.len() >= 8 {
        return u64::from_be_bytes(word(key, 0));
    }
    let mut padded = [0; 8];
    padded[..key.len()].copy_from_slice(key);
    u64::from_be_bytes(padded)
}
