//! Separators and successors of a caller's comparator.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Mutex;

use super::*;

/// Makes a separator of its two keys, or a successor of the first.
type Shorten = fn(&[u8], Option<&[u8]>) -> Vec<u8>;

/// Orders keys by their bytes, the largest first. It notes keys that it should never see.
#[derive(Debug)]
struct Backwards {
    shorten: Shorten,
    known: Mutex<HashSet<Vec<u8>>>,
    strangers: Mutex<HashSet<Vec<u8>>>,
    /// What it returned.
    answers: Mutex<HashSet<Vec<u8>>>,
}

impl Backwards {
    fn new(shorten: Shorten) -> Arc<Backwards> {
        let (known, strangers, answers) = Default::default();
        Arc::new(Backwards { shorten, known, strangers, answers })
    }

    fn answer(&self, start: &[u8], limit: Option<&[u8]>, out: &mut Vec<u8>) {
        assert!(out.is_empty() && limit.is_none_or(|limit| limit < start));
        out.extend_from_slice(&(self.shorten)(start, limit));
        self.answers.lock().unwrap().insert(out.clone());
        self.known.lock().unwrap().insert(out.clone());
    }
}

impl Comparator for Backwards {
    fn name(&self) -> &'static str {
        "test.backwards"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        for key in [a, b] {
            if !self.known.lock().unwrap().contains(key) {
                self.strangers.lock().unwrap().insert(key.to_vec());
            }
        }
        b.cmp(a)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }

    fn separator(&self, start: &[u8], limit: &[u8], out: &mut Vec<u8>) {
        self.answer(start, Some(limit), out);
    }

    fn successor(&self, key: &[u8], out: &mut Vec<u8>) {
        self.answer(key, None, out);
    }
}

/// The shortest beginning of `start` that is greater than `limit`: in this order, it stands at or
/// behind `start` and before `limit`.
fn right(start: &[u8], limit: Option<&[u8]>) -> Vec<u8> {
    let Some(limit) = limit else { return Vec::new() };
    let fits = |len: &usize| &start[..*len] > limit;
    start[..(1..=start.len()).find(fits).unwrap_or(start.len())].to_vec()
}

fn records() -> Vec<Record> {
    let key = |n: u32| format!("{:05}{}", n * 7, "-".repeat(60));
    (0..500).rev().map(|n| put(key(n), u64::from(n) + 1, [b'v'; 20])).collect()
}

/// Writes the records with a comparator, and reads all of them. Returns the length of the file.
fn check(comparator: &Arc<Backwards>) -> u64 {
    let records = records();
    let passed_in = [&b"0"[..], b"00001x", b"99999"];
    let mut known: HashSet<_> = records.iter().map(|record| record.key.clone()).collect();
    known.extend(passed_in.map(<[u8]>::to_vec));
    comparator.known.lock().unwrap().extend(known);
    // Several directories.
    let shape = TableBuilderOptions {
        comparator: Arc::clone(comparator) as _,
        block_size: 1000,
        filter_bits: 0,
        ..options()
    };
    let (file, summary) = build(&records, shape);
    let table = open_with(file, Arc::clone(comparator) as _).unwrap();
    for record in &records {
        let seqno = record.header.seqno;
        assert_eq!(get(&table, &record.key, seqno).unwrap(), std::slice::from_ref(record));
    }
    for absent in passed_in {
        assert!(get(&table, absent, u64::MAX >> 8).unwrap().is_empty());
        let mut cursor = TableCursor::new(Arc::clone(&table), CursorOptions::default());
        cursor.seek(absent).unwrap();
        let expected = records.iter().find(|record| &record.key[..] <= absent);
        assert_eq!(super::record(&cursor).as_ref(), expected, "{}", absent.escape_ascii());
    }
    assert_eq!(scan_back(&table, CursorOptions::default()).unwrap(), records);
    table.verify().unwrap();
    let strangers = comparator.strangers.lock().unwrap();
    assert!(strangers.is_empty(), "it saw keys that it never returned: {strangers:?}");
    summary.file_len
}

#[test]
fn separators_make_the_index_smaller() {
    let whole = check(&Backwards::new(|start, _| start.to_vec()));
    let comparator = Backwards::new(right);
    let short = check(&comparator);
    assert!(short + 500 < whole, "{short} bytes, {whole} with whole keys");
    assert!(comparator.answers.lock().unwrap().len() > 30);
}

#[test]
fn answers_that_break_the_rule_are_not_used() {
    let whole = check(&Backwards::new(|start, _| start.to_vec()));
    // Each function is wrong in its own way: before `start`, at `limit`, behind it, and longer than
    // `start`. A successor must not stand before its key.
    let wrong: [Shorten; 4] = [
        |_, _| b"zzz".to_vec(),
        |start, limit| limit.map_or_else(|| b"z".to_vec(), |_| start.to_vec()),
        |_, limit| limit.map_or_else(|| b"z".to_vec(), |_| Vec::new()),
        |start, _| [start, b"longer"].concat(),
    ];
    for (which, wrong) in wrong.into_iter().enumerate() {
        let comparator = Backwards::new(wrong);
        assert_eq!(check(&comparator), whole, "answer {which} was used");
        assert!(!comparator.answers.lock().unwrap().is_empty());
    }
    // A separator that is the limit itself, where the limit is shorter.
    let at_limit = Backwards::new(|start, limit| limit.unwrap_or(start).to_vec());
    let records = [put("bbb", 1, [0; 900]), put("b", 1, [0; 900]), put("a", 1, [0; 900])];
    at_limit.known.lock().unwrap().extend(records.iter().map(|record| record.key.clone()));
    let shape = TableBuilderOptions { comparator: at_limit.clone(), block_size: 256, ..options() };
    let table = open_with(build(&records, shape).0, at_limit).unwrap();
    for record in &records {
        assert_eq!(get(&table, &record.key, 1).unwrap(), std::slice::from_ref(record));
    }
}

/// Keys of many KiB that begin alike were once whole in memory, gigabytes of them for one table.
#[test]
fn an_index_has_a_long_common_prefix_once() {
    const LEN: usize = 64 << 10;
    let key = |n: u32| [&[b'k'; LEN][..], format!("{n:05}").as_bytes()].concat();
    let backwards = Backwards::new(|start, _| start.to_vec());
    let absent = [vec![b'k'], vec![b'k'; LEN], key(50), key(900), vec![b'l'], vec![b'a'; LEN]];
    let mut ascending: Vec<_> = (0..100).map(|n| put(key(n * 7), 1, "value")).collect();
    let known = ascending.iter().map(|record| &record.key).chain(&absent).cloned();
    backwards.known.lock().unwrap().extend(known);
    let orders: [Arc<dyn Comparator>; 2] = [Arc::new(BytewiseComparator), backwards.clone()];
    for comparator in orders {
        let shape = TableBuilderOptions { comparator: comparator.clone(), ..options() };
        let table = open_with(build(&ascending, shape).0, comparator.clone()).unwrap();
        assert!(table.index().len() >= 100);
        let bytes = table.index().memory_bytes();
        assert!(bytes < 2 * LEN, "{}: {bytes} bytes", comparator.name());
        for record in &ascending {
            assert_eq!(get(&table, &record.key, 1).unwrap(), std::slice::from_ref(record));
        }
        for absent in &absent {
            assert!(get(&table, absent, 1).unwrap().is_empty());
            let mut cursor = TableCursor::new(Arc::clone(&table), CursorOptions::default());
            cursor.seek(absent).unwrap();
            let is_behind = |record: &&Record| comparator.compare(&record.key, absent).is_ge();
            assert_eq!(super::record(&cursor).as_ref(), ascending.iter().find(is_behind));
        }
        assert!(scan(&table, CursorOptions::default()).unwrap() == ascending);
        assert!(scan_back(&table, CursorOptions::default()).unwrap() == ascending);
        table.verify().unwrap();
        // For the other order.
        ascending.reverse();
    }
    assert!(backwards.strangers.lock().unwrap().is_empty(), "it compares whole keys");
}
