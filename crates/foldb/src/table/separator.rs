//! Short keys between two neighbours, for indexes.

use crate::encoding::common_prefix;

/// Writes to `out` a short key `s` with `last <= s < next`, in the order of the bytes.
/// `last < next` must hold.
///
/// # Example
/// `abcde`, `abzz` -> `abd`; `abc9`, `abd1` -> `abd`; `abc`, `abcd` -> `abc`.
pub(super) fn short_separator(last: &[u8], next: &[u8], out: &mut Vec<u8>) {
    debug_assert!(last < next);
    out.clear();
    let common = common_prefix(last, next);
    if common == last.len() {
        out.extend_from_slice(last);
        return;
    }
    let differing = last[common];
    if differing + 1 < next[common] {
        out.extend_from_slice(&last[..common]);
        out.push(differing + 1);
    } else if next.len() > common + 1 {
        out.extend_from_slice(&next[..=common]);
    } else {
        // `next` ends right after the differing byte: only a key with the prefix of `last` fits.
        let rest = &last[common + 1..];
        let keep = rest.iter().position(|&byte| byte != 0xff).unwrap_or(rest.len());
        out.extend_from_slice(&last[..common + 1 + keep]);
        if let Some(&byte) = rest.get(keep) {
            out.push(byte + 1);
        }
    }
    debug_assert!(last <= &out[..] && &out[..] < next);
}
