//! Tests batches: they return the writes that were added, and the write of a batch reports
//! mistakes.

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;

/// Returns an operator of a registry, as a database would.
fn operator(registry: &Arc<Registry>, spec: &str) -> Operator {
    let implementation = registry.parse(spec).unwrap();
    let id = registry.id_of(&*implementation).unwrap();
    Operator { id, registry: Arc::clone(registry), implementation }
}

fn registry() -> Arc<Registry> {
    Arc::new(Registry::new(Vec::new()))
}

#[test]
fn writes_come_back_in_order() {
    let registry = registry();
    let counter = operator(&registry, "uint64add");
    let one = 1u64.to_le_bytes();
    let mut batch = WriteBatch::new();
    assert!(batch.is_empty());
    batch.put("a", "1").delete("b").merge("", "x").merge_with(&counter, "c", one);
    assert_eq!(batch.len(), 4);
    let keyspace = "default";
    let ops: Vec<_> = batch.iter().collect();
    assert_eq!(
        ops,
        [
            BatchOp::Put { keyspace, key: b"a", value: b"1" },
            BatchOp::Delete { keyspace, key: b"b" },
            BatchOp::Merge { keyspace, key: b"", operand: b"x" },
            BatchOp::Merge { keyspace, key: b"c", operand: &one },
        ]
    );
    let operators: Vec<_> = batch.operations().map(|operation| operation.operator).collect();
    assert_eq!(operators, [NO_OPERATOR, NO_OPERATOR, NO_OPERATOR, 1]);
    assert_eq!(batch.byte_len(), batch.encoded().len());
    batch.check(&registry).unwrap();
}

#[test]
fn the_first_mistake_is_reported_until_cleared() {
    let registry = registry();
    let counter = operator(&registry, "uint64add");
    let mut batch = WriteBatch::new();
    batch.put("a", "1").merge_with(&counter, "b", "no number").merge_with(&counter, "c", "xy");
    let error = batch.check(&registry).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let expected = "an operand of 'uint64add' must be 8 bytes, little-endian, not 9";
    assert_eq!(error.to_string(), expected);
    assert!(batch.clone().check(&registry).is_err(), "a clone is as wrong");
    batch.clear();
    assert_eq!((batch.len(), batch.byte_len()), (0, 0));
    batch.check(&registry).unwrap();
}

#[test]
fn operators_belong_to_one_database() {
    let (here, there) = (registry(), registry());
    let mut batch = WriteBatch::new();
    batch.merge_with(&operator(&here, "append"), "a", "x");
    batch.check(&here).unwrap();
    let error = batch.check(&there).unwrap_err();
    assert_eq!(error.to_string(), "the batch holds operators or keyspaces of another database");
    batch.merge_with(&operator(&there, "append"), "a", "y");
    for registry in [&here, &there] {
        let error = batch.check(registry).unwrap_err();
        assert_eq!(error.to_string(), "the batch holds operators of two databases");
    }
    batch.clear();
    batch.put("a", "1").merge("a", "2");
    batch.check(&there).unwrap();
}

#[test]
fn unknown_kinds_and_keyspaces_are_damage() {
    let decode = |bytes: &[u8]| Operation::decode(&mut ByteReader::new(bytes)).unwrap_err();
    assert_eq!(decode(&[4, 0, 0]).to_string(), "corruption: operation kind 4 is not known");
    // The id of the keyspace has more than 32 bits.
    let error = decode(&[1, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0]);
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
}

proptest! {
    #[test]
    fn every_key_and_value_comes_back(writes: Vec<(Vec<u8>, Option<Vec<u8>>)>) {
        let mut batch = WriteBatch::new();
        for (key, value) in &writes {
            match value {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            };
        }
        prop_assert_eq!(batch.len(), writes.len());
        let keyspace = "default";
    let ops: Vec<_> = batch.iter().collect();
        prop_assert_eq!(ops.len(), writes.len());
        for (op, (key, value)) in ops.iter().zip(&writes) {
            let expected = match value {
                Some(value) => BatchOp::Put { keyspace, key, value },
                None => BatchOp::Delete { keyspace, key },
            };
            prop_assert_eq!(*op, expected);
        }
    }
}
