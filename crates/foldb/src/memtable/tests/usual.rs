//! Compares the short cut with the full routine, [`Chain`].

use std::sync::Arc;

use foldb_chains::{ArenaPool, Chains, KeyOrder};
use proptest::prelude::*;

use crate::fold::{Chain, Registry};
use crate::key::Kind;
use crate::memtable::version_header;
use crate::memtable::{Usual, fold_usual};
use crate::value::Value;

const KEY: &[u8] = b"k";

/// Ids of operators: counter, max, append, put, and an unknown one.
const OPERATORS: [u32; 5] = [1, 3, 5, 6, 200];

/// Makes a write of `k`: kind, index into [`OPERATORS`], value.
fn write() -> impl Strategy<Value = (Kind, usize, Vec<u8>)> {
    let kind = prop_oneof![
        1 => Just(Kind::Put),
        1 => Just(Kind::Delete),
        8 => Just(Kind::Merge),
    ];
    let value = prop_oneof![
        prop::collection::vec(any::<u8>(), 8),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    (kind, prop_oneof![8 => Just(0), 2 => 1..OPERATORS.len()], value)
}

fn memtable(writes: &[(Kind, usize, Vec<u8>)], shift: usize) -> Arc<Chains> {
    let pool = ArenaPool::new(0);
    let (mut writer, chains) = Chains::create(&pool, 1 << 16, KeyOrder::Bytewise);
    for (seqno, (kind, operator, value)) in (1..).zip(writes) {
        let operator = match kind {
            Kind::Merge => OPERATORS[(operator + shift) % OPERATORS.len()],
            _ => 0,
        };
        let value = if *kind == Kind::Delete { &[] } else { &value[..] };
        writer.insert(7, KEY, seqno, *kind as u8, operator, value).unwrap();
    }
    chains
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_short_cut_says_what_the_chain_says(
        writes in prop::collection::vec(write(), 1..24),
        shift in 0..OPERATORS.len(),
        seqno in 1u64..24,
    ) {
        let registry = Registry::new(Vec::new());
        let resolver = registry.resolver();
        let chains = memtable(&writes, shift);
        let node = chains.find(7, KEY).unwrap();
        let mut scratch = Vec::new();
        let short = fold_usual(KEY, node.versions(seqno), || &**resolver, &mut scratch);
        let Some((short, operands)) = short else { return Ok(()) };
        let short = match short {
            Usual::Absent => None,
            Usual::Lent(bytes) => Some(bytes.to_vec()),
            Usual::Made(value) => Some(value.to_vec()),
        };

        let mut chain = Chain::default();
        for version in node.versions(seqno) {
            if !chain.push(version_header(&version), Value::of_version(&chains, version)) {
                break;
            }
        }
        prop_assert_eq!(operands, chain.operands());
        let long = chain.value(KEY, &resolver, &mut Vec::new());
        prop_assert_eq!(short, long.unwrap().map(Value::into_owned));
    }
}

/// The short cut takes the plainest chains, so the comparison above tests something.
#[test]
fn usual_chains_are_taken() {
    let registry = Registry::new(Vec::new());
    let resolver = registry.resolver();
    let one = |kind| (kind, 0, 5u64.to_le_bytes().to_vec());
    let histories: [&[_]; 4] = [
        &[one(Kind::Put)],
        &[one(Kind::Merge)],
        &[one(Kind::Put), one(Kind::Merge), one(Kind::Merge)],
        &[one(Kind::Merge), one(Kind::Delete), one(Kind::Merge)],
    ];
    for history in histories {
        let chains = memtable(history, 0);
        let versions = chains.find(7, KEY).unwrap().versions(u64::MAX);
        assert!(fold_usual(KEY, versions, || &**resolver, &mut Vec::new()).is_some());
    }
}
