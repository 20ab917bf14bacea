//! Checks publication under the model checker loom, in every order of the writer's stores that the
//! memory model allows a reader to see. `ci/loom.sh` runs these tests.

#![cfg(loom)]

use std::sync::Arc;

use foldb_chains::planted::{Fault, plant};
use foldb_chains::{ArenaPool, Chains, DELETED, Inserted, KeyOrder, NewRecord, Pins, Way, Writer};
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

/// A cursor at S shows exactly the writes up to S, even if the writer continues.
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

/// The kind of counters' records.
const ADD: u8 = 2;

/// A writer of counters a and b as the engine has it.
struct Counters {
    writer: Writer,
    pins: Arc<Pins>,
}

/// a.1(+1) b.2(+1), published.
fn counters() -> (Counters, Arc<Chains>, Arc<Pins>) {
    let (writer, chains) = create();
    let pins = Arc::new(Pins::new(0));
    let mut counters = Counters { writer, pins: Arc::clone(&pins) };
    counters.add(1, b"a");
    counters.add(2, b"b");
    (counters, chains, pins)
}

impl Counters {
    /// One write: in place where it may be.
    fn add(&mut self, seqno: u64, key: &[u8]) -> Inserted {
        let pins = Arc::clone(&self.pins);
        let phase = pins.begin_apply();
        let inserted = self.apply(seqno, key, phase.floor().unwrap_or(seqno));
        pins.publish(seqno);
        inserted
    }

    /// A batch of two: in place only in itself.
    fn add_to_both(&mut self, seqno: u64) {
        self.apply(seqno, b"a", seqno - 1);
        self.apply(seqno + 1, b"b", seqno - 1);
        self.pins.publish(seqno + 1);
    }

    fn apply(&mut self, seqno: u64, key: &[u8], floor: u64) -> Inserted {
        let record = NewRecord { seqno, kind: ADD, operator: 1, value: &1u64.to_le_bytes() };
        let add = |word: [u8; 8]| Some((u64::from_le_bytes(word) + 1).to_le_bytes());
        self.writer.insert_or_fold(hash_of(key), key, record, floor, add).unwrap()
    }
}

fn hash_of(key: &[u8]) -> u64 {
    if key == b"a" { HASH_A } else { HASH_B }
}

fn count(chains: &Chains, key: &[u8], seqno: u64) -> u64 {
    let values = versions(chains, hash_of(key), key, seqno).into_iter();
    values.map(|(_, value)| u64::from_le_bytes(value.try_into().unwrap())).sum()
}

/// a=1 b=1, then a+=1 twice while a reader pins and reads twice. Both reads must show the count at
/// the pinned sequence number.
fn pinned_reader() {
    loom::model(|| {
        let (mut counters, chains, pins) = counters();
        let writer = thread::spawn(move || {
            counters.add(3, b"a");
            counters.add(4, b"a");
        });
        let seqno = pins.pin();
        assert_eq!(count(&chains, b"a", seqno), seqno - 1, "at {seqno}");
        writer.join().unwrap();
        assert_eq!(count(&chains, b"a", seqno), seqno - 1, "later at {seqno}");
    });
}

#[test]
fn h2_a_pinned_reader_sees_no_change_in_place() {
    pinned_reader();
}

/// a=1 b=1, then a+=1, a pin at 3, a+=1, while a reader pins. The reader may rest on the other pin
/// at 3. At 2 it may not: write 3 may have changed the record of write 1 before that pin.
#[test]
fn h2_a_pin_rests_only_on_a_pin_of_its_number() {
    loom::model(|| {
        let (mut counters, chains, pins) = counters();
        let reader = thread::spawn({
            let pins = Arc::clone(&pins);
            move || {
                let seqno = pins.pin();
                assert_eq!(count(&chains, b"a", seqno), seqno - 1, "at {seqno}");
                (chains, seqno)
            }
        });
        counters.add(3, b"a");
        assert_eq!(pins.pin(), 3);
        assert_ne!(counters.add(4, b"a"), Inserted::InPlace);
        let (chains, seqno) = reader.join().unwrap();
        assert_eq!(count(&chains, b"a", seqno), seqno - 1, "later at {seqno}");
    });
}

/// A snapshot is taken while the writer adds. Another reader gets a, then b, then a again without
/// pinning. It sees everything published, and the second value of a is not older than the first.
#[test]
fn h2_gets_beside_a_snapshot_never_go_back() {
    loom::model(|| {
        let (mut counters, chains, pins) = counters();
        let snapshotter = thread::spawn({
            let (chains, pins) = (Arc::clone(&chains), Arc::clone(&pins));
            move || {
                let seqno = pins.pin();
                assert_eq!(count(&chains, b"a", seqno), seqno - 1);
            }
        });
        let reader = thread::spawn(move || {
            let seqno = pins.published();
            let before = count(&chains, b"a", seqno);
            assert!(before >= seqno - 1);
            let seqno = pins.published();
            assert!(count(&chains, b"a", seqno) >= before.max(seqno - 1));
        });
        counters.add(3, b"a");
        snapshotter.join().unwrap();
        reader.join().unwrap();
    });
}

/// Batch {a+=1, b+=1}: a multi-get sees both or neither, also when a single a+=1 comes before it.
#[test]
fn h2_a_multi_get_sees_a_batch_whole() {
    loom::model(|| {
        let (mut counters, chains, pins) = counters();
        let reader = thread::spawn(move || {
            let seqno = pins.pin();
            let (a, b) = (count(&chains, b"a", seqno), count(&chains, b"b", seqno));
            let expected = match seqno {
                2 => (1, 1),
                3 => (2, 1),
                5 => (3, 2),
                seqno => panic!("half a batch is published: {seqno}"),
            };
            assert_eq!((a, b), expected, "at {seqno}");
        });
        counters.add(3, b"a");
        counters.add_to_both(4);
        reader.join().unwrap();
    });
}

/// Two concurrent gets: if the one of b sees the later write, the one of a sees the earlier write.
#[test]
fn h2_changes_in_place_are_seen_in_their_order() {
    loom::model(|| {
        let (mut counters, chains, pins) = counters();
        let reader = thread::spawn(move || {
            let seqno = pins.published();
            let b = count(&chains, b"b", seqno);
            let a = count(&chains, b"a", seqno);
            assert!(a >= b, "b has write 4, a lacks write 3");
        });
        assert_eq!(counters.add(3, b"a"), Inserted::InPlace);
        counters.add(4, b"b");
        reader.join().unwrap();
    });
}

/// a.{2, 3} are folded into F.3 while a get that began at 2 walks: it must find 2.
fn get_during_a_fold() {
    loom::model(|| {
        let (mut writer, chains) = create();
        for seqno in 1..=2 {
            writer.insert(HASH_A, b"a", seqno, ADD, 1, b"+").unwrap();
        }
        let published = Arc::new(AtomicU64::new(2));
        let reader = thread::spawn({
            let published = Arc::clone(&published);
            move || {
                let seqno = published.load(Ordering::Acquire);
                let seen = versions(&chains, HASH_A, b"a", seqno);
                let seen: usize = seen.iter().map(|(_, value)| value.len()).sum();
                assert_eq!(seen as u64, seqno);
            }
        });
        writer.insert(HASH_A, b"a", 3, ADD, 1, b"+").unwrap();
        writer.fold_newest(HASH_A, b"a", 2, ADD, 1, b"++").unwrap();
        published.store(3, Ordering::Release);
        reader.join().unwrap();
    });
}

#[test]
fn h3_a_get_beside_a_fold_loses_nothing() {
    get_during_a_fold();
}

/// Runs a model with a deliberate bug, and checks that the model fails.
fn assert_noticed(fault: Fault, model: fn()) {
    plant(Some(fault));
    let outcome = std::panic::catch_unwind(model);
    plant(None);
    assert!(outcome.is_err(), "the model does not detect {fault:?}");
}

#[test]
fn folding_while_a_reader_pins_is_noticed() {
    assert_noticed(Fault::FoldWhilePinning, pinned_reader);
}

#[test]
fn reading_max_pinned_before_pending_is_noticed() {
    assert_noticed(Fault::MaxPinnedFirst, pinned_reader);
}

#[test]
fn pinning_without_waiting_is_noticed() {
    assert_noticed(Fault::PinWithoutWaiting, pinned_reader);
}

#[test]
fn a_relaxed_publication_is_noticed() {
    assert_noticed(Fault::RelaxedPublication, h2_gets_after_publication);
}

#[test]
fn a_relaxed_link_is_noticed() {
    assert_noticed(Fault::RelaxedLink, get_during_a_fold);
}

/// A get sees every published write as a whole.
#[test]
fn h2_gets_after_publication() {
    loom::model(|| {
        let (mut counters, chains, pins) = counters();
        let reader = thread::spawn(move || {
            let seqno = pins.published();
            assert!(count(&chains, b"a", seqno) >= seqno - 1);
        });
        counters.add(3, b"a");
        reader.join().unwrap();
    });
}

/// The kind of a plain put.
const PUT: u8 = 1;

/// Puts one-letter keys under the next sequence numbers, each published.
struct Letters {
    writer: Writer,
    published: Arc<AtomicU64>,
    seqno: u64,
}

impl Letters {
    fn create() -> (Letters, Arc<Chains>, Arc<AtomicU64>) {
        let (writer, chains) = create();
        let published = Arc::new(AtomicU64::new(0));
        let letters = Letters { writer, published: Arc::clone(&published), seqno: 0 };
        (letters, chains, published)
    }

    fn write(&mut self, letters: &[u8], kind: u8) {
        for letter in letters {
            self.seqno += 1;
            let hash = u64::from(*letter) << 32;
            self.writer.insert(hash, &[*letter], self.seqno, kind, 0, b"").unwrap();
            self.published.store(self.seqno, Ordering::Release);
        }
    }
}

/// The letters that a cursor shows.
fn walk(chains: &Arc<Chains>, seqno: u64) -> String {
    let mut cursor = chains.cursor(seqno);
    let mut seen = String::new();
    cursor.seek_to_first();
    while cursor.valid() {
        seen.push(cursor.key()[0] as char);
        cursor.next_key();
    }
    seen
}

/// The first `seqno` letters that were written, in their order.
fn sorted(written: &str, seqno: u64) -> String {
    let mut letters = written.as_bytes()[..seqno as usize].to_vec();
    letters.sort_unstable();
    String::from_utf8(letters).unwrap()
}

/// d, c are there; a background thread sorts them while a cursor does, and b, a come. Every cursor
/// shows each key up to its sequence number once.
#[test]
fn h17_keys_are_sorted_by_cursors_and_in_the_background() {
    loom::model(|| {
        let (mut letters, chains, published) = Letters::create();
        letters.write(b"dc", PUT);
        let background = thread::spawn({
            let chains = Arc::clone(&chains);
            move || chains.advance_order()
        });
        let reader = thread::spawn({
            let chains = Arc::clone(&chains);
            move || {
                let seqno = published.load(Ordering::Acquire);
                assert_eq!(walk(&chains, seqno), sorted("dcba", seqno));
            }
        });
        letters.write(b"ba", PUT);
        background.join().unwrap();
        reader.join().unwrap();
        chains.order_all();
        assert_eq!(walk(&chains, 4), "abcd");
        assert_eq!(chains.cursor(4).stretches(), 1);
    });
}

/// f, e, d, c are there: too many to sort for a cursor, which takes a window of them while a
/// background thread sorts, and b, a come. It shows each key up to its sequence number once, also
/// where it walks out of the window.
#[test]
fn a_cursor_with_windows_beside_a_thread_that_sorts() {
    loom::model(|| {
        let (mut letters, chains, published) = Letters::create();
        letters.write(b"fedc", PUT);
        let background = thread::spawn({
            let chains = Arc::clone(&chains);
            move || chains.advance_order()
        });
        let reader = thread::spawn({
            let chains = Arc::clone(&chains);
            move || {
                let seqno = published.load(Ordering::Acquire);
                let all = sorted("fedcba", seqno);
                let mut cursor = chains.cursor(seqno);
                cursor.seek(b"e");
                assert_eq!(cursor.key(), b"e");
                cursor.prev_key();
                assert_eq!(cursor.key(), b"d");
                assert_eq!(walk(&chains, seqno), all);
            }
        });
        letters.write(b"ba", PUT);
        background.join().unwrap();
        reader.join().unwrap();
        assert_eq!(walk(&chains, 6), "abcdef");
    });
}

/// Two sorted stretches of two keys are there, or are about to be; the background merges them while
/// a cursor sorts two keys more and merges what it may.
fn cursor_beside_a_merge() {
    loom::model(|| {
        let (mut letters, chains, _) = Letters::create();
        letters.write(b"fb", PUT);
        assert!(chains.advance_order());
        letters.write(b"ea", PUT);
        let background = thread::spawn({
            let chains = Arc::clone(&chains);
            move || chains.advance_order()
        });
        letters.write(b"dc", PUT);
        assert_eq!(walk(&chains, 6), "abcdef");
        background.join().unwrap();
        assert_eq!(walk(&chains, 6), "abcdef");
        chains.order_all();
        assert_eq!(walk(&chains, 6), "abcdef");
        assert_eq!(chains.cursor(6).stretches(), 1);
    });
}

#[test]
fn h17_a_cursor_merges_beside_a_background_merge() {
    cursor_beside_a_merge();
}

#[test]
fn merging_what_another_thread_merges_is_noticed() {
    assert_noticed(Fault::MergeBesideMerge, cursor_beside_a_merge);
}

/// The first letter that is there for a reader at `seqno`, found by a walk that jumps.
fn first_there(chains: &Arc<Chains>, seqno: u64, way: Way) -> Option<char> {
    let mut cursor = chains.cursor(seqno);
    match way {
        Way::Forward => cursor.seek_to_first(),
        Way::Backward => cursor.seek_to_last(),
    }
    while cursor.valid() {
        // A walk backwards comes to the oldest version first.
        if cursor.versions().next().unwrap().kind != DELETED {
            return Some(cursor.key()[0] as char);
        }
        // A key that is put again at this moment is not gone, and not there yet.
        if !cursor.pass_gone(way, seqno, None, None) {
            match way {
                Way::Forward => cursor.next_key(),
                Way::Backward => cursor.prev_key(),
            }
        }
    }
    None
}

/// a and b are deleted. A walk from b to a notes that they are gone, while b is put again. A reader
/// that sees the put must jump from a to b and not over b, whatever the walk noted.
fn key_that_comes_back() {
    loom::model(|| {
        let (mut letters, chains, published) = Letters::create();
        letters.write(b"ab", PUT);
        letters.write(b"ab", DELETED);
        let walker = thread::spawn({
            let chains = Arc::clone(&chains);
            move || {
                let seqno = published.load(Ordering::Acquire);
                let expected = (seqno == 5).then_some('b');
                assert_eq!(first_there(&chains, seqno, Way::Backward), expected);
            }
        });
        letters.write(b"b", PUT);
        assert_eq!(first_there(&chains, 5, Way::Forward), Some('b'));
        assert_eq!(first_there(&chains, 4, Way::Forward), None);
        walker.join().unwrap();
        assert_eq!(first_there(&chains, 5, Way::Forward), Some('b'));
    });
}

#[test]
fn no_reader_jumps_over_a_key_that_comes_back() {
    key_that_comes_back();
}

#[test]
fn noting_that_a_key_is_back_too_early_is_noticed() {
    assert_noticed(Fault::ReviveEarly, key_that_comes_back);
}

#[test]
fn reading_the_ring_after_the_version_is_noticed() {
    assert_noticed(Fault::CheckGoneLate, key_that_comes_back);
}

/// More keys come back than the ring holds, while a reader jumps. The reader must forget the run,
/// or see these keys.
#[test]
fn a_ring_that_was_written_over_is_not_trusted() {
    loom::model(|| {
        let (mut letters, chains, published) = Letters::create();
        letters.write(b"abcde", PUT);
        letters.write(b"abcde", DELETED);
        assert_eq!(first_there(&chains, 10, Way::Forward), None);
        let reader = thread::spawn({
            let chains = Arc::clone(&chains);
            move || {
                let seqno = published.load(Ordering::Acquire);
                let expected = (seqno > 10).then(|| (b'e' - (seqno - 11) as u8) as char);
                assert_eq!(first_there(&chains, seqno, Way::Forward), expected);
            }
        });
        letters.write(b"edcba", PUT);
        reader.join().unwrap();
        assert_eq!(first_there(&chains, 15, Way::Forward), Some('a'));
    });
}

/// Keys a and c are there, in an order that ignores case; b.3 and A.4 come while a reader searches
/// and walks. It finds every key up to its sequence number, in any spelling, and each record whole.
fn key_that_is_linked() {
    loom::model(|| {
        let compare = |a: &[u8], b: &[u8]| a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase());
        let order = KeyOrder::Spelled(Arc::new(compare));
        let (mut writer, chains) = Chains::create(&ArenaPool::new(0), 2048, order);
        writer.insert(0, b"a", 1, PUT, 0, b"one").unwrap();
        writer.insert(0, b"c", 2, PUT, 0, b"two").unwrap();
        let published = Arc::new(AtomicU64::new(2));
        let reader = thread::spawn({
            let published = Arc::clone(&published);
            move || {
                let seqno = published.load(Ordering::Acquire);
                assert_eq!(versions(&chains, 0, b"C", u64::MAX), [(2, b"two".to_vec())]);
                let seen = versions(&chains, 0, b"B", u64::MAX);
                assert!(seen == [(3, b"three".to_vec())] || seen.is_empty() && seqno < 3);
                let mut cursor = chains.cursor(seqno);
                let mut seen = String::new();
                cursor.seek_to_first();
                while cursor.valid() {
                    seen.push(cursor.newest_key(u64::MAX)[0] as char);
                    cursor.next_key();
                }
                assert_eq!(seen, ["ac", "abc", "Abc"][seqno as usize - 2]);
            }
        });
        writer.insert(0, b"b", 3, PUT, 0, b"three").unwrap();
        published.store(3, Ordering::Release);
        writer.insert(0, b"A", 4, PUT, 0, b"four").unwrap();
        published.store(4, Ordering::Release);
        reader.join().unwrap();
    });
}

#[test]
fn h13_a_key_in_an_order_with_spellings_is_seen_whole_or_not_at_all() {
    key_that_is_linked();
}

#[test]
fn linking_a_tower_relaxed_is_noticed() {
    assert_noticed(Fault::RelaxedTower, key_that_is_linked);
}
