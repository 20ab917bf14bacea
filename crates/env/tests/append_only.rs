//! The adapter over files that only grow: it asks for nothing more, and keeps the promises of a
//! file system.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use foldb_env::mem::{Fault, Operation};
use foldb_env::{AppendOnlyFs, FileSystem, MemFs, RestrictedFs, SCRATCH_NAME};

fn over(fs: &MemFs) -> AppendOnlyFs {
    AppendOnlyFs::new(Arc::new(RestrictedFs::new(Arc::new(fs.clone()))))
}

/// A file system with the directory `dir`, and the adapter over it.
fn begin() -> (MemFs, AppendOnlyFs) {
    let below = MemFs::new();
    let fs = over(&below);
    fs.create_dir_all(Path::new("dir")).unwrap();
    (below, fs)
}

const FILE: &str = "dir/file";

#[test]
fn a_killed_process_loses_no_write() {
    let (below, fs) = begin();
    let file = fs.create(Path::new(FILE)).unwrap();
    for (offset, byte) in (0..5).zip(b"abcde") {
        file.write_at(&[*byte], offset).unwrap();
        assert_eq!(below.kill().len(Path::new(FILE)).unwrap(), offset + 1);
    }
}

#[test]
fn only_the_end_of_a_file_can_be_written() {
    let (below, fs) = begin();
    let file = fs.create(Path::new(FILE)).unwrap();
    file.write_at(b"abc", 0).unwrap();
    for offset in [0, 2, 4] {
        assert_eq!(file.write_at(b"x", offset).unwrap_err().kind(), ErrorKind::Unsupported);
    }
    file.preallocate(1 << 20).unwrap();
    file.write_at(b"de", 3).unwrap();
    assert_eq!(below.read(Path::new(FILE)).unwrap(), b"abcde");
    assert!(file.appends_only());
    let counts = below.counts();
    assert_eq!((counts.of(Operation::Truncate), counts.of(Operation::Preallocate)), (0, 0));
}

#[test]
fn a_removed_file_is_closed_before() {
    let (_, fs) = begin();
    let renamed = Path::new("dir/renamed");
    for name in [Path::new(FILE), renamed] {
        let file = fs.create(Path::new(FILE)).unwrap();
        file.write_at(b"abc", 0).unwrap();
        if name == renamed {
            fs.rename(Path::new(FILE), name).unwrap();
        }
        fs.remove(name).unwrap();
        assert_eq!(file.write_at(b"d", 3).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(file.truncate(1).unwrap_err().kind(), ErrorKind::NotFound);
        assert!(!fs.exists(name), "the truncation wrote the removed file anew");
        // The handle of the removed file does not close a new one.
        let next = fs.create(name).unwrap();
        file.close().unwrap();
        next.write_at(b"abc", 0).unwrap();
        fs.remove(name).unwrap();
    }
}

/// A thread that syncs a log does not hold back its removal, and does not fail for it.
#[test]
fn a_sync_may_come_after_the_removal() {
    let (_, fs) = begin();
    let file = fs.create(Path::new(FILE)).unwrap();
    file.write_at(b"abc", 0).unwrap();
    fs.remove(Path::new(FILE)).unwrap();
    file.sync().unwrap();
    // A file that was closed and stands is another matter.
    let closed = fs.create(Path::new(FILE)).unwrap();
    closed.close().unwrap();
    assert!(closed.sync().is_err());
}

#[test]
fn no_missing_file_is_removed() {
    let (below, fs) = begin();
    assert_eq!(fs.remove(Path::new(FILE)).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(below.counts().of(Operation::Remove), 0);
}

#[test]
fn a_truncated_file_grows_again_under_its_name() {
    let (below, fs) = begin();
    let file = fs.create(Path::new(FILE)).unwrap();
    file.write_at(b"abcde", 0).unwrap();
    file.truncate(5).unwrap();
    let unchanged = below.counts();
    assert_eq!(unchanged.of(Operation::Rename), 0);
    file.truncate(2).unwrap();
    file.write_at(b"xyz", 2).unwrap();
    assert_eq!(below.read(Path::new(FILE)).unwrap(), b"abxyz");
    assert!(!fs.exists(&Path::new("dir").join(SCRATCH_NAME)));
    assert_eq!(file.truncate(9).unwrap_err().kind(), ErrorKind::Unsupported);
    // The truncation was durable before it returned.
    file.truncate(2).unwrap();
    assert_eq!(below.crash().read(Path::new(FILE)).unwrap(), b"ab");
}

/// After an append that wrote a part of its bytes, the file takes nothing until it is cut.
#[test]
fn a_torn_file_takes_no_bytes_until_it_is_cut() {
    let (below, fs) = begin();
    let file = fs.create(Path::new(FILE)).unwrap();
    file.write_at(b"abc", 0).unwrap();
    below.inject(Fault::on(Operation::Write).torn_at(2).kind(ErrorKind::StorageFull));
    assert_eq!(file.write_at(b"defg", 3).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(below.read(Path::new(FILE)).unwrap(), b"abcde");
    assert_eq!(file.write_at(b"x", 3).unwrap_err().kind(), ErrorKind::Unsupported);
    // A disk that is still full, then one with space.
    below.inject(Fault::on(Operation::Write).kind(ErrorKind::StorageFull));
    assert_eq!(file.truncate(3).unwrap_err().kind(), ErrorKind::StorageFull);
    assert!(file.write_at(b"x", 3).is_err());
    file.truncate(3).unwrap();
    file.write_at(b"x", 3).unwrap();
    assert_eq!(below.read(Path::new(FILE)).unwrap(), b"abcx");
}

/// The disk has no space for a copy without the failed bytes. The bytes before them can be synced.
#[test]
fn a_torn_file_can_be_synced() {
    let (below, fs) = begin();
    let file = fs.create(Path::new(FILE)).unwrap();
    fs.sync_dir(Path::new("dir")).unwrap();
    file.write_at(b"abc", 0).unwrap();
    below.inject(Fault::on(Operation::Write).torn_at(2).kind(ErrorKind::StorageFull));
    file.write_at(b"defg", 3).unwrap_err();
    below.inject(Fault::on(Operation::Write).kind(ErrorKind::StorageFull));
    assert_eq!(file.truncate(3).unwrap_err().kind(), ErrorKind::StorageFull);
    file.sync().unwrap();
    assert!(below.crash().read(Path::new(FILE)).unwrap().starts_with(b"abc"));
    // The truncation ends after it closed the torn file. A sync then completes it.
    below.inject(Fault::on(Operation::Rename));
    file.truncate(3).unwrap_err();
    file.sync().unwrap();
    assert_eq!(below.crash().read(Path::new(FILE)).unwrap(), b"abc");
    file.write_at(b"x", 3).unwrap();
    assert_eq!(below.read(Path::new(FILE)).unwrap(), b"abcx");
}

/// At every step of a truncation a power loss leaves the synced bytes under the name.
#[test]
fn a_crash_during_a_truncation_keeps_the_head() {
    let steps = |fail_at: Option<u64>| {
        let (below, fs) = begin();
        let file = fs.create(Path::new(FILE)).unwrap();
        file.write_at(b"abcde", 0).unwrap();
        file.sync().unwrap();
        fs.sync_dir(Path::new("dir")).unwrap();
        let before = below.counts().mutations();
        if let Some(at) = fail_at {
            below.inject(Fault::on_mutation().nth(at).forever());
        }
        let _may_fail = file.truncate(2);
        for seed in 0..50 {
            let after = below.crash_with(seed);
            let found = after.read(Path::new(FILE)).unwrap();
            assert!(found.starts_with(b"ab"), "step {fail_at:?}, seed {seed}: {found:?}");
        }
        below.counts().mutations() - before
    };
    let all = steps(None);
    assert!(all > 4, "{all}");
    for at in 1..=all {
        steps(Some(at));
    }
}

#[test]
fn a_sync_of_a_directory_makes_its_names_durable() {
    let (below, fs) = begin();
    let (file, renamed) = (Path::new(FILE), Path::new("dir/renamed"));
    fs.create(file).unwrap().sync().unwrap();
    assert!(!below.crash().exists(file));
    fs.rename(file, renamed).unwrap();
    fs.sync_dir(Path::new("dir")).unwrap();
    let after = below.crash();
    assert!(!after.exists(file) && after.exists(renamed));
    assert_eq!(below.list(Path::new("dir")).unwrap(), ["renamed"]);
    // A sync that fails below is reported.
    below.inject(Fault::on(Operation::SyncDir));
    assert!(fs.sync_dir(Path::new("dir")).is_err());
}

/// The system below shows a reader only the bytes that the file had at its open.
#[test]
fn a_reader_sees_what_a_file_gained_after_its_open() {
    let (_below, fs) = begin();
    let file = fs.create(Path::new(FILE)).unwrap();
    file.write_at(b"abc", 0).unwrap();
    let reader = fs.open(Path::new(FILE)).unwrap();
    file.write_at(b"def", 3).unwrap();
    let mut bytes = [0; 4];
    reader.read_exact_at(&mut bytes, 2).unwrap();
    assert_eq!(&bytes, b"cdef");
    assert_eq!(reader.len().unwrap(), 6);
    let beyond = reader.read_exact_at(&mut bytes, 3).unwrap_err();
    assert_eq!(beyond.kind(), ErrorKind::UnexpectedEof);
    // Removed, the file still has these bytes.
    fs.remove(Path::new(FILE)).unwrap();
    reader.read_exact_at(&mut bytes, 2).unwrap();
    assert_eq!(reader.len().unwrap(), 6);
}

/// The system below reports a missing file with an error of no particular kind.
#[test]
fn a_reader_sees_what_a_renamed_file_gained_after_its_open() {
    let (_, fs) = begin();
    let file = fs.create(Path::new(FILE)).unwrap();
    file.write_at(b"abc", 0).unwrap();
    let reader = fs.open(Path::new(FILE)).unwrap();
    file.write_at(b"de", 3).unwrap();
    fs.rename(Path::new(FILE), Path::new("dir/renamed")).unwrap();
    assert_eq!(reader.len().unwrap(), 5);
    let mut bytes = [0; 4];
    reader.read_exact_at(&mut bytes, 1).unwrap();
    assert_eq!(&bytes, b"bcde");
}

/// Another file took the name, as a truncation replaces a file. The reader may be one of another
/// process.
#[test]
fn a_reader_goes_on_with_the_file_that_replaced_its_own() {
    let (below, fs) = begin();
    for fs_of_reader in [fs.clone(), over(&below)] {
        let file = fs.create(Path::new(FILE)).unwrap();
        file.write_at(b"abc failed", 0).unwrap();
        let reader = fs_of_reader.open(Path::new(FILE)).unwrap();
        file.truncate(3).unwrap();
        file.write_at(b"defg", 3).unwrap();
        assert_eq!(reader.len().unwrap(), 7);
        let mut bytes = [0; 7];
        reader.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"abcdefg");
    }
}

#[test]
fn a_missing_file_is_reported_as_missing() {
    let (_below, fs) = begin();
    let missing = Path::new("dir/missing");
    for error in [
        fs.open(missing).map(drop).unwrap_err(),
        fs.remove(missing).unwrap_err(),
        fs.len(missing).map(drop).unwrap_err(),
        fs.rename(missing, Path::new("dir/other")).unwrap_err(),
        fs.read(missing).map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
    assert!(!fs.exists(missing) && !fs.try_exists(missing).unwrap() && !fs.is_dir(missing));
    assert!(fs.exists(Path::new("dir")) && fs.is_dir(Path::new("dir")));
    assert_eq!(fs.len(Path::new("dir")).unwrap_err().kind(), ErrorKind::IsADirectory);
}

#[test]
fn directories_are_made_with_their_parents() {
    let (below, fs) = begin();
    let deep = Path::new("dir/a/b");
    fs.create_dir_all(deep).unwrap();
    fs.create_dir_all(deep).unwrap();
    assert!(below.is_dir(deep));
    assert_eq!(fs.list(Path::new("dir")).unwrap(), ["a"]);
    fs.remove_dir(deep).unwrap();
    assert!(!fs.exists(deep));
    let link = fs.hard_link(Path::new(FILE), Path::new("dir/link")).unwrap_err();
    assert_eq!(link.kind(), ErrorKind::Unsupported);
}

#[test]
fn a_lock_excludes_until_it_is_dropped() {
    let (_below, fs) = begin();
    let path = Path::new("dir/LOCK");
    let held = fs.lock(path).unwrap();
    assert_eq!(fs.lock(path).unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(held);
    drop(fs.lock(path).unwrap());
}
