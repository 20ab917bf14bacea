//! Keys that the comparator calls equal although their bytes differ.

use crate::encoding::key_hash;
use crate::error::ErrorKind;
use crate::key::FilterPolicy;
use crate::testing::orders::CaseBlind;

use super::*;

/// Returns spelling `which` of a key: bit i tells whether letter i is a capital.
fn spelled(key: &str, which: usize) -> Vec<u8> {
    let spell = |(at, byte): (usize, u8)| {
        if which >> (at % 8) & 1 == 1 { byte.to_ascii_uppercase() } else { byte }
    };
    key.bytes().enumerate().map(spell).collect()
}

/// Keys with 1, 2, ... versions, each version in another spelling. One key has 700 versions, which
/// fill several sub-blocks.
fn records() -> Vec<Record> {
    let mut records = Vec::new();
    let mut seqno = 2000;
    for n in 0..60 {
        let versions = if n == 30 { 700 } else { n % 7 + 1 };
        for _ in 0..versions {
            seqno -= 1;
            let key = spelled(&format!("key.number{n:02}"), seqno as usize * 5);
            records.push(put(key, seqno, format!("value {seqno}")));
        }
    }
    records
}

fn shape() -> TableBuilderOptions {
    TableBuilderOptions { comparator: Arc::new(CaseBlind), block_size: 600, ..options() }
}

#[test]
fn any_spelling_finds_all_versions_of_a_key() {
    let records = records();
    let table = open_with(build(&records, shape()).0, Arc::new(CaseBlind)).unwrap();
    table.verify().unwrap();
    for options in [CursorOptions::default(), CursorOptions::walk()] {
        assert_eq!(scan(&table, options.clone()).unwrap(), records);
        assert_eq!(scan_back(&table, options).unwrap(), records);
    }
    for n in 0..60 {
        let name = format!("key.number{n:02}");
        let chain: Vec<&Record> =
            records.iter().filter(|r| r.key.eq_ignore_ascii_case(name.as_bytes())).collect();
        for (at, which) in [(0, 0), (chain.len() / 2, 0xff), (chain.len() - 1, 0x5a)] {
            let (key, max_seqno) = (spelled(&name, which), chain[at].header.seqno);
            let found = get(&table, &key, max_seqno).unwrap();
            let seqnos: Vec<SeqNo> = found.iter().map(|record| record.header.seqno).collect();
            let expected: Vec<SeqNo> = chain[at..].iter().map(|r| r.header.seqno).collect();
            assert_eq!(seqnos, expected, "{name} at {max_seqno}");
            let mut cursor = TableCursor::new(Arc::clone(&table), CursorOptions::default());
            cursor.seek(&key).unwrap();
            assert_eq!(record(&cursor).as_ref(), Some(chain[0]), "the newest version comes first");
            cursor.seek_before(&key).unwrap();
            let before = records.iter().position(|r| r == chain[0]).unwrap().checked_sub(1);
            assert_eq!(record(&cursor), before.map(|at| records[at].clone()));
        }
    }
    assert!(get(&table, b"KEY.NUMBER30x", SeqNo::MAX >> 8).unwrap().is_empty());
}

/// A filter by bytes would miss other spellings.
#[test]
fn h13_such_a_table_has_no_filter_by_bytes() {
    let table = open_with(build(&records(), shape()).0, Arc::new(CaseBlind)).unwrap();
    assert_eq!(table.properties().filter_bits, 0);
    assert!(table.may_contain(key_hash(b"absent"), b"absent").unwrap());
    // Nor is a filter asked that was made when the comparator still promised equal bytes.
    #[derive(Debug)]
    struct Promising;
    impl Comparator for Promising {
        fn name(&self) -> &'static str {
            CaseBlind.name()
        }
        fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
            CaseBlind.compare(a, b)
        }
        fn bytewise_order(&self) -> bool {
            false
        }
        fn bytewise_equality(&self) -> bool {
            true
        }
    }
    let one = [put("key", 1, "value")];
    let promised = TableBuilderOptions { comparator: Arc::new(Promising), ..shape() };
    let (file, _) = build(&one, promised);
    let admits = |comparator: Arc<dyn Comparator>| {
        let table = open_with(file.clone(), comparator).unwrap();
        table.may_contain(key_hash(b"KEY"), b"KEY").unwrap()
    };
    assert!(!admits(Arc::new(Promising)) && admits(Arc::new(CaseBlind)));
}

/// Hashes keys without their case.
#[derive(Debug)]
struct Folding;

impl FilterPolicy for Folding {
    fn name(&self) -> &str {
        "test.folding"
    }

    fn create_filter(&self, keys: &[&[u8]], out: &mut Vec<u8>) {
        assert!(keys.is_sorted_by(|a, b| CaseBlind.compare(a, b).is_le()));
        out.extend(keys.iter().flat_map(|key| key_hash(&key.to_ascii_lowercase()).to_le_bytes()));
    }

    fn may_contain(&self, key: &[u8], filter: &[u8]) -> bool {
        let own = key_hash(&key.to_ascii_lowercase()).to_le_bytes();
        filter.chunks(8).any(|hash| hash == own)
    }
}

#[test]
fn a_policy_that_folds_case_filters_any_spelling() {
    let policy = || Some(GuardedPolicy::new(Arc::new(Folding)).unwrap());
    // 5000 spellings of one key: no chunk may end inside.
    let mut records: Vec<Record> =
        (0..5000).map(|n| put(spelled("abcdefgh.abcdefgh", n), 9000 - n as u64, "")).collect();
    records.extend((0..2000).map(|n| put(format!("k{n:04}"), 1, "")));
    let shape = TableBuilderOptions { filter_policy: policy(), ..shape() };
    let (file, _) = build(&records, shape);
    let table = open_with_policy(file, Arc::new(CaseBlind), policy()).unwrap();
    table.verify().unwrap();
    let admits = |key: &[u8]| table.may_contain(key_hash(key), key).unwrap();
    assert!(admits(b"ABCDEFGH.abcdefgh") && admits(b"K1999") && admits(b"k0000"));
    assert!(!admits(b"abc") && !admits(b"k2000") && !admits(b"k00000"));
}

#[test]
fn records_of_one_key_must_come_newest_first() {
    let file = Arc::new(MemoryFile::default());
    let mut builder = TableBuilder::new(file, shape());
    builder.add(b"Key", header(4, Kind::Put), b"").unwrap();
    builder.add(b"kEY", header(3, Kind::Put), b"").unwrap();
    for seqno in [3, 9] {
        let error = builder.add(b"KEY", header(seqno, Kind::Put), b"").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ComparatorFailed, "{error}");
    }
}
