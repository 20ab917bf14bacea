//! Reads return what was written, for any records and table options.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Orders keys by their bytes, descending.
#[derive(Debug)]
pub(super) struct Descending;

impl Comparator for Descending {
    fn name(&self) -> &'static str {
        "test.descending"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }
    fn bytewise_order(&self) -> bool {
        false
    }
    fn bytewise_equality(&self) -> bool {
        true
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Delete), Just(Kind::Put), Just(Kind::Merge)]
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(prop::sample::select(&b"\0ab\xff"[..]), 0..12),
        2 => prop::collection::vec(any::<u8>(), 0..40),
        2 => (0..5000u32).prop_map(|n| format!("tenant-1/user-{n:08}").into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 100..400),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => prop::collection::vec(any::<u8>(), 0..20),
        2 => (0..600usize).prop_map(|len| vec![b'v'; len]),
        1 => prop::collection::vec(any::<u8>(), 100..3000),
        1 => (4000..9000usize).prop_map(|len| vec![b'w'; len]),
    ]
}

/// Keys with one to many versions, in table order.
pub(super) fn records() -> impl Strategy<Value = Vec<Record>> {
    let versions = prop_oneof![6 => 1..3usize, 1 => 3..60usize];
    let chain = versions.prop_flat_map(|n| {
        prop::collection::btree_map(0..=crate::key::MAX_SEQNO, (kind(), value(), 0..200u32), n)
    });
    prop::collection::btree_map(key(), chain, 0..80).prop_map(|keys| {
        let mut records = Vec::new();
        for (key, chain) in keys {
            for (seqno, (kind, value, operator)) in chain.into_iter().rev() {
                let operator = if kind == Kind::Merge { operator } else { NO_OPERATOR };
                let header = RecordHeader { seqno, kind, operator };
                records.push(Record { key: key.clone(), header, value });
            }
        }
        records
    })
}

pub(super) fn shapes() -> impl Strategy<Value = TableBuilderOptions> {
    let compression = prop_oneof![1 => Just(Compression::None), 2 => prop::sample::select(CODECS)];
    let block_size = prop::sample::select(&[1usize, 300, 4096, 16384, 65536][..]);
    (compression, block_size, 0..20u32).prop_map(|(compression, block_size, filter_bits)| {
        TableBuilderOptions { compression, block_size, filter_bits, ..options() }
    })
}

fn check(records: &[Record], options: TableBuilderOptions) {
    let comparator = options.comparator.clone();
    let (file, summary) = build(records, options);
    let table = open_with(file, comparator).unwrap();
    for readahead in [0, 300, READAHEAD] {
        for fill_cache in [false, true] {
            let options = CursorOptions { fill_cache, readahead, report: None };
            assert_eq!(scan(&table, options.clone()).unwrap(), records);
            assert_eq!(scan_back(&table, options).unwrap(), records);
        }
    }
    let mut chains: BTreeMap<&[u8], Vec<Record>> = BTreeMap::new();
    for record in records {
        chains.entry(&record.key).or_default().push(record.clone());
    }
    for (key, chain) in chains {
        assert!(table.may_contain(crate::encoding::key_hash(key), key).unwrap());
        for at in [0, chain.len() / 2, chain.len() - 1] {
            let max_seqno = chain[at].header.seqno;
            assert_eq!(get(&table, key, max_seqno).unwrap(), chain[at..]);
        }
        assert_eq!(get(&table, key, SeqNo::MAX).unwrap(), chain);
        let absent = [key, b"\0"].concat();
        if !records.iter().any(|record| record.key == absent) {
            assert_eq!(get(&table, &absent, SeqNo::MAX).unwrap(), []);
        }
    }
    check_summary(records, &summary, &table);
}

fn check_summary(records: &[Record], summary: &TableSummary, table: &Arc<TableReader>) {
    let count = |kind| records.iter().filter(|r| r.header.kind == kind).count() as u64;
    let seqnos = || records.iter().map(|record| record.header.seqno);
    assert_eq!(summary.entries, records.len() as u64);
    assert_eq!(summary.deletes, count(Kind::Delete));
    assert_eq!(summary.merges, count(Kind::Merge));
    assert_eq!(summary.smallest_seqno, seqnos().min().unwrap_or(0));
    assert_eq!(summary.largest_seqno, seqnos().max().unwrap_or(0));
    let bytes = records.iter().map(|record| record.key.len() + record.value.len());
    assert_eq!(summary.raw_bytes, bytes.sum::<usize>() as u64);
    assert!(summary.samples.len() <= 32);
    let bytewise = table.order().is_bytewise();
    assert!(summary.samples.iter().all(|sample| {
        let is_key = |record: &Record| record.key[..] == sample[..];
        if bytewise { sample.len() <= 32 } else { records.iter().any(is_key) }
    }));
    let properties = table.properties();
    assert_eq!(properties.smallest, summary.smallest);
    assert_eq!(properties.largest, summary.largest);
    assert_eq!((properties.database_id, properties.keyspace), (0xdb, 5));
    let mut used: Vec<_> = records.iter().filter(|r| r.header.kind == Kind::Merge).collect();
    used.sort_by_key(|record| record.header.operator);
    used.dedup_by_key(|record| record.header.operator);
    let used: Vec<_> = used.iter().map(|record| record.header.operator).collect();
    let defined: Vec<_> = properties.operators.iter().map(|operator| operator.id).collect();
    assert_eq!(defined, used);
    let verified = table.verify().unwrap();
    assert_eq!((verified.entries, verified.bytes), (summary.entries, summary.file_len));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_records_in_any_shape(records in records(), shape in shapes()) {
        check(&records, shape);
    }

    #[test]
    fn any_records_in_another_order(mut records in records(), shape in shapes()) {
        records.sort_by(|a, b| b.key.cmp(&a.key).then(b.header.seqno.cmp(&a.header.seqno)));
        check(&records, TableBuilderOptions { comparator: Arc::new(Descending), ..shape });
    }
}

#[test]
fn no_records() {
    check(&[], options());
    let (file, summary) = build(&[], options());
    assert_eq!((summary.smallest, summary.largest), (vec![], vec![]));
    let table = open(file).unwrap();
    let mut cursor = TableCursor::new(table, CursorOptions::default());
    cursor.seek(b"a").unwrap();
    assert!(!cursor.valid());
    cursor.seek_before(b"a").unwrap();
    assert!(!cursor.valid());
}

/// Thousands of versions of one key fill many sub-blocks and blocks; a reader at any seqno sees
/// its own.
#[test]
fn versions_of_one_key_across_blocks() {
    for block_size in [300, 4096, 65536] {
        let mut records = vec![put("a", 9, "before")];
        records.extend((0..9000u64).rev().map(|n| put("k", n, [b'v'; 20])));
        records.push(put("l", 9, "after"));
        let (file, _) = build(&records, TableBuilderOptions { block_size, ..options() });
        let table = open(file).unwrap();
        for seqno in [0, 1, 17, 4242, 8998, 8999, 10_000] {
            let expected = &records[1 + 9000usize.saturating_sub(seqno as usize + 1)..9001];
            assert_eq!(get(&table, b"k", seqno).unwrap(), expected);
        }
        let mut cursor = TableCursor::new(table, CursorOptions::default());
        cursor.seek(b"k").unwrap();
        assert_eq!(cursor.header().seqno, 8999);
        cursor.prev().unwrap();
        assert_eq!(cursor.key(), b"a");
        cursor.seek_before(b"l").unwrap();
        assert_eq!((cursor.key(), cursor.header().seqno), (b"k".as_slice(), 0));
    }
}

#[test]
fn get_stops_where_it_is_told() {
    let records: Vec<_> = (0..100u64).rev().map(|n| put("k", n, "v")).collect();
    let table = open(build(&records, options()).0).unwrap();
    let mut visited = 0;
    table
        .get(b"k", 50, CursorOptions::default(), |header, _| {
            visited += 1;
            assert_eq!(header.seqno, 51 - visited);
            if visited == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!(visited, 3);
}

/// A large value has a sub-block of its own, so reading its neighbours does not read it.
#[test]
fn large_value_is_alone_in_its_sub_block() {
    let records = [put("a", 1, "small"), put("b", 2, vec![7; 5 << 20]), put("c", 3, "small")];
    let (file, _) = build(&records, TableBuilderOptions { block_size: 65536, ..options() });
    let table = open(file).unwrap();
    let check = table.verify().unwrap();
    assert_eq!(check.blocks, 4, "three sub-blocks and a directory");
    assert_eq!(scan(&table, CursorOptions::default()).unwrap(), records);
}

#[test]
fn large_file_is_written_in_chunks_and_synced_each_megabyte() {
    use std::sync::atomic::Ordering::Relaxed;
    let records: Vec<_> =
        (0..300_000u64).map(|n| put(format!("{n:016}"), n, n.to_le_bytes())).collect();
    let (file, summary) = build(&records, options());
    assert!(file.syncs.load(Relaxed) >= summary.file_len >> 21);
    assert!(file.most_unsynced.load(Relaxed) <= 3 << 20);
    let table = open(file.clone()).unwrap();
    let before = file.reads.load(Relaxed);
    let sequential = CursorOptions::walk();
    assert_eq!(scan(&table, sequential).unwrap().len(), records.len());
    let reads = file.reads.load(Relaxed) - before;
    assert!(reads <= summary.file_len / (250 << 10) + 1, "{reads} reads");
}

#[test]
fn samples_divide_the_bytes_evenly() {
    for count in [20u64, 100, 1000, 77_777] {
        let records: Vec<_> = (0..count).map(|n| put(format!("{n:016}"), 1, [0; 24])).collect();
        let (_, summary) = build(&records, options());
        let samples = summary.samples;
        assert!(samples.len() <= 32 && (count < 600 || samples.len() >= 16), "{}", samples.len());
        for (i, sample) in samples.iter().enumerate() {
            let at: f64 = std::str::from_utf8(sample).unwrap().parse().unwrap();
            let expected = (i + 1) as f64 / (samples.len() + 1) as f64 * count as f64;
            assert!((at - expected).abs() <= count as f64 / 16.0 + 8.0, "{at} {expected} {count}");
        }
    }
}

#[test]
fn undefined_operator_is_refused() {
    let file = Arc::new(MemoryFile::default());
    let mut builder = TableBuilder::new(file, options());
    let header = RecordHeader { seqno: 1, kind: Kind::Merge, operator: 4711 };
    builder.add(b"k", header, b"operand").unwrap();
    let error = builder.finish(None).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("4711"));
}
