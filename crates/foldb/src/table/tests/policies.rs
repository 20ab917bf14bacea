//! Filters of a caller's policy.

use crate::encoding::key_hash;
use crate::error::ErrorKind;
use crate::key::FilterPolicy;

use super::*;

/// Remembers every key. So a filter rejects exactly the keys that it does not have.
#[derive(Debug)]
struct AllKeys {
    name: &'static str,
    errs: Errs,
}

/// How the policy breaks its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Errs {
    Never,
    MakingFilters,
    Answering,
    /// It rejects keys that it has.
    Rejecting,
}

impl FilterPolicy for AllKeys {
    fn name(&self) -> &str {
        self.name
    }

    fn create_filter(&self, keys: &[&[u8]], out: &mut Vec<u8>) {
        assert!(self.errs != Errs::MakingFilters, "no filter today");
        assert!(!keys.is_empty() && out.is_empty());
        for key in keys {
            out.push(u8::try_from(key.len()).unwrap());
            out.extend_from_slice(key);
        }
    }

    fn may_contain(&self, key: &[u8], mut filter: &[u8]) -> bool {
        assert!(self.errs != Errs::Answering, "no answer today");
        while let Some((&len, rest)) = filter.split_first() {
            let (own, rest) = rest.split_at(usize::from(len));
            if own == key {
                return self.errs != Errs::Rejecting;
            }
            filter = rest;
        }
        false
    }
}

fn policy(name: &'static str, errs: Errs) -> Option<GuardedPolicy> {
    Some(GuardedPolicy::new(Arc::new(AllKeys { name, errs })).unwrap())
}

fn key(n: u32) -> Vec<u8> {
    format!("key{n:06}").into_bytes()
}

/// Writes every other key of 6000, each in two versions.
fn table_of(policy: Option<GuardedPolicy>) -> Arc<MemoryFile> {
    let versions = |n| [put(key(n), 9, "new"), put(key(n), 4, "old")];
    let records: Vec<Record> = (0..6000).step_by(2).flat_map(versions).collect();
    build(&records, TableBuilderOptions { filter_policy: policy, ..options() }).0
}

fn open_by(file: &Arc<MemoryFile>, policy: Option<GuardedPolicy>) -> Arc<TableReader> {
    open_with_policy(Arc::clone(file), Arc::new(BytewiseComparator), policy).unwrap()
}

fn admits(table: &TableReader, key: &[u8]) -> bool {
    table.may_contain(key_hash(key), key).unwrap()
}

#[test]
fn a_policy_answers_for_each_key_of_several_chunks() {
    let file = table_of(policy("test.keys", Errs::Never));
    let table = open_by(&file, policy("test.keys", Errs::Never));
    for n in 0..6000 {
        assert_eq!(admits(&table, &key(n)), n % 2 == 0, "{n}");
    }
    assert!(!admits(&table, b"") && !admits(&table, b"z"));
    assert_eq!(table.properties().filter_bits, 0, "the built-in filter is off");
    table.verify().unwrap();
    let empty = build(
        &[],
        TableBuilderOptions { filter_policy: policy("test.keys", Errs::Never), ..options() },
    );
    assert!(!admits(&open_by(&empty.0, policy("test.keys", Errs::Never)), b"key"));
}

#[test]
fn a_filter_of_another_policy_is_not_asked() {
    let file = table_of(policy("test.keys", Errs::Never));
    for other in [None, policy("test.keys2", Errs::Answering)] {
        let table = open_by(&file, other.clone());
        assert!(admits(&table, &key(1)) && admits(&table, &key(2)));
        table.verify().unwrap();
        assert!(other.is_none_or(|other| other.failure().is_none()), "it was asked");
    }
    // The filter of a table without a policy is the built-in one, whatever policy reads it.
    let table = open_by(&table_of(None), policy("test.keys", Errs::Answering));
    assert!(admits(&table, &key(2)));
    assert!((0..6000).any(|n| !admits(&table, &key(n))), "the built-in filter works");
}

#[test]
fn a_policy_that_panics_costs_only_its_filter() {
    let making = policy("test.keys", Errs::MakingFilters);
    let file = table_of(making.clone());
    assert!(making.unwrap().failure().unwrap().to_string().contains("no filter today"));
    let table = open_by(&file, policy("test.keys", Errs::Never));
    assert!(admits(&table, &key(1)) && admits(&table, &key(2)));
    table.verify().unwrap();

    let answering = policy("test.keys", Errs::Answering);
    let table = open_by(&table_of(policy("test.keys", Errs::Never)), answering.clone());
    assert!(admits(&table, &key(1)) && admits(&table, &key(2)));
    assert!(answering.unwrap().failure().unwrap().to_string().contains("no answer today"));
}

#[test]
fn a_policy_that_rejects_its_own_keys_hides_them_from_point_reads_only() {
    let file = table_of(policy("test.keys", Errs::Never));
    let table = open_by(&file, policy("test.keys", Errs::Rejecting));
    assert!(!admits(&table, &key(2)));
    assert_eq!(scan(&table, CursorOptions::walk()).unwrap().len(), 6000);
    let error = table.verify().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "the table is not damaged: {error}");
    assert!(error.to_string().contains("'test.keys' rejects key 'key000000'"), "{error}");
}

#[test]
fn a_malformed_filter_is_damage() {
    use crate::table::order::KeyOrder;
    use crate::table::policy_filter::{PolicyFilter, PolicyFilterBuilder};

    let (order, own) = (KeyOrder::new(Arc::new(BytewiseComparator)), policy("p", Errs::Never));
    let mut builder = PolicyFilterBuilder::new(own.clone().unwrap());
    for n in 0..3000 {
        builder.add(&key(n), false);
    }
    let payload = builder.finish();
    let parse = |bytes: &[u8]| PolicyFilter::parse(bytes, &order, own.as_ref());
    assert!(parse(&payload).unwrap().unwrap().may_contain(&key(2999), &order));
    let whole = payload.len();
    let broken = (1..whole).step_by(97).filter(|&len| parse(&payload[..len]).is_err()).count();
    assert!(broken + 4 >= whole / 97, "a cut at a chunk's end is all that may pass: {broken}");
    // The last keys of two chunks do not ascend.
    let swapped = [&b"\x01\x01p"[..], b"\x01b\x00", b"\x01a\x00"].concat();
    assert_eq!(parse(&swapped).unwrap_err().kind(), ErrorKind::Corruption);
}
