//! Checks which bytes and names the file system in memory loses in a crash, and which it keeps.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use foldb_env::mem::{Fault, MemFs, Operation};
use foldb_env::{FileSystem, WritableFile};

const PAGE: usize = 4096;
const SEEDS: u64 = 300;

fn root() -> &'static Path {
    Path::new("")
}

/// A file whose name and first bytes are durable.
fn durable(fs: &MemFs, name: &str, bytes: &[u8]) -> Arc<dyn WritableFile> {
    let file = fs.create(Path::new(name)).unwrap();
    file.write_at(bytes, 0).unwrap();
    file.sync().unwrap();
    fs.sync_dir(root()).unwrap();
    file
}

fn read(fs: &MemFs, name: &str) -> Option<Vec<u8>> {
    fs.read(Path::new(name)).ok()
}

/// Returns every state of the file `name` that one of many crashes produced.
fn outcomes(fs: &MemFs, name: &str) -> BTreeSet<Option<Vec<u8>>> {
    (0..SEEDS).map(|seed| read(&fs.crash_with(seed), name)).collect()
}

#[test]
fn synced_bytes_under_a_synced_name_survive_every_crash() {
    let fs = MemFs::new();
    let _file = durable(&fs, "f", &[5; 10_000]);
    let expected = Some(vec![5; 10_000]);
    assert_eq!(read(&fs.crash(), "f"), expected);
    assert_eq!(read(&fs.kill(), "f"), expected);
    assert_eq!(outcomes(&fs, "f"), [expected].into());
}

#[test]
fn a_crash_forgets_bytes_after_the_last_sync() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", b"synced");
    file.write_at(b"SYN", 0).unwrap();
    file.write_at(b" and more", 6).unwrap();
    assert_eq!(read(&fs.crash(), "f").unwrap(), b"synced");
    file.sync().unwrap();
    assert_eq!(read(&fs.crash(), "f").unwrap(), b"SYNced and more");
}

#[test]
fn a_kill_keeps_what_was_written_and_what_a_crash_would_forget() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", b"synced");
    file.write_at(b"!", 6).unwrap();
    fs.create(Path::new("new")).unwrap().write_at(b"x", 0).unwrap();
    fs.rename(Path::new("new"), Path::new("newer")).unwrap();

    let killed = fs.kill();
    assert_eq!(read(&killed, "f").unwrap(), b"synced!");
    assert_eq!(read(&killed, "newer").unwrap(), b"x");
    assert_eq!(killed.list(root()).unwrap(), ["f", "newer"]);

    let crashed = killed.crash();
    assert_eq!(read(&crashed, "f").unwrap(), b"synced");
    assert_eq!(crashed.list(root()).unwrap(), ["f"]);

    killed.sync_dir(root()).unwrap();
    assert_eq!(killed.crash().list(root()).unwrap(), ["f", "newer"]);
}

#[test]
fn what_a_crash_left_is_durable() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", &[1; 3 * PAGE]);
    file.write_at(&[2; 3 * PAGE], 0).unwrap();
    for seed in 0..20 {
        let once = fs.crash_with(seed);
        assert_eq!(read(&once.crash_with(seed + 1), "f"), read(&once, "f"));
        assert_eq!(read(&once.crash(), "f"), read(&once, "f"));
    }
}

#[test]
fn copies_and_original_share_nothing() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", b"before");
    let copies = [fs.crash(), fs.kill(), fs.crash_with(1)];
    file.write_at(b"AFTER!", 0).unwrap();
    file.sync().unwrap();
    fs.create(Path::new("other")).unwrap();
    for copy in &copies {
        assert_eq!(read(copy, "f").unwrap(), b"before");
        assert!(!copy.exists(Path::new("other")));
    }
    copies[1].create(Path::new("f")).unwrap().write_at(b"copy's", 0).unwrap();
    assert_eq!(read(&fs, "f").unwrap(), b"AFTER!");
}

#[test]
fn no_name_survives_before_its_directory_is_synced() {
    let fs = MemFs::new();
    let _old = durable(&fs, "old", b"old");
    let file = fs.create(Path::new("new")).unwrap();
    file.write_at(b"new", 0).unwrap();
    file.sync().unwrap();
    assert_eq!(read(&fs.crash(), "new"), None, "created, not synced");

    fs.rename(Path::new("new"), Path::new("old")).unwrap();
    assert_eq!(read(&fs.crash(), "old").unwrap(), b"old", "renamed, not synced");
    fs.sync_dir(root()).unwrap();
    assert_eq!(read(&fs.crash(), "old").unwrap(), b"new");

    fs.remove(Path::new("old")).unwrap();
    assert_eq!(read(&fs.crash(), "old").unwrap(), b"new", "removed, not synced");
    fs.sync_dir(root()).unwrap();
    assert_eq!(read(&fs.crash(), "old"), None);
}

#[test]
fn syncing_one_directory_does_not_sync_another() {
    let fs = MemFs::new();
    for name in ["a/f", "b/f"] {
        fs.create_dir_all(Path::new(name).parent().unwrap()).unwrap();
        fs.create(Path::new(name)).unwrap();
    }
    fs.sync_dir(Path::new("a")).unwrap();
    let crashed = fs.crash();
    assert!(crashed.exists(Path::new("a/f")));
    assert!(!crashed.exists(Path::new("b/f")));
    assert!(crashed.is_dir(Path::new("b")), "directories are durable at once");
}

#[test]
fn a_name_synced_before_its_bytes_is_an_empty_file() {
    let fs = MemFs::new();
    fs.create(Path::new("f")).unwrap().write_at(b"lost", 0).unwrap();
    fs.sync_dir(root()).unwrap();
    assert_eq!(read(&fs.crash(), "f").unwrap(), b"");
}

#[test]
fn emptying_a_file_by_creating_it_again_is_not_durable() {
    let fs = MemFs::new();
    let _old = durable(&fs, "f", b"old");
    let new = fs.create(Path::new("f")).unwrap();
    assert_eq!(read(&fs.crash(), "f").unwrap(), b"old");
    new.sync().unwrap();
    assert_eq!(read(&fs.crash(), "f").unwrap(), b"");
}

#[test]
fn each_unsynced_page_survives_or_not_on_its_own() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", &[1; 3 * PAGE]);
    file.write_at(&[2; 2 * PAGE], 0).unwrap();
    let seen: BTreeSet<[u8; 3]> = outcomes(&fs, "f")
        .into_iter()
        .map(|bytes| {
            let bytes = bytes.unwrap();
            assert_eq!(bytes.len(), 3 * PAGE);
            for page in bytes.chunks(PAGE) {
                assert!(page.iter().all(|byte| *byte == page[0]), "a page survives as a whole");
            }
            [bytes[0], bytes[PAGE], bytes[2 * PAGE]]
        })
        .collect();
    // The third page was not written: nothing happens to it.
    assert_eq!(seen, [[1, 1, 1], [1, 2, 1], [2, 1, 1], [2, 2, 1]].into());
}

#[test]
fn an_unsynced_length_is_the_old_the_new_or_a_multiple_of_the_page() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", &[1; 100]);
    file.write_at(&[2; 2 * PAGE], 100).unwrap();
    let lengths: BTreeSet<usize> =
        outcomes(&fs, "f").into_iter().map(|bytes| bytes.unwrap().len()).collect();
    assert_eq!(lengths, [100, PAGE, 2 * PAGE, 2 * PAGE + 100].into());
    for bytes in outcomes(&fs, "f").into_iter().flatten() {
        assert!(bytes[..100].iter().all(|byte| *byte == 1), "synced bytes stay");
        assert!(bytes[100..].iter().all(|byte| matches!(byte, 0 | 2)), "lost pages read as zero");
    }
}

#[test]
fn a_cut_that_was_not_synced_may_be_undone() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", &[1; 2 * PAGE]);
    file.truncate(10).unwrap();
    let outcomes = outcomes(&fs, "f");
    assert!(outcomes.contains(&Some(vec![1; 2 * PAGE])));
    assert!(outcomes.contains(&Some(vec![1; 10])));
    assert_eq!(read(&fs.crash(), "f").unwrap(), vec![1; 2 * PAGE]);
    file.sync().unwrap();
    assert_eq!(read(&fs.crash(), "f").unwrap(), vec![1; 10]);
    file.write_at(&[3], 20).unwrap();
    file.sync().unwrap();
    let mut expected = vec![0; 21];
    expected[..10].fill(1);
    expected[20] = 3;
    assert_eq!(read(&fs.crash(), "f").unwrap(), expected, "what was cut stays cut");
}

#[test]
fn a_file_emptied_and_filled_again_may_have_any_length_on_the_way() {
    let fs = MemFs::new();
    let _old = durable(&fs, "f", &[1; 2 * PAGE]);
    fs.create(Path::new("f")).unwrap().write_at(&[2; 2 * PAGE], 0).unwrap();
    let lengths: BTreeSet<usize> =
        outcomes(&fs, "f").into_iter().map(|bytes| bytes.unwrap().len()).collect();
    assert_eq!(lengths, [0, PAGE, 2 * PAGE].into());
}

#[test]
fn unsynced_directory_changes_survive_in_no_order() {
    let fs = MemFs::new();
    let _old = durable(&fs, "a", b"");
    fs.create(Path::new("b")).unwrap();
    fs.rename(Path::new("b"), Path::new("c")).unwrap();
    fs.remove(Path::new("a")).unwrap();
    let seen: BTreeSet<Vec<String>> =
        (0..SEEDS).map(|seed| fs.crash_with(seed).list(root()).unwrap()).collect();
    let listing = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    // The last one is the removal alone; the one before it the creation and the removal.
    let outcomes = [&["a"][..], &["a", "b"], &["a", "c"], &["c"], &["b"], &[]];
    assert_eq!(seen, outcomes.map(listing).into());
}

#[test]
fn changes_of_one_name_survive_in_their_order() {
    let fs = MemFs::new();
    let _old = durable(&fs, "f", b"old");
    fs.remove(Path::new("f")).unwrap();
    let new = fs.create(Path::new("f")).unwrap();
    new.write_at(b"new", 0).unwrap();
    new.sync().unwrap();
    let seen: BTreeSet<_> = outcomes(&fs, "f").into_iter().collect();
    assert_eq!(seen, [None, Some(b"old".to_vec()), Some(b"new".to_vec())].into());
}

#[test]
fn one_seed_is_one_outcome() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", &[1; PAGE]);
    file.write_at(&[2; 20 * PAGE], 0).unwrap();
    for seed in 0..20 {
        assert_eq!(read(&fs.crash_with(seed), "f"), read(&fs.crash_with(seed), "f"));
    }
}

#[test]
fn a_preallocated_log_keeps_its_length_and_its_synced_frames() {
    let fs = MemFs::new();
    let file = durable(&fs, "log", b"");
    file.preallocate(1 << 20).unwrap();
    file.write_at(b"frame", 0).unwrap();
    file.sync().unwrap();
    file.write_at(b"next", 5).unwrap();
    let seen: BTreeSet<Vec<u8>> = outcomes(&fs, "log")
        .into_iter()
        .map(|bytes| {
            let bytes = bytes.unwrap();
            assert_eq!(bytes.len(), 1 << 20);
            bytes[..9].to_vec()
        })
        .collect();
    assert_eq!(seen, [b"frame\0\0\0\0".to_vec(), b"framenext".to_vec()].into());
}

#[test]
fn bytes_of_a_failed_sync_are_not_saved_by_the_next_one() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", &[1; 2 * PAGE]);
    file.write_at(&[2; PAGE], 0).unwrap();
    fs.inject(Fault::on(Operation::Sync));
    file.sync().unwrap_err();
    assert_eq!(read(&fs, "f").unwrap()[0], 2, "the page cache still has them");
    file.write_at(&[3; PAGE], PAGE as u64).unwrap();
    file.sync().unwrap();
    let bytes = read(&fs.crash(), "f").unwrap();
    assert_eq!((bytes[0], bytes[PAGE]), (1, 3));
    file.write_at(&[2; PAGE], 0).unwrap();
    file.sync().unwrap();
    assert_eq!(read(&fs.crash(), "f").unwrap()[0], 2, "written again, they are");
}

#[test]
fn locks_rules_and_counts_end_with_the_process() {
    let fs = MemFs::new();
    fs.inject(Fault::on(Operation::Create).forever());
    let held = fs.lock(Path::new("LOCK")).unwrap();
    for copy in [fs.crash(), fs.crash_with(0), fs.kill()] {
        assert_eq!(copy.counts().mutations(), 0);
        copy.create(Path::new("f")).unwrap();
        let again = copy.lock(Path::new("LOCK")).unwrap();
        assert_eq!(fs.lock(Path::new("LOCK")).unwrap_err().kind(), ErrorKind::WouldBlock);
        drop(again);
    }
    drop(held);
    fs.lock(Path::new("LOCK")).unwrap();
}

/// A program writes a new file, syncs it, renames it over the old file, and syncs the directory. If
/// the power fails at any of these calls, the name leads to the whole old or the whole new file.
#[test]
fn the_atomic_replace_protocol_holds_at_every_crash_point() {
    fn replace(fs: &MemFs) -> std::io::Result<()> {
        let new = fs.create(Path::new("CURRENT.tmp"))?;
        new.write_at(&[2; 2 * PAGE], 0)?;
        new.sync()?;
        fs.rename(Path::new("CURRENT.tmp"), Path::new("CURRENT"))?;
        fs.sync_dir(root())
    }
    let (old, new) = (vec![1; 3 * PAGE], vec![2; 2 * PAGE]);
    let mut seen = BTreeSet::new();
    for point in 1..=6 {
        for seed in 0..50 {
            let fs = MemFs::new();
            let _old = durable(&fs, "CURRENT", &old);
            fs.inject(Fault::on_mutation().nth(point).forever());
            assert_eq!(replace(&fs).is_ok(), point == 6);
            let found = read(&fs.crash_with(seed), "CURRENT").unwrap();
            assert!(found == old || found == new, "point {point}, seed {seed}");
            if point == 6 {
                assert_eq!(found, new);
            }
            seen.insert(found);
        }
    }
    assert_eq!(seen.len(), 2);
}

/// A crash is one moment: bytes that were written to B after a sync of A never survive without the
/// synced bytes of A.
#[test]
fn a_crash_keeps_the_order_of_syncs_between_files() {
    let fs = MemFs::new();
    let (first, second) = (durable(&fs, "a", &[0; 8]), durable(&fs, "b", &[0; 8]));
    let number = |fs: &MemFs, name| u64::from_le_bytes(read(fs, name).unwrap().try_into().unwrap());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut step = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                step += 1;
                for file in [&first, &second] {
                    file.write_at(&step.to_le_bytes(), 0).unwrap();
                    file.sync().unwrap();
                }
            }
        });
        for _ in 0..2000 {
            let crashed = fs.crash();
            let (a, b) = (number(&crashed, "a"), number(&crashed, "b"));
            if !(a == b || a == b + 1) {
                stop.store(true, Ordering::Relaxed);
                panic!("a is at {a}, b at {b}");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}
