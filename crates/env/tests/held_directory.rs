//! A directory that moves between the look at its lock and the call that changes it.

#![cfg(target_os = "linux")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldb_env::mem::Operation;
use foldb_env::{Env, FileLock, FileSystem, HeldFs, WatchedFs};

/// A directory `own`, which another one replaces when the next call reaches the file system.
struct Moving {
    _lock: Box<dyn FileLock>,
    fs: HeldFs,
    own: PathBuf,
    moved: PathBuf,
    moves: Arc<AtomicBool>,
    _parent: tempfile::TempDir,
}

impl Moving {
    fn new() -> Moving {
        let parent = tempfile::tempdir().unwrap();
        let (own, moved) = (parent.path().join("own"), parent.path().join("moved"));
        fs::create_dir(&own).unwrap();
        for name in ["a", "b"] {
            fs::write(own.join(name), "own").unwrap();
        }
        let moves = Arc::new(AtomicBool::new(false));
        let watch = {
            let (own, moved, moves) = (own.clone(), moved.clone(), Arc::clone(&moves));
            move |_: Operation, _: &Path| -> io::Result<()> {
                if moves.swap(false, Ordering::Relaxed) {
                    fs::rename(&own, &moved)?;
                    fs::create_dir(&own)?;
                    for name in ["LOCK", "a", "b"] {
                        fs::write(own.join(name), "other")?;
                    }
                }
                Ok(())
            }
        };
        let watched = Arc::new(WatchedFs::new(Env::system().fs, Arc::new(watch)));
        let lock = watched.lock(&own.join("LOCK")).unwrap();
        let fs = HeldFs::new(watched, &own, lock.place().unwrap());
        Moving { _lock: lock, fs, own, moved, moves, _parent: parent }
    }

    /// Runs a call during which the directory moves. The other directory must stay as it is.
    fn call<T>(&self, call: impl FnOnce(&HeldFs, &Path) -> io::Result<T>) -> io::Result<T> {
        self.moves.store(true, Ordering::Relaxed);
        let done = call(&self.fs, &self.own);
        assert!(!self.moves.load(Ordering::Relaxed), "the call reached the file system");
        let mut names: Vec<_> =
            fs::read_dir(&self.own).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["LOCK", "a", "b"]);
        for name in names {
            assert_eq!(fs::read_to_string(self.own.join(name)).unwrap(), "other");
        }
        done
    }
}

#[test]
fn a_directory_that_moves_during_a_call_is_changed_and_its_successor_is_not() {
    let moving = Moving::new();
    drop(moving.call(|fs, own| fs.create(&own.join("a"))).unwrap());
    assert_eq!(fs::read_to_string(moving.moved.join("a")).unwrap(), "", "created anew");

    let moving = Moving::new();
    drop(moving.call(|fs, own| fs.create_log(&own.join("c"))).unwrap());
    assert!(moving.moved.join("c").exists());

    let moving = Moving::new();
    moving.call(|fs, own| fs.rename(&own.join("a"), &own.join("b"))).unwrap();
    assert!(!moving.moved.join("a").exists());
    assert_eq!(fs::read_to_string(moving.moved.join("b")).unwrap(), "own");

    let moving = Moving::new();
    moving.call(|fs, own| fs.hard_link(&own.join("a"), &own.join("c"))).unwrap();
    assert_eq!(fs::read_to_string(moving.moved.join("c")).unwrap(), "own");

    let moving = Moving::new();
    moving.call(|fs, own| fs.remove(&own.join("a"))).unwrap();
    assert!(!moving.moved.join("a").exists());

    let moving = Moving::new();
    moving.call(|fs, own| fs.create_dir_all(&own.join("d"))).unwrap();
    assert!(moving.moved.join("d").is_dir());

    let moving = Moving::new();
    fs::create_dir(moving.own.join("d")).unwrap();
    moving.call(|fs, own| fs.remove_dir(&own.join("d"))).unwrap();
    assert!(!moving.moved.join("d").exists());

    let moving = Moving::new();
    moving.call(|fs, own| fs.sync_dir(own)).unwrap();
}

#[test]
fn a_call_that_fails_because_its_directory_just_went_says_so() {
    let moving = Moving::new();
    let lost = moving.call(|fs, own| fs.remove(&own.join("missing"))).unwrap_err();
    assert!(lost.get_ref().is_some_and(|lost| lost.is::<foldb_env::DirectoryLost>()), "{lost}");
}
