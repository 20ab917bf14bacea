//! Writes, flushes and compactions on a disk that is full.

use foldb::env::MemFs;
use foldb::env::mem::{Fault, Operation};
use foldb::{Db, ErrorKind, Options};

use super::durability::key;
use crate::support::{PATH, assert_error, count, number, options, reopen, steps, text};

#[test]
fn a_full_disk_refuses_writes_and_resumes_by_itself() {
    let full = |operation| Fault::on(operation).forever().kind(std::io::ErrorKind::StorageFull);
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 4096, ..options(&fs) }).unwrap();
    db.put("a", "1").unwrap();
    fs.inject(full(Operation::Write).path(".log").torn_at(20));
    fs.inject(full(Operation::Preallocate));
    fs.inject(full(Operation::Create));
    for _ in 0..3 {
        assert_error(db.put("b", "2"), ErrorKind::NoSpace, None);
        assert_eq!(text(&db, "a").unwrap(), "1", "reads still work");
        assert_eq!(text(&db, "b"), None, "the failed write is not visible");
    }
    fs.clear_faults();
    db.put("b", "3").unwrap();
    assert_eq!(text(&db, "b").unwrap(), "3");
    db.sync().unwrap();
    let survivor = reopen(&fs.crash()).unwrap();
    assert_eq!(text(&survivor, "a").unwrap(), "1");
    assert_eq!(text(&survivor, "b").unwrap(), "3");
}

#[test]
fn a_full_disk_under_a_flush_or_compaction_heals_too() {
    for (operation, path) in
        [(Operation::Write, ".tbl"), (Operation::Create, ".tbl"), (Operation::Create, ".log")]
    {
        let fs = MemFs::new();
        let small = Options { level0_compaction_trigger: 2, ..options(&fs) };
        let db = Db::open(PATH, small).unwrap();
        for n in 0..40 {
            db.merge(key(n), number(1)).unwrap();
        }
        fs.inject(Fault::on(operation).path(path).forever().kind(std::io::ErrorKind::StorageFull));
        assert_error(db.flush(), ErrorKind::NoSpace, None);
        assert_error(db.compact(..), ErrorKind::NoSpace, None);
        assert_eq!(count(&db, &key(7)), 1);
        fs.clear_faults();
        for _ in 0..3 {
            for n in 0..40 {
                db.merge(key(n), number(1)).unwrap();
            }
            db.flush().unwrap();
        }
        steps::run_background(&db, |_| {});
        for db in [db, reopen(&fs.crash()).unwrap()] {
            for n in 0..40 {
                assert_eq!(count(&db, &key(n)), 4, "{operation:?} of {path}");
            }
        }
    }
}
