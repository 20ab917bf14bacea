//! Checks each promise of the traits in `fs.rs` on the real file systems and on the one in memory.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use foldb_env::{FileSystem, MemFs, PortableFs};

#[cfg(unix)]
const REAL: [&dyn FileSystem; 2] = [&foldb_env::PosixFs, &PortableFs];
#[cfg(not(unix))]
const REAL: [&dyn FileSystem; 1] = [&PortableFs];

/// Runs one body on each file system, in a fresh directory.
fn on_each(body: impl Fn(&dyn FileSystem, &Path)) {
    for fs in REAL {
        let directory = tempfile::tempdir().unwrap();
        body(fs, directory.path());
    }
    on_memory(body);
}

fn on_memory(body: impl Fn(&dyn FileSystem, &Path)) {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("/db")).unwrap();
    body(&fs, Path::new("/db"));
}

/// Returns whether the system takes the name of an open file away at once when it is removed. NTFS
/// does since Windows 10; FAT and Wine keep the name until the last handle is closed.
fn frees_names_of_open_files() -> bool {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("probe");
    let open = std::fs::File::create(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let is_free = std::fs::File::create_new(&path).is_ok();
    drop(open);
    assert!(is_free || cfg!(windows));
    if !is_free {
        eprintln!("this file system keeps the names of open files: only MemFs was checked");
    }
    is_free
}

/// Does what [`on_each`] does, on real file systems that free the names of open files.
fn on_each_that_frees_names(body: impl Fn(&dyn FileSystem, &Path)) {
    match frees_names_of_open_files() {
        true => on_each(body),
        false => on_memory(body),
    }
}

fn put(fs: &dyn FileSystem, path: &Path, bytes: &[u8]) {
    fs.create(path).unwrap().write_at(bytes, 0).unwrap();
}

fn sorted(fs: &dyn FileSystem, path: &Path) -> Vec<String> {
    let mut names = fs.list(path).unwrap();
    names.sort();
    names
}

#[test]
fn create_makes_an_empty_file_and_empties_an_existing_one() {
    on_each(|fs, dir| {
        let path = dir.join("f");
        fs.create(&path).unwrap();
        assert_eq!(fs.len(&path).unwrap(), 0);
        put(fs, &path, b"old");
        assert_eq!(fs.read(&path).unwrap(), b"old");
        fs.create(&path).unwrap();
        assert_eq!(fs.read(&path).unwrap(), b"");
    });
}

#[test]
fn create_fails_without_its_directory_or_in_place_of_one() {
    on_each(|fs, dir| {
        let error = fs.create(&dir.join("missing/f")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        fs.create_dir_all(&dir.join("sub")).unwrap();
        assert_eq!(fs.create(&dir.join("sub")).unwrap_err().kind(), ErrorKind::IsADirectory);
    });
}

#[test]
fn a_missing_file_is_not_found() {
    on_each(|fs, dir| {
        let path = dir.join("missing");
        assert_eq!(fs.open(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs.len(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs.read(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs.remove(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs.rename(&path, &dir.join("new")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs.list(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs.sync_dir(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs.remove_dir(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert!(!fs.exists(&path) && !fs.is_dir(&path));
    });
}

#[test]
fn writes_are_positioned_and_gaps_are_zero() {
    on_each(|fs, dir| {
        let path = dir.join("f");
        let file = fs.create(&path).unwrap();
        let late = vec![7; 9000];
        file.write_at(&late, 5000).unwrap();
        file.write_at(b"early", 10).unwrap();
        file.write_at(b"", 1 << 40).unwrap();

        let mut expected = vec![0; 14_000];
        expected[5000..].fill(7);
        expected[10..15].copy_from_slice(b"early");
        assert_eq!(fs.read(&path).unwrap(), expected);
        assert_eq!(fs.len(&path).unwrap(), 14_000);

        let mut part = vec![0; 5000];
        fs.open(&path).unwrap().read_exact_at(&mut part, 3000).unwrap();
        assert_eq!(part, expected[3000..8000]);
    });
}

#[test]
fn a_reader_sees_what_a_writer_returned_from() {
    on_each(|fs, dir| {
        let path = dir.join("f");
        let writer = fs.create(&path).unwrap();
        let reader = fs.open(&path).unwrap();
        assert!(reader.is_empty().unwrap());
        writer.write_at(b"now", 0).unwrap();
        let mut bytes = [0; 3];
        reader.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!((&bytes, reader.len().unwrap()), (b"now", 3));
    });
}

#[test]
fn reading_past_the_end_is_unexpected_eof() {
    on_each(|fs, dir| {
        let path = dir.join("f");
        put(fs, &path, b"abc");
        let file = fs.open(&path).unwrap();
        for offset in [1, 3, 4, 1 << 40] {
            let error = file.read_exact_at(&mut [0; 3], offset).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "offset {offset}");
        }
        file.read_exact_at(&mut [], 3).unwrap();
        file.read_exact_at(&mut [0; 3], 0).unwrap();
    });
}

#[test]
fn rename_replaces_the_target_and_open_handles_keep_their_file() {
    on_each_that_frees_names(|fs, dir| {
        let (from, to) = (dir.join("from"), dir.join("to"));
        put(fs, &from, b"new");
        put(fs, &to, b"old");
        let old = fs.open(&to).unwrap();
        fs.rename(&from, &to).unwrap();
        assert_eq!(fs.read(&to).unwrap(), b"new");
        assert_eq!(sorted(fs, dir), ["to"]);

        let mut bytes = [0; 3];
        old.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"old");

        fs.rename(&to, &to).unwrap();
        assert_eq!(fs.read(&to).unwrap(), b"new");
    });
}

#[test]
fn rename_stays_within_one_directory() {
    on_each(|fs, dir| {
        put(fs, &dir.join("f"), b"stays");
        fs.create_dir_all(&dir.join("sub")).unwrap();
        let error = fs.rename(&dir.join("f"), &dir.join("sub/f")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(fs.read(&dir.join("f")).unwrap(), b"stays");
    });
}

#[test]
fn open_handles_go_on_reading_and_writing_a_removed_file() {
    on_each_that_frees_names(|fs, dir| {
        let path = dir.join("f");
        let writer = fs.create(&path).unwrap();
        writer.write_at(b"old", 0).unwrap();
        let reader = fs.open(&path).unwrap();
        fs.remove(&path).unwrap();
        assert!(!fs.exists(&path));
        assert_eq!(fs.open(&path).unwrap_err().kind(), ErrorKind::NotFound);

        put(fs, &path, b"another");
        writer.write_at(b"er", 3).unwrap();
        let mut bytes = [0; 5];
        reader.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"older");
        assert_eq!(fs.read(&path).unwrap(), b"another");
    });
}

#[test]
fn directories_are_made_with_their_parents_and_removed_when_empty() {
    on_each(|fs, dir| {
        let deep = dir.join("a/b/c");
        fs.create_dir_all(&deep).unwrap();
        fs.create_dir_all(&deep).unwrap();
        assert!(fs.exists(&deep) && fs.is_dir(&deep) && fs.is_dir(&dir.join("a/b")));

        put(fs, &deep.join("f"), b"");
        assert!(fs.exists(&deep.join("f")) && !fs.is_dir(&deep.join("f")));
        for full in [&deep, &dir.join("a")] {
            let error = fs.remove_dir(full).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::DirectoryNotEmpty);
        }
        fs.remove(&deep.join("f")).unwrap();
        fs.remove_dir(&deep).unwrap();
        assert!(!fs.exists(&deep) && fs.exists(&dir.join("a/b")));
    });
}

#[test]
fn a_file_is_no_directory_and_a_directory_no_file() {
    on_each(|fs, dir| {
        let (file, sub) = (dir.join("f"), dir.join("sub"));
        put(fs, &file, b"kept");
        fs.create_dir_all(&sub).unwrap();
        assert!(fs.create_dir_all(&file.join("below")).is_err());
        assert!(fs.remove_dir(&file).is_err());
        assert!(fs.list(&file).is_err());
        assert!(fs.remove(&sub).is_err());
        assert!(fs.rename(&file, &sub).is_err());
        assert!(fs.read(&sub).is_err());
        assert_eq!(fs.len(&sub).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(fs.read(&file).unwrap(), b"kept");
        assert_eq!(sorted(fs, dir), ["f", "sub"]);
    });
}

#[test]
fn list_gives_the_names_directly_in_a_directory() {
    on_each(|fs, dir| {
        assert_eq!(sorted(fs, dir), [""; 0]);
        put(fs, &dir.join("b"), b"");
        put(fs, &dir.join("a"), b"");
        fs.create_dir_all(&dir.join("sub/deeper")).unwrap();
        put(fs, &dir.join("sub/hidden"), b"");
        assert_eq!(sorted(fs, dir), ["a", "b", "sub"]);
        assert_eq!(sorted(fs, &dir.join("sub")), ["deeper", "hidden"]);
    });
}

#[test]
fn truncate_cuts_and_what_grows_again_is_zero() {
    on_each(|fs, dir| {
        let path = dir.join("f");
        let file = fs.create(&path).unwrap();
        file.write_at(&[9; 10_000], 0).unwrap();
        file.truncate(5000).unwrap();
        assert_eq!(fs.len(&path).unwrap(), 5000);
        file.write_at(&[1], 9000).unwrap();
        let bytes = fs.read(&path).unwrap();
        assert!(bytes[..5000].iter().all(|byte| *byte == 9));
        assert!(bytes[5000..9000].iter().all(|byte| *byte == 0));
        assert_eq!(bytes[9000..], [1]);
    });
}

#[test]
fn preallocate_extends_with_zeroes_and_never_shortens() {
    on_each(|fs, dir| {
        let path = dir.join("f");
        let file = fs.create(&path).unwrap();
        file.preallocate(0).unwrap();
        file.write_at(b"kept", 0).unwrap();
        file.preallocate(100_000).unwrap();
        let len = fs.len(&path).unwrap();
        assert!(len == 100_000 || len == 4, "a hint is taken as a whole or not at all: {len}");
        let bytes = fs.read(&path).unwrap();
        assert_eq!(&bytes[..4], b"kept");
        assert!(bytes[4..].iter().all(|byte| *byte == 0));
        file.preallocate(10).unwrap();
        assert_eq!(fs.len(&path).unwrap(), len);
    });
}

#[test]
fn syncs_and_hints_change_nothing_that_is_read() {
    on_each(|fs, dir| {
        let path = dir.join("f");
        let file = fs.create(&path).unwrap();
        file.write_at(b"bytes", 0).unwrap();
        file.sync().unwrap();
        fs.sync_dir(dir).unwrap();
        let reader = fs.open(&path).unwrap();
        reader.will_need(0, 5);
        reader.will_need(3, 0);
        reader.will_need(1 << 62, 1 << 62);
        assert_eq!(fs.read(&path).unwrap(), b"bytes");
    });
}

#[test]
fn threads_write_and_sync_one_file_together() {
    on_each(|fs, dir| {
        let path = dir.join("f");
        let file = fs.create(&path).unwrap();
        thread::scope(|scope| {
            for part in 0..4_u8 {
                let file = Arc::clone(&file);
                scope.spawn(move || {
                    for step in 0..64 {
                        let offset = (step * 4 + u64::from(part)) * 100;
                        file.write_at(&[part; 100], offset).unwrap();
                    }
                    file.sync().unwrap();
                });
            }
        });
        let bytes = fs.read(&path).unwrap();
        assert_eq!(bytes.len(), 64 * 4 * 100);
        for (index, part) in bytes.chunks(100).enumerate() {
            assert!(part.iter().all(|byte| usize::from(*byte) == index % 4), "chunk {index}");
        }
    });
}

#[test]
fn a_lock_excludes_every_other_handle_until_dropped() {
    on_each(|fs, dir| {
        let path = dir.join("LOCK");
        let held = fs.lock(&path).unwrap();
        assert!(fs.exists(&path));
        let again: PathBuf = dir.join("./LOCK");
        for path in [&path, &again] {
            assert_eq!(fs.lock(path).unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        let other = fs.lock(&dir.join("OTHER")).unwrap();
        drop(held);
        let held = fs.lock(&path).unwrap();
        assert_eq!(fs.lock(&path).unwrap_err().kind(), ErrorKind::WouldBlock);
        drop((held, other));
    });
}

#[test]
fn a_lock_keeps_what_is_in_the_file_and_fails_without_its_directory() {
    on_each(|fs, dir| {
        put(fs, &dir.join("LOCK"), b"kept");
        drop(fs.lock(&dir.join("LOCK")).unwrap());
        assert_eq!(fs.read(&dir.join("LOCK")).unwrap(), b"kept");

        let missing = dir.join("missing/LOCK");
        assert_eq!(fs.lock(&missing).unwrap_err().kind(), ErrorKind::NotFound);
        fs.create_dir_all(&dir.join("missing")).unwrap();
        fs.lock(&missing).unwrap();
    });
}

#[test]
fn a_hard_link_is_another_name_of_the_file() {
    on_each(|fs, dir| {
        let (file, copy) = (dir.join("f"), dir.join("sub/copy"));
        fs.create_dir_all(&dir.join("sub")).unwrap();
        put(fs, &file, b"kept");
        fs.hard_link(&file, &copy).unwrap();
        assert_eq!(fs.hard_link(&file, &copy).unwrap_err().kind(), ErrorKind::AlreadyExists);
        fs.remove(&file).unwrap();
        assert_eq!(fs.read(&copy).unwrap(), b"kept");
        assert_eq!(fs.hard_link(&file, &copy).unwrap_err().kind(), ErrorKind::NotFound);
        let nowhere = dir.join("missing/copy");
        assert_eq!(fs.hard_link(&copy, &nowhere).unwrap_err().kind(), ErrorKind::NotFound);
    });
}
