//! A look at a file that fails is no answer: no call removes, replaces or begins anything because
//! of it.

use std::path::Path;

use foldb::backup::Backups;
use foldb::env::mem::{Fault, Operation};
use foldb::env::{FileSystem, MemFs};
use foldb::repair::RepairOptions;
use foldb::{Db, Options};

use crate::support::{PATH, options};

/// Directories that hold files of the user's, or are no database.
const USED: &str = "used";

/// A database with a closed log, a kept log of damage, and a directory of the user's.
fn prepared() -> MemFs {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    for n in 0..50u32 {
        db.put(n.to_be_bytes(), "v").unwrap();
    }
    db.flush().unwrap();
    db.put("logged", "v").unwrap();
    drop(db);
    fs.create_dir_all(Path::new(USED)).unwrap();
    for name in ["letter.txt", "000007.tbl", "CURRENT"] {
        let file = fs.create(&Path::new(USED).join(name)).unwrap();
        file.write_at(b"the user's", 0).unwrap();
        file.sync().unwrap();
    }
    fs.sync_dir(Path::new(USED)).unwrap();
    fs
}

fn contents(fs: &MemFs, directory: &str) -> Vec<(String, Vec<u8>)> {
    let mut names = fs.list(Path::new(directory)).unwrap();
    names.sort();
    let read = |name: String| {
        let bytes = fs.read(&Path::new(directory).join(&name)).unwrap_or_default();
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

fn check_database(fs: &MemFs) {
    let db = Db::open(PATH, options(fs)).unwrap();
    for n in 0..50u32 {
        assert_eq!(db.get(n.to_be_bytes()).unwrap().as_deref(), Some(&b"v"[..]), "{n}");
    }
    assert_eq!(db.get("logged").unwrap().as_deref(), Some(&b"v"[..]));
}

/// Makes a call with each of its looks failing in turn, and after each checks what there is.
fn with_each_look_failing(
    call: impl Fn(&MemFs) -> foldb::Result<()>,
    check: impl Fn(&MemFs, bool),
) {
    let mut failed = 0;
    for nth in 1.. {
        let fs = prepared();
        let before = fs.counts().of(Operation::Look);
        fs.inject(Fault::on(Operation::Look).nth(nth));
        let done = call(&fs).is_ok();
        let looks = fs.counts().of(Operation::Look) - before;
        fs.clear_faults();
        failed += u64::from(!done);
        check(&fs, done);
        if looks < nth {
            assert!(nth > 1, "the call looks at nothing");
            return;
        }
        assert!(nth < 500 && failed < 500);
    }
}

#[test]
fn an_open_with_a_failing_look_loses_nothing() {
    let open = |fs: &MemFs| Db::open(PATH, options(fs)).map(drop);
    with_each_look_failing(open, |fs, _| check_database(fs));
    let read = |fs: &MemFs| Db::open_read_only(PATH, options(fs)).map(drop);
    with_each_look_failing(read, |fs, _| check_database(fs));
}

#[test]
fn a_destroy_with_a_failing_look_removes_only_the_database() {
    let destroy = |fs: &MemFs| Db::destroy(PATH, &options(fs));
    with_each_look_failing(destroy, |fs, _| {
        Db::destroy(PATH, &options(fs)).unwrap();
        assert!(!fs.exists(Path::new(PATH)));
        assert_eq!(contents(fs, USED).len(), 3);
    });
    let used = contents(&prepared(), USED);
    let destroy = |fs: &MemFs| Db::destroy(USED, &options(fs));
    with_each_look_failing(destroy, |fs, _| assert_eq!(contents(fs, USED), used));
}

#[test]
fn outputs_with_a_failing_look_leave_what_is_there() {
    let used = contents(&prepared(), USED);
    let checkpoint = |fs: &MemFs| {
        let db = Db::open(PATH, options(fs))?;
        db.checkpoint(USED).map(drop)
    };
    let backup = |fs: &MemFs| {
        let db = Db::open(PATH, options(fs))?;
        Backups::at(USED, &options(fs)).create(&db).map(drop)
    };
    let copy = |fs: &MemFs| {
        let repair = RepairOptions { copy_to: Some(USED.into()), ..options(fs).into() };
        Db::repair(PATH, repair).map(drop)
    };
    let create = |fs: &MemFs| Db::open(USED, options(fs)).map(drop);
    type Call<'a> = &'a dyn Fn(&MemFs) -> foldb::Result<()>;
    let calls: [Call<'_>; 4] = [&checkpoint, &backup, &copy, &create];
    for call in calls {
        with_each_look_failing(call, |fs, _| {
            let now = contents(fs, USED);
            for file in &used {
                assert!(now.contains(file), "{} is gone or differs", file.0);
            }
            check_database(fs);
        });
    }
    // An output inside of the database is refused, or fails.
    let inside = |fs: &MemFs| {
        let db = Db::open(PATH, options(fs))?;
        db.checkpoint(Path::new(PATH).join("inner")).map(drop)
    };
    with_each_look_failing(inside, |fs, done| {
        assert!(!done);
        check_database(fs);
    });
}

#[test]
fn a_repair_with_a_failing_look_keeps_everything() {
    let repair = |fs: &MemFs| {
        let options = Options { create_if_missing: false, ..options(fs) };
        Db::repair(PATH, options).map(drop)
    };
    with_each_look_failing(repair, |fs, _| {
        Db::repair(PATH, options(fs)).unwrap();
        check_database(fs);
    });
}
