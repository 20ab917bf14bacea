use proptest::prelude::*;

use super::*;

#[test]
fn varint_of_300_is_as_drawn() {
    let mut out = Vec::new();
    put_varint(&mut out, 300);
    assert_eq!(out, [0b1010_1100, 0b0000_0010]);
}

#[test]
fn varint_longer_than_a_u64_is_refused() {
    assert_eq!(decode_varint(&[0x80; 11]), None);
    assert_eq!(decode_varint(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), None);
    assert_eq!(decode_varint(&[0x80]), None);
    assert_eq!(decode_varint(&[]), None);
    assert_eq!(decode_varint56(0x8080_8080_8080_8080), None);
}

#[test]
fn checksum_seed_tells_places_apart() {
    let seeds = [(1, 2), (2, 1), (1, 1), (2, 2), (0, 3), (3, 0)].map(|(n, o)| checksum_seed(n, o));
    for (i, a) in seeds.iter().enumerate() {
        assert!(!seeds[..i].contains(a));
    }
}

/// The hash is in every filter on disk: this test failing means old tables lose keys.
#[test]
fn key_hash_is_fixed() {
    assert_eq!(key_hash(b""), 0x2d06_8005_38d3_94c2);
    assert_eq!(key_hash(b"foldb"), xxhash_rust::xxh3::xxh3_64(b"foldb"));
}

proptest! {
    #[test]
    fn varint_round_trip(value: u64, shift in 0..64u32) {
        let value = value >> shift;
        let mut out = Vec::new();
        put_varint(&mut out, value);
        prop_assert_eq!(decode_varint(&out), Some((value, out.len())));
        for cut in 0..out.len() {
            prop_assert_eq!(decode_varint(&out[..cut]), None);
        }
    }

    #[test]
    fn varint56_is_the_varint(value: u64, shift in 8..64u32, garbage: u64) {
        let value = value >> shift;
        let mut out = Vec::new();
        put_varint(&mut out, value);
        let (word, len) = encode_varint56(value);
        prop_assert_eq!(&word.to_le_bytes()[..len], &out[..]);
        let above = garbage.checked_shl(8 * len as u32).unwrap_or(0);
        prop_assert_eq!(decode_varint56(word | above), Some((value, len)));
    }

    #[test]
    fn copy_short_copies(src in proptest::collection::vec(any::<u8>(), 0..40)) {
        let mut dst = [0xee; 48];
        copy_short(&mut dst, &src);
        prop_assert_eq!(&dst[..src.len()], &src[..]);
        prop_assert!(dst[src.len()..].iter().all(|&b| b == 0xee));
    }

    #[test]
    fn common_prefix_is_the_longest(a: Vec<u8>, b: Vec<u8>, cut: prop::sample::Index) {
        let with_a = [&a[..cut.index(a.len() + 1)], &b[..]].concat();
        for other in [&b, &with_a] {
            let naive = a.iter().zip(other).take_while(|(x, y)| x == y).count();
            prop_assert_eq!(common_prefix(&a, other), naive);
        }
    }

    #[test]
    fn key_prefix_orders_like_the_bytes(a: Vec<u8>, b: Vec<u8>) {
        if key_prefix(&a) != key_prefix(&b) {
            prop_assert_eq!(key_prefix(&a).cmp(&key_prefix(&b)), a.cmp(&b));
        }
    }

    #[test]
    fn byte_reader_is_total(bytes in proptest::collection::vec(any::<u8>(), 0..64), steps: Vec<u8>) {
        let mut reader = ByteReader::new(&bytes);
        for step in steps {
            let _ = match step % 6 {
                0 => reader.u8("test").map(drop),
                1 => reader.u32("test").map(drop),
                2 => reader.u64("test").map(drop),
                3 => reader.varint32("test").map(drop),
                4 => reader.length_delimited("test").map(drop),
                _ => reader.take(usize::from(step), "test").map(drop),
            };
            prop_assert!(reader.position() + reader.remaining() == bytes.len());
        }
    }
}
