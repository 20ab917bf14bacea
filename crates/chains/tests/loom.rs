//! Publication under the model checker: every order of the writer's stores that the memory model
//! allows a reader to see. Run by `ci/loom.sh`.

#![cfg(loom)]

use std::sync::Arc;

use foldb_chains::{ArenaPool, Chains, KeyOrder, Writer};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

/// Hashes that share shard and tag's top bits with no other, or with all others.
const HASH_A: u64 = 1 << 32;
const HASH_B: u64 = 3 << 62;
const HASH_C: u64 = 5 << 32;

fn create() -> (Writer, Arc<Chains>) {
    Chains::create(&ArenaPool::new(0), 2048, KeyOrder::Bytewise)
}

/// seqno and value of the versions at `max_seqno`
fn versions(chains: &Chains, hash: u64, key: &[u8], max_seqno: u64) -> Vec<(u64, Vec<u8>)> {
    let node = chains.find(hash, key);
    let versions = node.into_iter().flat_map(|node| node.versions(max_seqno));
    versions.map(|version| (version.seqno, version.value.to_vec())).collect()
}

/// a.1 is there; a.2 a.3 come while a reader walks.
#[test]
fn a_version_is_seen_whole_or_not_at_all() {
    loom::model(|| {
        let (mut writer, chains) = create();
        writer.insert(HASH_A, b"a", 1, 0, 0, b"one").unwrap();
        let reader = thread::spawn(move || {
            let all = [(3, b"three, spilled".to_vec()), (2, b"two".to_vec()), (1, b"one".to_vec())];
            let seen = versions(&chains, HASH_A, b"a", u64::MAX);
            assert!(!seen.is_empty() && all.ends_with(&seen));
            assert_eq!(versions(&chains, HASH_A, b"a", 1), all[2..]);
        });
        writer.insert(HASH_A, b"a", 2, 0, 0, b"two").unwrap();
        writer.insert(HASH_A, b"a", 3, 0, 0, b"three, spilled").unwrap();
        reader.join().unwrap();
    });
}

/// Nothing is there; a.1 comes while a reader probes.
#[test]
fn a_key_is_seen_whole_or_not_at_all() {
    loom::model(|| {
        let (mut writer, chains) = create();
        let published = Arc::new(AtomicU64::new(0));
        let reader = thread::spawn({
            let published = Arc::clone(&published);
            move || {
                let seqno = published.load(Ordering::Acquire);
                let seen = versions(&chains, HASH_A, b"a", u64::MAX);
                let whole = [(1, b"one".to_vec())];
                assert!(seen == whole || seen.is_empty() && seqno == 0);
            }
        });
        writer.insert(HASH_A, b"a", 1, 0, 0, b"one").unwrap();
        published.store(1, Ordering::Release);
        reader.join().unwrap();
    });
}

/// a.1 is there and fills its shard; b.2 makes the shard grow while a reader probes.
#[test]
fn a_shard_grows_under_its_readers() {
    loom::model(|| {
        let (mut writer, chains) = create();
        writer.insert(HASH_A, b"a", 1, 0, 0, b"one").unwrap();
        let published = Arc::new(AtomicU64::new(1));
        let reader = thread::spawn({
            let published = Arc::clone(&published);
            move || {
                let seqno = published.load(Ordering::Acquire);
                assert_eq!(versions(&chains, HASH_A, b"a", u64::MAX), [(1, b"one".to_vec())]);
                let seen = versions(&chains, HASH_B, b"b", u64::MAX);
                assert!(seen == [(2, b"two".to_vec())] || seen.is_empty() && seqno < 2);
            }
        });
        writer.insert(HASH_B, b"b", 2, 0, 0, b"two").unwrap();
        published.store(2, Ordering::Release);
        reader.join().unwrap();
    });
}

/// A cursor at S shows exactly the writes up to S, whatever the writer does meanwhile.
#[test]
fn a_cursor_shows_the_keys_up_to_its_sequence_number() {
    loom::model(|| {
        let (mut writer, chains) = create();
        writer.insert(HASH_C, b"c", 1, 0, 0, b"").unwrap();
        let published = Arc::new(AtomicU64::new(1));
        let reader = thread::spawn({
            let published = Arc::clone(&published);
            move || {
                let seqno = published.load(Ordering::Acquire);
                let mut cursor = chains.cursor(seqno);
                let mut seen = Vec::new();
                cursor.seek_to_first();
                while cursor.valid() {
                    seen.push(cursor.key().to_vec());
                    cursor.next_key();
                }
                let all: [&[u8]; 3] = [b"a", b"b", b"c"];
                let expected = &all[3 - seqno as usize..];
                assert_eq!(seen, expected);
            }
        });
        for (seqno, hash, key) in [(2, HASH_B, b"b"), (3, HASH_A, b"a")] {
            writer.insert(hash, key, seqno, 0, 0, b"").unwrap();
            published.store(seqno, Ordering::Release);
        }
        reader.join().unwrap();
    });
}
