//! Keys in one allocation.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

/// Bytes of an end in a list.
const END_LEN: usize = size_of::<u32>();

/// Some keys, in one allocation: a tree keeps some dozen for each of its tables, and an open reads
/// all of them.
///
/// ```text
/// end of key 0 u32 | end of key 1 u32 | ... | key 0 | key 1 | ...
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyList {
    bytes: Arc<[u8]>,
    len: usize,
}

impl KeyList {
    /// Returns the number of keys.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns a key by its place.
    pub(crate) fn get(&self, place: usize) -> Option<&[u8]> {
        if place >= self.len {
            return None;
        }
        let start = place.checked_sub(1).map_or(0, |before| self.end(before));
        let keys = &self.bytes[END_LEN * self.len..];
        Some(&keys[start..self.end(place)])
    }

    /// Returns the keys in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len).filter_map(|place| self.get(place))
    }

    /// Returns how many keys come first that are `low`. All others are not.
    pub(crate) fn partition_point(&self, low: impl Fn(&[u8]) -> bool) -> usize {
        let (mut first, mut end) = (0, self.len);
        while first < end {
            let middle = first.midpoint(end);
            match self.get(middle).is_some_and(&low) {
                true => first = middle + 1,
                false => end = middle,
            }
        }
        first
    }

    fn end(&self, place: usize) -> usize {
        let end = self.bytes[END_LEN * place..].first_chunk().expect("each key has an end");
        u32::from_le_bytes(*end) as usize
    }
}

impl<K: AsRef<[u8]>> FromIterator<K> for KeyList {
    /// Takes the keys up to 4 GiB, more than those of any table.
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> KeyList {
        let mut keys: SmallVec<[K; 32]> = keys.into_iter().collect();
        let mut ends: SmallVec<[u32; 32]> = SmallVec::new();
        let mut all = 0;
        for key in &keys {
            all += key.as_ref().len();
            let Ok(end) = u32::try_from(all) else { break };
            ends.push(end);
        }
        let len = ends.len();
        keys.truncate(len);
        let mut bytes =
            Vec::with_capacity(END_LEN * len + ends.last().map_or(0, |end| *end as usize));
        ends.iter().for_each(|end| bytes.extend_from_slice(&end.to_le_bytes()));
        keys.iter().for_each(|key| bytes.extend_from_slice(key.as_ref()));
        KeyList { bytes: bytes.into(), len }
    }
}

impl fmt::Debug for KeyList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(<[u8]>::escape_ascii)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_holds_its_keys_in_their_order() {
        for count in [0, 1, 2, 7, 32] {
            let keys: Vec<String> = (0..count).map(|n| "k".repeat(n)).collect();
            let list: KeyList = keys.iter().collect();
            assert_eq!(list.len(), count);
            assert!(list.iter().eq(keys.iter().map(String::as_bytes)));
            assert_eq!(list.get(count), None);
            for bound in 0..=count {
                assert_eq!(list.partition_point(|key| key.len() < bound), bound);
            }
        }
        assert_eq!(KeyList::default(), std::iter::empty::<&[u8]>().collect());
    }
}
