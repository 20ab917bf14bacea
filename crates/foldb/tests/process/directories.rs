//! A database is a directory, not a path: what becomes of it when its path leads elsewhere.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldb::backup::Backups;
use foldb::env::mem::Operation;
use foldb::env::{Env, PosixFs, WatchedFs};
use foldb::repair::{RepairOptions, verify};
use foldb::{Db, Error, ErrorKind, Options, WriteOptions};

use crate::{alone, count, key, small};

/// Writes until a write fails, at most `most` entries. Returns how many were written, and the
/// error.
fn fill(db: &Db, most: u64) -> (u64, Option<Error>) {
    for n in 0..most {
        if let Err(error) = db.put(key(n), [1; 100]) {
            return (n, Some(error));
        }
    }
    (most, None)
}

/// A database with 3000 entries, closed.
fn other(path: &Path) {
    let db = Db::open(path, small()).unwrap();
    for n in 0..3000 {
        db.put(key(1 << 40 | n), [2; 100]).unwrap();
    }
    db.close().unwrap();
}

fn assert_sound(path: &Path, entries: usize) {
    let report = verify(path, small()).unwrap();
    assert!(report.is_sound(), "{report:?}");
    let db = Db::open(path, Options { create_if_missing: false, ..small() }).unwrap();
    assert_eq!(count(&db), entries, "{}", path.display());
}

fn assert_lost(error: &Error, opened: &Path, now: Option<&Path>) {
    assert_eq!(error.kind(), ErrorKind::DirectoryLost, "{error}");
    let text = error.to_string();
    assert!(text.contains(&*opened.to_string_lossy()), "{text}");
    if let Some(now) = now.filter(|_| cfg!(target_os = "linux")) {
        assert!(text.contains(&*now.to_string_lossy()), "{text}");
    }
}

#[test]
fn a_changed_working_directory_changes_no_open_database() {
    alone("directories::a_changed_working_directory_changes_no_open_database", |base| {
        for place in ["one", "two"] {
            fs::create_dir_all(base.join(place)).unwrap();
        }
        std::env::set_current_dir(base.join("one")).unwrap();
        let first = Db::open("db", small()).unwrap();
        assert_eq!(first.path(), std::env::current_dir().unwrap().join("db"));
        std::env::set_current_dir(base.join("two")).unwrap();
        other(Path::new("db"));
        // The same name: another database, closed and then open.
        assert_eq!(fill(&first, 20_000).0, 20_000);
        first.flush().unwrap();
        assert_sound(&base.join("two/db"), 3000);
        let second = Db::open("db", small()).unwrap();
        assert_eq!(fill(&first, 20_000).0, 20_000);
        for n in 0..20_000 {
            second.put(key(2 << 40 | n), [3; 100]).unwrap();
        }
        std::env::set_current_dir(base).unwrap();
        for db in [first, second] {
            db.compact(..).unwrap();
            db.close().unwrap();
        }
        assert_sound(&base.join("one/db"), 20_000);
        assert_sound(&base.join("two/db"), 23_000);
    });
}

/// Backups, checkpoints and read-only views are opened by a path too.
#[test]
fn other_paths_stay_right_when_the_working_directory_changes() {
    alone("directories::other_paths_stay_right_when_the_working_directory_changes", |base| {
        for place in ["one", "two"] {
            fs::create_dir_all(base.join(place)).unwrap();
        }
        std::env::set_current_dir(base.join("one")).unwrap();
        other(Path::new("db"));
        let backups = foldb::backup::Backups::at("backups", &small());
        let shown = Db::open_read_only("db", small()).unwrap();
        std::env::set_current_dir(base.join("two")).unwrap();
        assert_eq!(shown.iter().unwrap().count(), 3000);
        let db = Db::open(base.join("one/db"), small()).unwrap();
        backups.create(&db).unwrap();
        assert!(base.join("one/backups").exists());
        assert!(!base.join("two/backups").exists());
    });
}

#[test]
fn a_directory_that_moved_away_is_told_and_its_successor_stays_whole() {
    alone(
        "directories::a_directory_that_moved_away_is_told_and_its_successor_stays_whole",
        |base| {
            let (path, moved) = (base.join("db"), base.join("moved"));
            let db = Db::open(&path, small()).unwrap();
            db.put("first", "1").unwrap();
            fs::rename(&path, &moved).unwrap();
            other(&path);
            let before = listing(&path);
            let (written, error) = fill(&db, 100_000);
            assert_lost(&error.unwrap(), &path, Some(&moved));
            assert_lost(&db.flush().unwrap_err(), &path, Some(&moved));
            assert_eq!(listing(&path), before);
            // Back in its place, the database goes on.
            let other_place = base.join("other");
            fs::rename(&path, &other_place).unwrap();
            fs::rename(&moved, &path).unwrap();
            db.put("last", "2").unwrap();
            db.flush().unwrap();
            fs::rename(&path, &moved).unwrap();
            fs::rename(&other_place, &path).unwrap();
            assert_lost(&db.close().unwrap_err(), &path, Some(&moved));
            drop(db);
            assert_eq!(listing(&path), before);
            assert_sound(&path, 3000);
            assert_sound(&moved, written as usize + 2);
        },
    );
}

/// A sync of a new log syncs its directory too. Not to find the directory once ended all writes for
/// good, as if a sync had lost some.
#[test]
fn a_sync_during_a_move_fails_and_works_again_after_it() {
    alone("directories::a_sync_during_a_move_fails_and_works_again_after_it", |base| {
        let (path, moved) = (base.join("db"), base.join("moved"));
        let synced = WriteOptions { sync: true, ..WriteOptions::default() };
        let db = Db::open(&path, small()).unwrap();
        db.put("first", "1").unwrap();
        db.flush().unwrap(); // The next log has no durable name yet.
        db.put("second", "2").unwrap();
        fs::rename(&path, &moved).unwrap();
        assert_lost(&db.sync().unwrap_err(), &path, Some(&moved));
        assert_lost(&db.with(&synced).put("third", "3").unwrap_err(), &path, Some(&moved));
        db.put("fourth", "4").unwrap();
        fs::rename(&moved, &path).unwrap();
        db.with(&synced).put("fifth", "5").unwrap();
        db.sync().unwrap();
        db.close().unwrap();
        drop(db);
        assert_sound(&path, 5);
    });
}

/// A write that may be seen only when it is durable is taken back if its sync fails: the next write
/// gets its sequence number. The log once kept both.
#[test]
fn a_synced_write_that_fails_during_a_move_is_taken_back() {
    alone("directories::a_synced_write_that_fails_during_a_move_is_taken_back", |base| {
        let (path, moved) = (base.join("db"), base.join("moved"));
        let synced = WriteOptions { sync: true, ..WriteOptions::default() };
        let options = || Options { visible_when_durable: true, ..small() };
        let db = Db::open(&path, options()).unwrap();
        db.put("first", "1").unwrap();
        db.flush().unwrap(); // The next log has no durable name yet.
        fs::rename(&path, &moved).unwrap();
        let one = 1u64.to_le_bytes();
        assert_lost(&db.with(&synced).merge("count", one).unwrap_err(), &path, Some(&moved));
        assert_eq!(db.get("count").unwrap(), None);
        fs::rename(&moved, &path).unwrap();
        for times in 1..=3u64 {
            db.with(&synced).merge("count", one).unwrap();
            assert_eq!(db.get("count").unwrap().as_deref(), Some(&times.to_le_bytes()[..]));
        }
        // A copy is what a kill would leave.
        let copy = base.join("copy");
        fs::create_dir(&copy).unwrap();
        for (name, bytes) in listing(&path) {
            fs::write(copy.join(name), bytes).unwrap();
        }
        let killed = Db::open(&copy, options()).unwrap();
        assert_eq!(killed.get("count").unwrap().as_deref(), Some(&3u64.to_le_bytes()[..]));
        db.close().unwrap();
        drop(db);
        assert_sound(&path, 2);
    });
}

/// The write is taken back with what the engine knows of its value. A flush once looked for the
/// value in the log, and poisoned the database.
#[test]
fn a_synced_put_of_a_large_value_that_fails_during_a_move_leaves_no_value() {
    alone(
        "directories::a_synced_put_of_a_large_value_that_fails_during_a_move_leaves_no_value",
        |base| {
            let (path, moved) = (base.join("db"), base.join("moved"));
            let synced = WriteOptions { sync: true, ..WriteOptions::default() };
            let mut options = Options { visible_when_durable: true, ..small() };
            options.default.value_separation_min = Some(1000);
            let db = Db::open(&path, options.clone()).unwrap();
            for next in ["small", "large", "unlogged", "flush"] {
                db.put("first", "1").unwrap();
                db.flush().unwrap(); // The next log has no durable name yet.
                fs::rename(&path, &moved).unwrap();
                let error = db.with(&synced).put("large", vec![7; 1_000_000]).unwrap_err();
                assert_lost(&error, &path, Some(&moved));
                fs::rename(&moved, &path).unwrap();
                let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
                match next {
                    "small" => db.put("next", "2").unwrap(),
                    "large" => db.put("large", vec![8; 900_000]).unwrap(),
                    "unlogged" => {
                        db.with(&unlogged).put("large", vec![7; 1_000_000]).unwrap();
                        (0..4).for_each(|n| db.put(key(n), vec![9; 1_000_000]).unwrap());
                    }
                    _ => {}
                }
                db.flush().unwrap();
                db.verify().unwrap();
                let large = db.get("large").unwrap();
                let expected = match next {
                    "small" => None,
                    "large" => Some(vec![8; 900_000]),
                    _ => Some(vec![7; 1_000_000]),
                };
                assert!(large.as_deref() == expected.as_deref(), "before a {next} write");
            }
            db.close().unwrap();
        },
    );
}

#[test]
fn a_link_that_leads_elsewhere_is_told_and_the_new_directory_stays_whole() {
    alone(
        "directories::a_link_that_leads_elsewhere_is_told_and_the_new_directory_stays_whole",
        |base| {
            let (link, old, new) = (base.join("current"), base.join("old"), base.join("new"));
            fs::create_dir(&old).unwrap();
            std::os::unix::fs::symlink(&old, &link).unwrap();
            let db = Db::open(&link, small()).unwrap();
            db.put("first", "1").unwrap();
            other(&new);
            let before = listing(&new);
            fs::remove_file(&link).unwrap();
            std::os::unix::fs::symlink(&new, &link).unwrap();
            let (written, error) = fill(&db, 100_000);
            assert_lost(&error.unwrap(), &link, Some(&old));
            assert_eq!(db.close().unwrap_err().kind(), ErrorKind::DirectoryLost);
            drop(db);
            assert_eq!(listing(&new), before);
            assert_sound(&new, 3000);
            assert_sound(&old, written as usize + 1);
        },
    );
}

#[test]
fn a_directory_that_was_removed_is_told() {
    alone("directories::a_directory_that_was_removed_is_told", |base| {
        let path = base.join("db");
        let db = Db::open(&path, small()).unwrap();
        db.put("first", "1").unwrap();
        fs::remove_dir_all(&path).unwrap();
        assert_lost(&fill(&db, 100_000).1.unwrap(), &path, None);
        assert_lost(&db.flush().unwrap_err(), &path, None);
        assert_eq!(db.close().unwrap_err().kind(), ErrorKind::DirectoryLost);
        assert!(!path.exists());
    });
}

/// Files and their bytes.
fn listing(path: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(path).unwrap().map(Result::unwrap);
    let mut files: Vec<_> = entries
        .map(|entry| {
            (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// A dump that is cut off. `at_its_end` runs before the restore learns of that.
struct CutDump<F> {
    bytes: Vec<u8>,
    at_its_end: Option<F>,
}

impl<F: FnOnce()> std::io::Read for CutDump<F> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let len = into.len().min(self.bytes.len());
        into[..len].copy_from_slice(&self.bytes[..len]);
        self.bytes.drain(..len);
        if len == 0
            && let Some(at_its_end) = self.at_its_end.take()
        {
            at_its_end();
        }
        Ok(len)
    }
}

/// A restore that failed removed the database that its path led to by then.
#[test]
fn a_restore_that_fails_removes_no_other_database() {
    alone("directories::a_restore_that_fails_removes_no_other_database", |base| {
        let (one, two) = (base.join("one"), base.join("two"));
        fs::create_dir(&one).unwrap();
        fs::create_dir(&two).unwrap();
        other(&two.join("db"));
        let mut bytes = Vec::new();
        Db::open(two.join("db"), small()).unwrap().dump(&mut bytes).unwrap();
        bytes.truncate(bytes.len() - 10);
        let count_of = |path: &Path| count(&Db::open(path, small()).unwrap());

        std::env::set_current_dir(&one).unwrap();
        let at_its_end = Some(|| std::env::set_current_dir(&two).unwrap());
        let dump = CutDump { bytes: bytes.clone(), at_its_end };
        Db::restore(dump, "db", small()).unwrap_err();
        assert_eq!(count_of(&two.join("db")), 3000);
        assert!(!one.join("db").exists(), "what the restore made is gone");

        let (path, part) = (one.join("db"), one.join("part"));
        let at_its_end = Some(|| {
            fs::rename(&path, &part).unwrap();
            fs::rename(two.join("db"), &path).unwrap();
        });
        Db::restore(CutDump { bytes, at_its_end }, &path, small()).unwrap_err();
        assert_eq!(count_of(&path), 3000);
        assert!(part.exists());
    });
}

/// Puts another directory in the place of one, at a certain call.
struct Swap<'a> {
    call: Operation,
    ending: &'static str,
    place: &'a Path,
    moved: &'a Path,
    by: &'a Path,
    is_due: Arc<AtomicBool>,
}

impl Swap<'_> {
    /// Options with a file system that swaps the directories before the first call of the kind,
    /// for a name with the ending, after [`Swap::arm`].
    fn options(&self) -> Options {
        let [place, moved, by] = [self.place, self.moved, self.by].map(Path::to_owned);
        let (call, ending, is_due) = (self.call, self.ending, Arc::clone(&self.is_due));
        let watch = move |operation: Operation, path: &Path| {
            let is_it = operation == call && path.to_string_lossy().ends_with(ending);
            if is_it && is_due.swap(false, Ordering::Relaxed) {
                fs::rename(&place, &moved).unwrap();
                fs::rename(&by, &place).unwrap();
            }
            Ok(())
        };
        let watched = Arc::new(WatchedFs::new(Arc::new(PosixFs), Arc::new(watch)));
        Options { env: Env { fs: watched, ..small().env }, ..small() }
    }

    fn arm(&self) {
        self.is_due.store(true, Ordering::Relaxed);
    }
}

type Call<'a> = &'a dyn Fn(&Swap<'_>) -> Result<(), Error>;
type OnBackups<'a> = &'a dyn Fn(&Path, &Options) -> Result<(), Error>;

/// The calls that write a whole directory reached it by its path until their end, and a failed one
/// then emptied it: another database that came to the path lost its files.
#[test]
fn what_fills_a_directory_changes_no_other_that_came_to_its_path() {
    alone("directories::what_fills_a_directory_changes_no_other_that_came_to_its_path", |base| {
        let (place, moved, by) = (base.join("place"), base.join("moved"), base.join("by"));
        let (source, backups) = (base.join("source"), base.join("backups"));
        other(&source);
        Backups::at(&backups, &small()).create(&Db::open(&source, small()).unwrap()).unwrap();
        let checkpoint: Call<'_> = &|swap| {
            let db = Db::open(&source, swap.options())?;
            swap.arm();
            db.checkpoint(&place).map(drop)
        };
        let restore: Call<'_> = &|swap| {
            swap.arm();
            Backups::at(&backups, &swap.options()).restore(None, &place).map(drop)
        };
        let repair: Call<'_> = &|swap| {
            swap.arm();
            let copy_to = Some(place.clone());
            let how = RepairOptions { copy_to, ..swap.options().into() };
            Db::repair(&source, how).map(drop)
        };
        let destroy: Call<'_> = &|swap| {
            other(&place);
            swap.arm();
            Db::destroy(&place, &swap.options())
        };
        for (name, run, call, ending) in [
            ("checkpoint", checkpoint, Operation::Create, ".log"),
            ("checkpoint, at its end", checkpoint, Operation::Rename, "CURRENT"),
            ("restore of a backup", restore, Operation::Create, ".log"),
            ("restore of a backup, at its end", restore, Operation::Rename, "CURRENT"),
            ("copy of a repair", repair, Operation::Create, ".log"),
            ("repair of the copy", repair, Operation::Rename, "CURRENT"),
            ("destroy", destroy, Operation::Remove, "CLOSED"),
        ] {
            other(&by);
            let before = listing(&by);
            let is_due = Arc::default();
            let swap = Swap { call, ending, place: &place, moved: &moved, by: &by, is_due };
            let error = run(&swap).expect_err(name);
            assert!(moved.exists(), "{name}: the directory moved");
            assert_eq!(error.kind(), ErrorKind::DirectoryLost, "{name}: {error}");
            assert!(listing(&place) == before, "{name}: {error}");
            assert_sound(&place, 3000);
            fs::remove_dir_all(&place).unwrap();
            fs::remove_dir_all(&moved).unwrap();
        }
        assert_sound(&source, 3000);
    });
}

/// A create of a backup swept the directory that its path led to by then.
#[test]
fn a_backup_changes_no_other_directory_that_came_to_its_path() {
    alone("directories::a_backup_changes_no_other_directory_that_came_to_its_path", |base| {
        let (place, moved, by) = (base.join("place"), base.join("moved"), base.join("by"));
        let source = base.join("source");
        other(&source);
        let create = |directory: &Path, options: &Options| {
            let db = Db::open(&source, small()).unwrap();
            Backups::at(directory, options).create(&db).map(drop)
        };
        let delete =
            |directory: &Path, options: &Options| Backups::at(directory, options).delete(1);
        let calls: [(OnBackups<'_>, _, _); 4] = [
            (&create, Operation::Create, ".log"),
            (&create, Operation::Rename, ".tbl"),
            (&create, Operation::Rename, ".backup"),
            (&delete, Operation::Remove, ".backup"),
        ];
        for (run, call, ending) in calls {
            create(&by, &small()).unwrap();
            create(&by, &small()).unwrap();
            // A leftover that a sweep removes.
            let leftover = by.join("000009.own");
            fs::create_dir(&leftover).unwrap();
            fs::copy(by.join("000001.own/CURRENT"), leftover.join("CURRENT")).unwrap();
            create(&place, &small()).unwrap();
            let db = Db::open(&source, small()).unwrap();
            db.put(key(1), [7; 100]).unwrap();
            db.flush().unwrap();
            drop(db);
            let is_due = Arc::default();
            let swap = Swap { call, ending, place: &place, moved: &moved, by: &by, is_due };
            swap.arm();
            let error = run(&place, &swap.options()).unwrap_err();
            assert!(moved.exists(), "the directory moved");
            assert_eq!(error.kind(), ErrorKind::DirectoryLost, "{call:?} {ending}: {error}");
            assert!(place.join("000009.own/CURRENT").exists(), "{call:?} {ending}");
            let check = Backups::at(&place, &small()).verify().unwrap();
            assert!(check.backups == 2 && check.faults.is_empty(), "{call:?} {ending}: {check:?}");
            fs::remove_dir_all(&place).unwrap();
            fs::remove_dir_all(&moved).unwrap();
        }
    });
}

/// A dry run keeps its changes in memory. It reached the directory through the lock's handle, and
/// looked for them under another path.
#[test]
fn a_dry_run_of_a_repair_on_a_disk_reads_what_it_would_write() {
    alone("directories::a_dry_run_of_a_repair_on_a_disk_reads_what_it_would_write", |base| {
        let path = base.join("db");
        other(&path);
        for lost in [None, Some("CURRENT")] {
            if let Some(lost) = lost {
                fs::remove_file(path.join(lost)).unwrap();
            }
            let before = listing(&path);
            let how = RepairOptions { dry_run: true, ..small().into() };
            let report = Db::repair(&path, how).unwrap();
            assert_eq!(report.manifest.is_some(), lost.is_some(), "{report:?}");
            assert!(listing(&path) == before, "without {lost:?}");
        }
        Db::repair(&path, small()).unwrap();
        assert_sound(&path, 3000);
    });
}
