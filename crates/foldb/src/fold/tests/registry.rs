//! Tests that an id always means the same operator (H27).

use std::sync::Arc;

use crate::ErrorKind;
use crate::fold::registry::FIRST_DYNAMIC_ID;
use crate::fold::{Definition, Full, MergeOperator, Registry, builtins};

/// A custom operator whose version and parameters the test chooses.
#[derive(Debug)]
struct Custom {
    version: u32,
    parameters: &'static [u8],
}

impl MergeOperator for Custom {
    fn name(&self) -> &str {
        "test.custom"
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn parameters(&self) -> &[u8] {
        self.parameters
    }

    fn full(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]], _: &mut Vec<u8>) -> Full {
        Full::Existing
    }
}

fn with_custom(version: u32, parameters: &'static [u8]) -> Registry {
    Registry::new(vec![Arc::new(Custom { version, parameters })])
}

fn bare() -> Registry {
    Registry::new(Vec::new())
}

/// Registers a spec as a database does, and returns its id.
fn register(registry: &Registry, spec: &str) -> u32 {
    let operator = registry.parse(spec).unwrap();
    registry.id_of(&*operator).unwrap_or_else(|| {
        let definition = registry.next_definition(&*operator);
        registry.adopt(&definition).unwrap();
        definition.id
    })
}

/// Every merge record on disk holds such an id. If this test fails, old databases change their
/// meaning.
#[test]
fn builtin_ids_never_change() {
    let ids: Vec<_> = builtins().iter().map(|info| (info.name, info.id)).collect();
    assert_eq!(
        ids,
        [
            ("uint64add", Some(1)),
            ("int64add", Some(2)),
            ("max", Some(3)),
            ("min", Some(4)),
            ("append", Some(5)),
            ("stringappend", None),
            ("put", Some(6)),
            ("float64add", Some(7)),
            ("uint64max", Some(8)),
            ("uint64min", Some(9)),
            ("bytesxor", Some(10)),
            ("bitor", Some(11)),
            ("bitand", Some(12)),
            ("list", Some(13)),
            ("listlast", None),
            ("set", Some(14)),
            ("putifabsent", Some(15)),
            ("json_merge_patch", Some(16)),
            ("hyperloglog", Some(17)),
            ("stats", Some(18)),
            ("top", None),
            ("histogram", None),
            ("sortlist", Some(19)),
        ]
    );
    let registry = bare();
    for (name, id) in ids {
        let operator = registry.parse(name).unwrap();
        assert_eq!(registry.id_of(&*operator), id, "{name}");
    }
}

#[test]
fn other_operators_get_the_next_id() {
    let registry = with_custom(3, b"p");
    assert_eq!(register(&registry, "stringappend:;"), FIRST_DYNAMIC_ID);
    assert_eq!(register(&registry, "test.custom"), FIRST_DYNAMIC_ID + 1);
    assert_eq!(register(&registry, "uint64add:rocksdb_lenient"), FIRST_DYNAMIC_ID + 2);
    assert_eq!(register(&registry, "stringappend:;"), FIRST_DYNAMIC_ID, "known already");
    assert_eq!(register(&registry, "uint64add"), 1);
    assert_eq!(registry.resolver().name(FIRST_DYNAMIC_ID + 1), "test.custom:p");
}

/// A registered spec keeps its operator when the test parses its name again, and after the next
/// open.
#[test]
fn specs_round_trip() {
    let registry = with_custom(0, b"");
    for spec in [
        "uint64add",
        "uint64add:rocksdb_lenient",
        "append",
        "stringappend:",
        "stringappend:;",
        "stringappend::",
        "stringappend:a:b",
        "listlast:3",
        "top:4096",
        "histogram:0.5",
        "test.custom",
    ] {
        let id = register(&registry, spec);
        assert_eq!(registry.resolver().name(id), spec);
        assert_eq!(register(&registry, &registry.resolver().name(id)), id, "{spec}");
    }
    let comma = register(&registry, "stringappend");
    assert_eq!(registry.resolver().name(comma), "stringappend:,", "the default is spelled out");

    let reopened = with_custom(0, b"");
    for definition in registry.resolver().dynamic_definitions() {
        reopened.adopt(definition).unwrap();
        reopened.adopt(definition).unwrap();
    }
    let definitions = |registry: &Registry| -> Vec<Definition> {
        registry.resolver().definitions().cloned().collect()
    };
    assert_eq!(definitions(&reopened), definitions(&registry));
    assert!(definitions(&registry).is_sorted_by_key(|definition| definition.id));
    for definition in definitions(&registry) {
        let (_, implementation) = reopened.standing_for(definition.id).unwrap();
        assert_eq!(implementation.parameters(), definition.parameters);
    }
}

fn definition(id: u32, name: &str, version: u32, parameters: &[u8]) -> Definition {
    Definition { id, name: name.to_owned(), version, parameters: parameters.to_vec() }
}

#[test]
fn one_id_means_one_operator() {
    let registry = bare();
    registry.adopt(&definition(128, "stringappend", 0, b";")).unwrap();
    let error = registry.adopt(&definition(128, "stringappend", 0, b",")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert_eq!(
        error.to_string(),
        "corruption: operator id 128 is both 'stringappend:;' and 'stringappend:,'"
    );
    let error = registry.adopt(&definition(1, "int64add", 0, b"")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert_eq!(registry.resolver().name(128), "stringappend:;", "a refused one changes nothing");
}

#[test]
fn a_gap_of_ids_is_damage() {
    for id in [129, 1 << 20, u32::MAX] {
        let error = bare().adopt(&definition(id, "stringappend", 0, b";")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert!(error.to_string().contains("expected operator id 128 or less"), "{error}");
    }
}

/// The registry accepts an operator without an implementation. So a database opens if no record
/// needs the operator. Otherwise the open fails with this error.
#[test]
fn an_error_names_the_missing_operator() {
    let registry = bare();
    let stored = definition(128, "acme.topk", 2, b"10");
    registry.adopt(&stored).unwrap();
    assert!(registry.resolver().is_unresolved(128));
    assert!(registry.standing_for(128).is_none());
    let unresolved: Vec<_> = registry.resolver().unresolved().cloned().collect();
    assert_eq!(unresolved, std::slice::from_ref(&stored));
    let error = registry.unknown_operator(&stored);
    assert_eq!(error.kind(), ErrorKind::UnknownOperator);
    assert_eq!(
        error.to_string(),
        "the database uses merge operator 'acme.topk:10' version 2, which is not built in: \
         add it to Options::operators"
    );
    let error = bare().parse("acme.topk").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownOperator);
    assert_eq!(
        error.to_string(),
        "there is no merge operator 'acme.topk': it is not \
         built in, and no operator of Options::operators has this name"
    );
}

#[test]
fn another_version_or_parameter_is_another_operator() {
    let stored = definition(128, "test.custom", 1, b"p");
    for (registry, known) in [
        (with_custom(1, b"p"), true),
        (with_custom(2, b"p"), false),
        (with_custom(1, b"q"), false),
        (bare(), false),
    ] {
        registry.adopt(&stored).unwrap();
        assert_eq!(!registry.resolver().is_unresolved(128), known);
    }
    assert_eq!(
        with_custom(2, b"p").unknown_operator(&stored).to_string(),
        "the database uses merge operator 'test.custom:p' version 1, \
         but Options::operators has version 2, which cannot read the stored operands"
    );
}

/// `parse` finds custom operators first. A parameter in the spec must equal the operator's.
#[test]
fn parse_looks_at_custom_operators_first() {
    let registry = with_custom(0, b"p");
    assert_eq!(registry.parse("test.custom").unwrap().parameters(), b"p");
    assert_eq!(registry.parse("test.custom:p").unwrap().parameters(), b"p");
    assert_eq!(registry.parse("test.custom:q").unwrap_err().kind(), ErrorKind::UnknownOperator);
}
