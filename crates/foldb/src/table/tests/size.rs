//! Checks the sizes and error rates that the format promises.

use super::*;
use crate::encoding::key_hash;

/// 10 bits a key: below 1.5 % false positives; and fewer with more bits.
#[test]
fn filter_false_positive_rate() {
    for (bits, most) in [(5, 0.12), (10, 0.015), (16, 0.0025), (20, 0.001)] {
        let records: Vec<_> = (0..50_000u64).map(|n| put(format!("{n:08}"), 1, "")).collect();
        let shape = TableBuilderOptions { filter_bits: bits, ..options() };
        let table = open(build(&records, shape).0).unwrap();
        let admits = |key: &[u8]| table.may_contain(key_hash(key), key).unwrap();
        assert!(records.iter().all(|record| admits(&record.key)));
        let probes = 200_000u64;
        let absent = (0..probes).filter(|n| admits(format!("absent{n}").as_bytes()));
        let rate = absent.count() as f64 / probes as f64;
        assert!(rate < most, "{bits} bits: {rate}");
    }
}

#[test]
fn without_a_filter_everything_may_be_there() {
    let table =
        open(build(&[put("a", 1, "")], TableBuilderOptions { filter_bits: 0, ..options() }).0);
    assert!(table.unwrap().may_contain(key_hash(b"absent"), b"absent").unwrap());
}

/// H24: with a large block size a point read still moves one sub-block, and the top index is small.
#[test]
fn large_blocks_are_read_in_parts() {
    let records: Vec<_> =
        (0..100_000u64).map(|n| put(format!("{n:016}"), 1, n.to_le_bytes())).collect();
    let small = open(build(&records, options()).0).unwrap();
    let shape = TableBuilderOptions { block_size: 65536, ..options() };
    let (file, _) = build(&records, shape);
    let large = open(file.clone()).unwrap();
    assert!(large.index().len() * 15 < small.index().len());
    assert_eq!(get(&large, b"0000000000050000", 1).unwrap().len(), 1);
    let cached = large.cache().used_bytes();
    assert!((4096..16384).contains(&cached), "one directory and one sub-block: {cached}");
}

#[test]
fn compression_that_saves_little_is_not_kept() {
    let noise: Vec<_> = (0..2000u64)
        .map(|n| {
            let value: Vec<_> = (0..16)
                .flat_map(|i| key_hash(&[n as u8, (n >> 8) as u8, i]).to_le_bytes())
                .collect();
            put(format!("{n:08}"), 1, value)
        })
        .collect();
    let zeroes: Vec<_> = (0..2000u64).map(|n| put(format!("{n:08}"), 1, [0; 128])).collect();
    for &compression in CODECS {
        let len =
            |records| build(records, TableBuilderOptions { compression, ..options() }).1.file_len;
        let plain = build(&noise, options()).1.file_len;
        assert!(len(&noise) <= plain);
        assert!(len(&zeroes) < plain / 6);
    }
}

#[test]
fn cache_counts_hits_and_misses() {
    let cache = Arc::new(BlockCache::new(1 << 20));
    let (file, _) = build(&[put("k", 1, "v")], options());
    let comparator = Arc::new(BytewiseComparator);
    let table =
        TableReader::open(file, Path::new("t"), FILE_NUMBER, comparator, None, cache.clone())
            .unwrap();
    for _ in 0..3 {
        assert_eq!(get(&table, b"k", 1).unwrap()[0].value, b"v");
    }
    assert_eq!((cache.hits(), cache.misses()), (2, 1));
    assert!(cache.used_bytes() > 0);
}

#[test]
fn no_cache_and_no_fill_cache_nothing() {
    let (file, _) = build(&[put("k", 1, "v")], options());
    let comparator = Arc::new(BytewiseComparator);
    let none = Arc::new(BlockCache::new(0));
    let table =
        TableReader::open(file.clone(), Path::new("t"), FILE_NUMBER, comparator, None, none)
            .unwrap();
    assert_eq!(get(&table, b"k", 1).unwrap().len(), 1);
    let table = open(file).unwrap();
    table
        .get(b"k", 1, CursorOptions { fill_cache: false, ..CursorOptions::default() }, |_, _| {
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(table.cache().used_bytes(), 0);
}
