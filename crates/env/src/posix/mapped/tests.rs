//! Tests of files that are written through a window: what is mapped, and what a kill leaves.

use super::window::DIRTIED_AHEAD;
use super::*;

/// The helper works for all files, so tests that need it, or hold it up, run one by one.
static HELPER: Mutex<()> = Mutex::new(());

fn own_helper() -> MutexGuard<'static, ()> {
    HELPER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn new_file() -> (tempfile::TempDir, std::path::PathBuf, MappedFile) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    (directory, path, MappedFile::new(file))
}

/// The handle may not be read, so the kernel refuses to map it, as some file systems refuse
/// every file.
#[test]
fn where_nothing_can_be_mapped_it_is_written_by_calls() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let file = File::options().write(true).create_new(true).open(&path).unwrap();
    let file = MappedFile::new(file);
    file.preallocate(2 * WINDOW).unwrap();
    for (bytes, at) in [(b"abc", 0), (b"def", 3), (b"ghi", WINDOW)] {
        file.write_at(bytes, at).unwrap();
    }
    assert!(!file.is_mapped());
    let found = std::fs::read(&path).unwrap();
    assert_eq!((&found[..6], &found[WINDOW as usize..][..3]), (&b"abcdef"[..], &b"ghi"[..]));
}

/// A file whose disk does not answer blocks the helper, and must not fail other files. A
/// process has a limited number of mappings, so old windows must not pile up in its queue.
#[test]
fn a_helper_that_is_held_up_keeps_few_windows_of_other_files() {
    let _own = own_helper();
    let (_directory, _path, stuck) = new_file();
    stuck.preallocate(4 * WINDOW).unwrap();
    stuck.write_at(b"a", 0).unwrap();
    let held = stuck.0.lock_length();
    stuck.write_at(b"b", WINDOW).unwrap();
    let (_directory, path, healthy) = new_file();
    let windows = 300;
    healthy.preallocate(windows * WINDOW).unwrap();
    for n in 0..windows {
        healthy.write_at(b"x", n * WINDOW).unwrap();
    }
    assert!(healthy.is_mapped());
    let name = path.to_str().unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mapped = maps.lines().filter(|line| line.contains(name)).count();
    drop(held);
    // Later tests find the helper free again.
    let (_directory, _path, file) = new_file();
    for n in 0.. {
        file.preallocate((n + 1) * WINDOW).unwrap();
        file.write_at(b"x", n * WINDOW).unwrap();
        crate::clock::nap(std::time::Duration::from_millis(1));
        if file.0.lock().next.is_some() {
            break;
        }
    }
    assert!(mapped < 100, "{mapped} of {windows} windows are still mapped");
}

#[test]
fn what_was_written_by_calls_survives_a_reservation_that_fails() {
    let (_directory, path, file) = new_file();
    file.preallocate(WINDOW).unwrap();
    file.write_at(b"mapped", 0).unwrap();
    file.write_at(b"by a call", WINDOW).unwrap();
    // More than any disk has.
    file.preallocate(1 << 60).unwrap_err();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), WINDOW + 9);
    file.write_at(b" again", 6).unwrap();
    assert_eq!(&std::fs::read(&path).unwrap()[..12], b"mapped again");
}

#[test]
fn what_is_written_across_windows_is_in_the_file() {
    let (_directory, path, file) = new_file();
    file.preallocate(3 * WINDOW / 2).unwrap();
    let mut expected = Vec::new();
    let mut n = 0u32;
    while (expected.len() as u64) < 3 * WINDOW {
        let record = n.to_le_bytes().repeat(1 + n as usize % 300);
        file.write_at(&record, expected.len() as u64).unwrap();
        expected.extend_from_slice(&record);
        n += 1;
        if n == 2000 {
            file.preallocate(2 * WINDOW).unwrap();
        }
    }
    let found = std::fs::read(&path).unwrap();
    assert!(found[..expected.len()] == expected[..]);
}

/// Waits until the helper has made a window ready.
fn wait_for_next(file: &MappedFile) {
    while file.0.lock().next.is_none() {
        std::thread::yield_now();
    }
}

#[test]
fn a_window_is_made_ready_before_it_is_needed() {
    let _own = own_helper();
    let (_directory, path, file) = new_file();
    file.preallocate(2 * WINDOW).unwrap();
    file.write_at(b"first", 0).unwrap();
    assert!(file.0.lock().next.is_none(), "a file that never slides needs no second window");
    file.write_at(b"second", WINDOW).unwrap();
    wait_for_next(&file);
    let state = file.0.lock();
    let next = state.next.as_ref().unwrap();
    assert_eq!((next.start, state.reserved >= 3 * WINDOW), (2 * WINDOW, true));
    drop(state);
    file.write_at(b"third", 2 * WINDOW).unwrap();
    wait_for_next(&file);
    let found = std::fs::read(&path).unwrap();
    for (bytes, at) in [(b"first".as_slice(), 0), (b"second", WINDOW), (b"third", 2 * WINDOW)] {
        let at = at as usize;
        assert_eq!(&found[at..at + bytes.len()], bytes);
    }
    let written: usize = found.iter().filter(|byte| **byte != 0).count();
    assert_eq!(written, 16, "what is made ready stays zero");
}

/// A file may be cut at any moment of the helper's work: then nothing stays mapped after the
/// end of the file, and the file does not grow again.
#[test]
fn what_was_made_ready_is_worth_nothing_after_a_cut() {
    let _own = own_helper();
    for round in 0..50 {
        let (_directory, path, file) = new_file();
        file.preallocate(2 * WINDOW).unwrap();
        file.write_at(b"first", 0).unwrap();
        file.write_at(b"second", WINDOW).unwrap();
        if round % 2 == 0 {
            wait_for_next(&file);
        }
        file.truncate(WINDOW + 6).unwrap();
        assert_eq!(file.memory_bytes(), 0);
        file.write_at(b"third", 2 * WINDOW).unwrap();
        drop(file.0.lock_length());
        let found = std::fs::read(&path).unwrap();
        assert_eq!(found.len() as u64, 2 * WINDOW + 5);
        assert_eq!(&found[2 * WINDOW as usize..], b"third");
    }
}

fn dirty_pages(file: &MappedFile) -> usize {
    file.memory_bytes() / PAGE
}

/// Each sync of a block that was reserved only commits the file system's journal: where stores
/// are synced one by one, a store makes the next blocks dirty too.
#[test]
fn stores_that_are_synced_one_by_one_make_pages_dirty_ahead() {
    let (_directory, path, file) = new_file();
    file.preallocate(WINDOW).unwrap();
    let record = [7; 1000];
    for n in 0..5 {
        file.write_at(&record, n * 1000).unwrap();
    }
    assert_eq!(dirty_pages(&file), 2, "nothing was synced");
    file.sync().unwrap();
    file.write_at(&record, 5000).unwrap();
    assert_eq!(dirty_pages(&file), 2, "no new page was entered");
    for n in 6..30 {
        file.write_at(&record, n * 1000).unwrap();
        file.sync().unwrap();
    }
    assert_eq!(dirty_pages(&file), 3 + DIRTIED_AHEAD / PAGE);
    file.sync().unwrap();
    for n in 30..200 {
        file.write_at(&record, n * 1000).unwrap();
    }
    // A sync came before the store that entered the first page, and none before the others.
    assert_eq!(dirty_pages(&file), 49.max(11 + 1 + DIRTIED_AHEAD / PAGE));
    let found = std::fs::read(&path).unwrap();
    assert!(found[..200_000].iter().all(|&byte| byte == 7));
    assert!(found[200_000..].iter().all(|&byte| byte == 0), "what is dirty ahead stays zero");
}

/// Whatever the order of writes, and however often the file rests, no byte that was written is
/// lost.
#[test]
fn pages_are_made_dirty_only_where_nothing_was_written() {
    let _own = own_helper();
    // What spans two windows is written by a call, with the first of them mapped.
    let (_directory, path, file) = new_file();
    file.preallocate(2 * WINDOW).unwrap();
    file.write_at(b"first", 0).unwrap();
    file.write_at(&[9; 10_000], WINDOW - 8_000).unwrap();
    file.sync().unwrap();
    file.write_at(b"later", WINDOW - 20_000).unwrap();
    let found = std::fs::read(&path).unwrap();
    assert!(found[WINDOW as usize - 8_000..][..10_000].iter().all(|&byte| byte == 9));

    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..20 {
        let (_directory, path, file) = new_file();
        file.preallocate(3 * WINDOW).unwrap();
        let mut expected = vec![0; 3 * WINDOW as usize];
        for n in 0..60 {
            let near = WINDOW as usize * random.usize(1..3) - random.usize(1..40_000);
            let anywhere = random.usize(..expected.len() - 9000);
            let at = if random.bool() { near } else { anywhere };
            let bytes = vec![n + 1; random.usize(1..9000)];
            file.write_at(&bytes, at as u64).unwrap();
            expected[at..at + bytes.len()].copy_from_slice(&bytes);
            match random.u8(..6) {
                0 => file.rest(),
                1 | 2 => file.sync().unwrap(),
                _ => {}
            }
        }
        assert!(std::fs::read(&path).unwrap()[..expected.len()] == expected[..]);
    }
}

#[test]
fn a_file_at_rest_takes_no_memory_and_can_be_written_again() {
    let (_directory, path, file) = new_file();
    file.preallocate(WINDOW).unwrap();
    assert_eq!(file.memory_bytes(), 0);
    file.write_at(b"abc", 5000).unwrap();
    assert_eq!(file.memory_bytes(), 2 * PAGE);
    file.rest();
    assert_eq!(file.memory_bytes(), 0);
    file.write_at(b"def", 5003).unwrap();
    assert_eq!(&std::fs::read(&path).unwrap()[5000..5006], b"abcdef");
}

#[test]
fn a_truncated_file_can_be_written_again() {
    let (_directory, path, file) = new_file();
    file.preallocate(WINDOW).unwrap();
    file.write_at(b"abcdef", 0).unwrap();
    file.truncate(3).unwrap();
    file.write_at(b"xyz", 3).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"abcxyz");
    file.preallocate(WINDOW).unwrap();
    file.write_at(b"!", 6).unwrap();
    file.sync().unwrap();
    assert_eq!(&std::fs::read(&path).unwrap()[..7], b"abcxyz!");
}
