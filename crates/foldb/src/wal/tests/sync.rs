//! Tests which frames are durable after which syncs (H11).

use std::sync::Mutex;

use foldb_env::mem::{Fault, Operation};

use super::*;
use crate::ErrorKind;

#[test]
fn frames_say_what_was_synced_before_them() {
    let log = small_log();
    let (_, end) = read(&file_of(&log.bytes)).unwrap();
    assert_eq!(
        end.max_synced, 5,
        "the header and four records were synced when frame 6 was written"
    );
    assert_eq!(log.synced, [0, 1, 1, 3, 3, 5, 5]);
}

#[test]
fn what_was_synced_survives_with_its_name() {
    let fs = MemFs::new();
    let mut log = create(&fs);
    append(&mut log, b"synced").unwrap();
    log.sync_handle().sync_through(log.frames()).unwrap();
    append(&mut log, b"not").unwrap();
    assert_eq!(read(&fs.crash()).unwrap().0, [b"synced".to_vec()]);
    assert_eq!(read(&fs.kill()).unwrap().0, [b"synced".to_vec(), b"not".to_vec()]);
}

#[test]
fn one_sync_serves_all_frames_before_it() {
    let fs = MemFs::new();
    let mut log = create(&fs);
    for _ in 0..3 {
        append(&mut log, b"record").unwrap();
    }
    let syncs = fs.counts().syncs();
    for frame in [2, 3, 4, 1] {
        log.sync_handle().sync_through(frame).unwrap();
    }
    assert_eq!(fs.counts().syncs(), syncs + 1);
}

/// A writer removes its frame, which a sync for another caller has already counted as durable.
#[test]
fn a_frame_in_place_of_a_removed_one_is_synced_itself() {
    let fs = MemFs::new();
    let mut log = create(&fs);
    append(&mut log, b"first").unwrap();
    let mark = log.mark();
    log.begin().extend_from_slice(b"removed");
    log.append_unsettled().unwrap();
    assert_eq!(log.sync_handle().settled(), log.frames() - 1, "it may be taken back");
    log.sync_handle().sync_through(log.frames()).unwrap();
    log.retract(mark).unwrap();
    assert_eq!(log.sync_handle().synced(), log.frames());
    append(&mut log, b"second").unwrap();
    log.sync_handle().sync_through(log.frames()).unwrap();
    assert_eq!(read(&fs.crash()).unwrap().0, [b"first".to_vec(), b"second".to_vec()]);
}

/// Threads append and sync. After each sync the medium has all frames up to the thread's own.
#[test]
fn threads_that_share_syncs_find_their_frames_on_the_medium() {
    const THREADS: u64 = 4;
    const RECORDS: u64 = 200;
    let fs = MemFs::new();
    let log = Mutex::new(create(&fs));
    let work = || {
        for number in 0..RECORDS {
            let (sync, frame) = {
                let mut log = log.lock().unwrap();
                append(&mut log, b"record").unwrap();
                (Arc::clone(log.sync_handle()), log.frames())
            };
            sync.sync_through(frame).unwrap();
            assert!(sync.synced() >= frame);
            if number % 16 == 0 {
                // The log's first frame is its header.
                let survived = read(&fs.crash()).unwrap().0.len() as u64;
                assert!(survived + 1 >= frame, "{survived} records survived, frame {frame}");
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
    let mut log = log.into_inner().unwrap();
    assert_eq!(log.frames(), THREADS * RECORDS + 1);
    for _ in 0..2 {
        append(&mut log, b"record").unwrap();
        log.sync_handle().sync_all().unwrap();
    }
    assert_eq!(log.sync_handle().expected(), 1, "one thread alone waits for no other");
}

/// All callers that wait learn of a failed sync, and none waits for ever.
#[test]
fn every_waiting_thread_sees_a_failed_sync() {
    let fs = MemFs::new();
    let log = Mutex::new(create(&fs));
    fs.inject(Fault::on(Operation::Sync));
    let write = || {
        let (sync, frame) = {
            let mut log = log.lock().unwrap();
            append(&mut log, b"record").unwrap();
            (Arc::clone(log.sync_handle()), log.frames())
        };
        sync.sync_through(frame).unwrap_err();
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(write);
        }
    });
    log.into_inner().unwrap().sync_handle().sync_bytes().unwrap_err();
}

/// No frame of a log counts as synced before all earlier logs are synced.
#[test]
fn h11_predecessors_are_synced_first() {
    let fs = MemFs::new();
    let mut first = create(&fs);
    append(&mut first, b"in the first").unwrap();
    let names = ["000008.log", "000009.log"].map(Path::new);
    let second = LogWriter::create(&handle(&fs), names[0], 8, DATABASE, Some(&first)).unwrap();
    let third = LogWriter::create(&handle(&fs), names[1], 9, DATABASE, Some(&second)).unwrap();
    assert!(!fs.crash().exists(path()));
    third.sync_handle().sync_all().unwrap();
    let crashed = fs.crash();
    assert_eq!(read(&crashed).unwrap().0, [b"in the first".to_vec()]);
    assert!(crashed.exists(names[0]) && crashed.exists(names[1]));

    // A second sync of the successor does not sync the predecessor again.
    let syncs = fs.counts().syncs();
    let mut third = third;
    append(&mut third, b"x").unwrap();
    third.sync_handle().sync_all().unwrap();
    assert_eq!(fs.counts().syncs(), syncs + 1);
}

#[test]
fn h11_a_log_whose_predecessor_cannot_be_synced_is_not_synced() {
    let fs = MemFs::new();
    let first = create(&fs);
    let next = Path::new("000008.log");
    let second = LogWriter::create(&handle(&fs), next, 8, DATABASE, Some(&first)).unwrap();
    fs.inject(Fault::on(Operation::Sync).path("000007"));
    let error = second.sync_handle().sync_all().unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(path())));
    assert!(!fs.crash().exists(next));
}

/// Later logs do not keep a log open whose writes are all in tables.
#[test]
fn retired_predecessors_are_not_kept_open() {
    let fs = MemFs::new();
    let first = create(&fs);
    let next = Path::new("000008.log");
    let second = LogWriter::create(&handle(&fs), next, 8, DATABASE, Some(&first)).unwrap();
    let retired = Arc::downgrade(first.sync_handle());
    drop(first);
    assert!(retired.upgrade().is_none());
    second.sync_handle().sync_all().unwrap();
    assert!(fs.crash().read(path()).unwrap().is_empty(), "its bytes were not needed");
}

/// The kernel reports lost writes once. A later sync must not report success.
#[test]
fn a_failed_sync_stays_failed() {
    for operation in [Operation::Sync, Operation::SyncDir] {
        let fs = MemFs::new();
        let mut log = create(&fs);
        append(&mut log, b"record").unwrap();
        fs.inject(Fault::on(operation));
        log.sync_handle().sync_through(2).unwrap_err();
        append(&mut log, b"another").unwrap();
        log.sync_handle().sync_through(3).unwrap_err();
        log.sync_handle().sync_all().unwrap_err();
        append(&mut log, b"third").unwrap();
        let (records, end) = read(&fs).unwrap();
        assert_eq!(records.len(), 3);
        assert_eq!(end.max_synced, 0, "no frame calls the lost one synced");
    }
}

#[test]
fn a_full_disk_is_no_space_and_passes() {
    let fs = MemFs::new();
    let mut log = create(&fs);
    for operation in [Operation::Preallocate, Operation::Write] {
        // Large enough that blocks must be reserved.
        let record = vec![b'r'; 900 << 10];
        fs.inject(Fault::on(operation).kind(std::io::ErrorKind::StorageFull));
        assert_eq!(append(&mut log, &record).unwrap_err().kind(), ErrorKind::NoSpace);
        append(&mut log, &record).unwrap();
    }
    assert_eq!(read(&fs).unwrap().0.len(), 2);
}

#[test]
fn trimming_gives_back_what_was_reserved() {
    let fs = MemFs::new();
    let mut log = create(&fs);
    assert!(fs.len(path()).unwrap() > log.len());
    log.trim().unwrap();
    assert_eq!(fs.len(path()).unwrap(), log.len());
    append(&mut log, b"on").unwrap();
    assert_eq!(read(&fs).unwrap().0, [b"on".to_vec()]);
}
