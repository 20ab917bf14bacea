//! Tests the encoding of edits.

use std::time::Duration;

use proptest::prelude::*;

use crate::ErrorKind;
use crate::fold::Definition;
use crate::segment::Placement;
use crate::settings::{CompactionPreset, Compression, Expiry, KeyspaceSettings};
use crate::table::expiry::TableExpiry;
use crate::version::{Edit, FileFacts, Key, KeyRange, KeyspaceEdit, TreeEdit, Upper};
use crate::wal::Predecessor;

fn key() -> impl Strategy<Value = Key> {
    proptest::collection::vec(any::<u8>(), 0..6).prop_map(Key::from)
}

fn upper() -> impl Strategy<Value = Upper> {
    prop_oneof![key().prop_map(Upper::Included), key().prop_map(Upper::Excluded)]
}

fn facts() -> impl Strategy<Value = FileFacts> {
    let samples = proptest::collection::vec(key(), 0..4);
    (any::<[u64; 8]>(), key(), upper(), samples).prop_map(|(numbers, smallest, end, samples)| {
        FileFacts {
            number: numbers[0],
            len: numbers[1],
            entries: numbers[2],
            deletes: numbers[3],
            merges: numbers[4],
            smallest_seqno: numbers[5],
            largest_seqno: numbers[6],
            range_deletes: numbers[7],
            range_deleted: numbers[6],
            smallest,
            end,
            kept_apart: numbers[5] & 1,
            loaded: (numbers[2] & 1 == 1).then_some(numbers[2]),
            samples: samples.into_iter().collect(),
            references: (0..numbers[3] % 3).map(|n| (numbers[4] ^ n, numbers[5])).collect(),
            expiry: (numbers[0] % 3 == 0).then(|| TableExpiry {
                merged_since: numbers[1] as u32,
                half_expires: numbers[2] as u32,
            }),
        }
    })
}

fn tree_edit() -> impl Strategy<Value = TreeEdit> {
    let run = || any::<u64>();
    let before = proptest::option::of(0..u64::MAX);
    prop_oneof![
        (0..40usize, run(), before).prop_map(|(level, run, before)| TreeEdit::NewRun {
            level,
            run,
            before
        }),
        (run(), facts(), key(), upper()).prop_map(|(run, file, lo, hi)| TreeEdit::Insert {
            run,
            file,
            lo,
            hi
        }),
        (run(), proptest::option::of(key()), proptest::option::of(upper()))
            .prop_map(|(run, lo, hi)| TreeEdit::Carve { run, range: KeyRange { lo, hi } }),
        placement().prop_map(TreeEdit::Place),
    ]
}

fn placement() -> impl Strategy<Value = Placement> {
    let section = (any::<[u32; 6]>(), any::<u64>()).prop_map(|(numbers, segment)| Placement {
        segment,
        file: u64::from(numbers[0]),
        offset: u64::from(numbers[1]),
        len: u64::from(numbers[2]) + 100,
        records_len: u64::from(numbers[2]).min(u64::from(numbers[3])),
        values: u64::from(numbers[4]),
        // The decoder accepts all other flags; the code that reads the file refuses unknown ones.
        flags: numbers[5] & !8,
    });
    let log = any::<[u32; 3]>().prop_map(|[log, len, values]| {
        Placement::adopted(log.into(), u64::from(len) + 100, values.into())
    });
    prop_oneof![section, log]
}

#[test]
fn an_adopted_log_is_a_whole_file() {
    let placed = |placement: Placement| {
        encoded(&Edit::of_keyspace(KeyspaceEdit::of_tree(0, vec![TreeEdit::Place(placement)])))
    };
    let log = Placement::adopted(7, 1000, 3);
    assert!(Edit::decode(&placed(log)).is_ok());
    for other in [Placement { offset: 1, ..log }, Placement { file: 8, ..log }] {
        let error = Edit::decode(&placed(other)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{other:?}");
    }
}

fn definition() -> impl Strategy<Value = Definition> {
    (any::<u32>(), "[a-zé.]{0,8}", any::<u32>(), any::<Vec<u8>>())
        .prop_map(|(id, name, version, parameters)| Definition { id, name, version, parameters })
}

fn settings() -> impl Strategy<Value = KeyspaceSettings> {
    let compression =
        prop_oneof![Just(Compression::None), Just(Compression::Lz4), Just(Compression::Snappy)];
    let compaction = prop_oneof![
        Just(CompactionPreset::Leveled),
        Just(CompactionPreset::Tiered),
        Just(CompactionPreset::LazyLeveled)
    ];
    let separation = proptest::option::of(any::<usize>());
    (compression, 0..=64u32, compaction, separation).prop_map(
        |(compression, bloom_bits, compaction, value_separation_min)| KeyspaceSettings {
            compression,
            bloom_bits,
            compaction,
            value_separation_min,
            expiry: value_separation_min.and_then(expiry_of),
        },
    )
}

/// Returns some expiry for a third of the numbers.
fn expiry_of(number: usize) -> Option<Expiry> {
    let lifetime = Duration::from_secs(1 + number as u64 % 1_000_000);
    let expiry = match number % 9 {
        0 => Expiry::per_write(),
        1 => Expiry::after_last_write(lifetime),
        2 => Expiry::after_first_write(lifetime),
        _ => return None,
    };
    Some(expiry.with_bucket(Duration::from_secs(1 + number as u64 % 61)))
}

fn keyspace_edit() -> impl Strategy<Value = KeyspaceEdit> {
    (
        any::<u32>(),
        (
            proptest::option::of("[a-zé ]{0,8}"),
            proptest::option::of("[a-z.]{0,8}"),
            proptest::option::of("[a-z.]{0,8}"),
            proptest::option::of("[a-zé/1=]{0,8}"),
        ),
        any::<(Option<u64>, Option<u32>, Option<u64>)>(),
        proptest::option::of(settings()),
        proptest::collection::vec(tree_edit(), 0..4),
        proptest::option::of(0.0..=1.0f64),
    )
        .prop_map(|(id, names, numbers, settings, tree, dead_share)| KeyspaceEdit {
            id,
            name: names.0,
            comparator: names.1,
            filter_policy: names.2,
            schema: names.3,
            num_levels: numbers.0,
            default_operator: numbers.1,
            settings,
            flushed_through: numbers.2,
            dead_share,
            tree,
        })
}

fn edit() -> impl Strategy<Value = Edit> {
    let number = || any::<Option<u64>>();
    (
        (number(), number(), number(), number(), number()),
        any::<Option<u32>>(),
        proptest::collection::vec(definition(), 0..3),
        proptest::option::of(proptest::collection::vec(any::<u64>(), 0..5)),
        proptest::collection::vec(keyspace_edit(), 0..3),
        proptest::collection::vec(any::<u32>(), 0..3),
        proptest::option::of(any::<(u64, u64, u64)>()),
    )
        .prop_map(|(numbers, next_keyspace, operators, totals, keyspaces, dropped, end)| {
            let time = next_keyspace.map(|next| next / 2);
            Edit {
                database: numbers.0,
                log: numbers.1,
                next_file: numbers.2,
                next_run: numbers.3,
                last_seqno: numbers.4,
                next_keyspace,
                operators,
                totals,
                keyspaces,
                dropped,
                time,
                feed_end: end.map(|(log, id, frames)| Predecessor { log, id, frames }),
            }
        })
}

fn encoded(edit: &Edit) -> Vec<u8> {
    let mut bytes = Vec::new();
    edit.encode(&mut bytes);
    bytes
}

#[test]
fn an_unknown_field_is_refused() {
    for tag in [28, 99] {
        let error = Edit::decode(&[10, 1, 0, tag, 2, 1, 2]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error.to_string().starts_with(&format!("unknown manifest field {tag}:")),
            "{error}"
        );
    }
}

#[test]
fn a_field_of_a_keyspace_needs_one_before_it() {
    // Field 16: flushed through 9.
    let error = Edit::decode(&[16, 1, 9]).unwrap_err();
    assert_eq!(error.to_string(), "corruption: field 16 stands before any keyspace");
    let edit = KeyspaceEdit { id: 3, flushed_through: Some(9), ..KeyspaceEdit::default() };
    assert_eq!(Edit::decode(&[10, 1, 3, 16, 1, 9]).unwrap(), Edit::of_keyspace(edit));
}

#[test]
fn unknown_settings_are_refused() {
    let of_keyspace_0 = [10, 1, 0, 15, 3];
    for body in [[9, 10, 0], [0, 10, 9]] {
        let error = Edit::decode(&[&of_keyspace_0[..], &body].concat()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
    let error = Edit::decode(&[&of_keyspace_0[..], &[0, 65, 0]].concat()).unwrap_err();
    assert_eq!(error.to_string(), "corruption: expected at most 64 filter bits, found 65");
}

#[test]
fn bytes_after_a_field_are_damage() {
    // Field 2: a log number of 5, in a field of two bytes.
    let error = Edit::decode(&[2, 2, 5, 0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert_eq!(error.to_string(), "corruption: field 2 has 1 bytes too many");
}

#[test]
fn names_and_schemas_are_text() {
    for (tag, what) in [(11, "name"), (27, "schema")] {
        let error = Edit::decode(&[10, 1, 0, tag, 1, 0xff]).unwrap_err();
        let expected = format!("corruption: the {what} of a keyspace is not UTF-8");
        assert_eq!(error.to_string(), expected);
    }
}

/// A count or length that exceeds the bytes left is an error, not an allocation of that size.
#[test]
fn counts_beyond_the_bytes_are_errors() {
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    // A table with 2^64 - 1 samples, one with as many references.
    let no_keys = [&[0; 11][..], &[0, 1, 0]].concat();
    for before in [no_keys.clone(), [&no_keys[..], &[0]].concat()] {
        let body = [&before[..], &huge].concat();
        let bytes = [&[10, 1, 0, 18, body.len() as u8][..], &body].concat();
        let error = Edit::decode(&bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        let what = if before.len() == no_keys.len() { "sample" } else { "segment" };
        assert!(error.to_string().contains(what), "{error}");
    }
    // A field and a name that claim to be as long.
    assert_eq!(
        Edit::decode(&[&[12][..], &huge].concat()).unwrap_err().kind(),
        ErrorKind::Corruption
    );
    let name = [&[7, 11, 0][..], &huge].concat();
    assert_eq!(Edit::decode(&name).unwrap_err().kind(), ErrorKind::Corruption);
}

proptest! {
    #[test]
    fn edits_come_back(edit in edit()) {
        prop_assert_eq!(Edit::decode(&encoded(&edit)).unwrap(), edit);
    }

    /// An edit cut anywhere is an error, or decodes to one with fewer fields.
    #[test]
    fn cut_edits_are_errors_or_shorter(edit in edit()) {
        let bytes = encoded(&edit);
        for len in 0..bytes.len() {
            match Edit::decode(&bytes[..len]) {
                Ok(shorter) => prop_assert!(encoded(&shorter).len() <= len),
                Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Corruption),
            }
        }
    }

    #[test]
    fn flipped_edits_are_errors_or_others(
        edit in edit(),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 0..8u8), 20),
    ) {
        let bytes = encoded(&edit);
        if bytes.is_empty() {
            return Ok(());
        }
        for (at, bit) in flips {
            let mut flipped = bytes.clone();
            flipped[at.index(bytes.len())] ^= 1 << bit;
            if let Err(error) = Edit::decode(&flipped) {
                let kind = error.kind();
                prop_assert!(matches!(kind, ErrorKind::Corruption | ErrorKind::Unsupported));
            }
        }
    }

    #[test]
    fn the_decoder_is_total(mut bytes in proptest::collection::vec(any::<u8>(), 0..60), tag in 1..28u8) {
        let _either = Edit::decode(&bytes);
        // The same bytes as the body of a known field, so that the test reaches more than the tag.
        if bytes.len() >= 5 {
            bytes[..3].copy_from_slice(&[10, 1, 0]);
            (bytes[3], bytes[4]) = (tag, bytes.len() as u8 - 5);
            let _either = Edit::decode(&bytes);
        }
    }
}
