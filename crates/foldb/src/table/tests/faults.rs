//! Files that fail, and many readers at once.

use std::sync::atomic::Ordering::Relaxed;

use super::*;
use crate::ErrorKind;

fn numbered(count: u64) -> Vec<Record> {
    (0..count).map(|n| put(format!("{n:016}"), n, n.to_le_bytes())).collect()
}

#[test]
fn full_disk_fails_the_build() {
    let file = Arc::new(MemoryFile::default());
    file.broken.store(true, Relaxed);
    let mut builder = TableBuilder::new(file, options());
    let records = numbered(100_000);
    let added = records.iter().try_for_each(|r| builder.add(&r.key, r.header, &r.value));
    let error = added.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    assert_eq!(error.path(), Some(Path::new("/db/000007.sst")));
}

/// A failed read leaves the cursor on no record; the next one finds the file as it is.
#[test]
fn failed_read_is_no_end() {
    let records = numbered(2000);
    let (file, _) = build(&records, TableBuilderOptions { block_size: 16384, ..options() });
    let table = open(file.clone()).unwrap();
    let mut cursor = TableCursor::new(table.clone(), CursorOptions::default());
    cursor.seek_to_first().unwrap();
    file.broken.store(true, Relaxed);
    let error = loop {
        if let Err(error) = cursor.next() {
            break error;
        }
        assert!(cursor.valid());
    };
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(error.path(), Some(Path::new("/db/000007.sst")));
    assert!(!cursor.valid() && cursor.key().is_empty() && cursor.value().is_empty());
    assert!(get(&table, b"0000000000001999", 1999).is_err());
    file.broken.store(false, Relaxed);
    cursor.seek(b"0000000000001999").unwrap();
    assert_eq!(record(&cursor).as_ref(), records.last());
    assert_eq!(scan(&table, CursorOptions::default()).unwrap(), records);
}

/// A cache far too small for the table, so that blocks come and go under the readers.
#[test]
fn many_threads_read_through_a_small_cache() {
    let records = numbered(20_000);
    let (file, _) = build(&records, TableBuilderOptions { block_size: 65536, ..options() });
    let cache = Arc::new(BlockCache::new(64 << 10));
    let comparator = Arc::new(BytewiseComparator);
    let table =
        TableReader::open(file, Path::new("t"), FILE_NUMBER, comparator, None, cache.clone())
            .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (table, records) = (&table, &records);
            scope.spawn(move || {
                let mut cursor = TableCursor::new(table.clone(), CursorOptions::default());
                for step in 0..2000 {
                    let wanted = &records[(step * 7919 + thread * 104_729) % records.len()];
                    assert_eq!(get(table, &wanted.key, u64::MAX).unwrap(), vec![wanted.clone()]);
                    cursor.seek(&wanted.key).unwrap();
                    assert_eq!(record(&cursor).as_ref(), Some(wanted));
                }
            });
        }
    });
    assert!(cache.used_bytes() <= 64 << 10, "{}", cache.used_bytes());
    assert!(cache.hits() > 0 && cache.misses() > 0);
}

#[test]
fn readers_and_cursors_cross_threads() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<TableBuilder>();
    send::<TableCursor>();
    send::<TableReader>();
    sync::<TableReader>();
    sync::<BlockCache>();
}
