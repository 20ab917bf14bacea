//! Prefetching for the keys of a batch: it changes nothing.

use foldb_chains::{ArenaPool, Chains, KeyOrder};
use xxhash_rust::xxh3::xxh3_64;

/// Foresees keys that are there, keys that are not, and more than a group.
#[test]
fn what_is_foreseen_stays_as_it_is() {
    let key = |n: u64| n.to_be_bytes();
    let (mut writer, chains) = Chains::create(&ArenaPool::new(0), 1 << 16, KeyOrder::Bytewise);
    chains.foresee(&[1, 2, 3]);
    for n in 0..40 {
        let (key, value) = (key(n % 20), b"a value of more than one word");
        writer.insert(xxh3_64(&key), &key, n + 1, 1, 0, value).unwrap();
    }
    let hashes: Vec<u64> = (0..40).map(|n| xxh3_64(&key(n))).collect();
    chains.foresee(&hashes);
    chains.foresee(&[]);
    for n in 0..40 {
        let found = chains.find(xxh3_64(&key(n)), &key(n));
        let seqnos = found.map(|node| node.versions(100).map(|v| v.seqno).collect::<Vec<_>>());
        assert_eq!(seqnos, (n < 20).then(|| vec![n + 21, n + 1]));
    }
}

/// Keys with spellings have no hash index: there is nothing to foresee.
#[test]
fn keys_with_spellings_are_passed_over() {
    let order = KeyOrder::Spelled(std::sync::Arc::new(|a: &[u8], b: &[u8]| a.cmp(b)));
    let (mut writer, chains) = Chains::create(&ArenaPool::new(0), 1 << 16, order);
    writer.insert(0, b"a", 1, 1, 0, b"value").unwrap();
    chains.foresee(&[0, 1]);
    assert!(chains.find(0, b"a").is_some());
}
