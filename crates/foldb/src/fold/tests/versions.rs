//! Tests that a newer version of an operator upgrades and folds operands of an older one.

use std::sync::Arc;

use crate::fold::laws::Check;
use crate::fold::{Below, Chain, Definition, Full, MergeOperator, Partial, Registry};
use crate::key::{Kind, RecordHeader};
use crate::value::Value;

/// Joins words. An operand of version 1 is the word. An operand of version 2 is words, each after
/// its length, so version 2 can join operands without a base.
#[derive(Debug)]
struct Words {
    version: u32,
    /// Whether `upgrade` gives a wrong result, which the law kit must detect.
    broken: bool,
}

impl Words {
    fn boxed(version: u32) -> Arc<dyn MergeOperator> {
        Arc::new(Words { version, broken: false })
    }
}

fn framed(word: &[u8]) -> Vec<u8> {
    [&[word.len() as u8], word].concat()
}

fn words(mut framed: &[u8]) -> Option<Vec<&[u8]>> {
    let mut words = Vec::new();
    while let Some((&len, rest)) = framed.split_first() {
        let (word, rest) = rest.split_at_checked(usize::from(len))?;
        words.push(word);
        framed = rest;
    }
    Some(words).filter(|words| !words.is_empty())
}

impl MergeOperator for Words {
    fn name(&self) -> &str {
        "test.words"
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn reads_version(&self, other: u32) -> bool {
        (self.version, other) == (2, 1)
    }

    fn upgrade(&self, other: u32, operand: &[u8], out: &mut Vec<u8>) -> bool {
        assert!(self.reads_version(other));
        if operand == b"boom" {
            panic!("an operator may panic");
        }
        out.extend(framed(if self.broken { b"?" } else { operand }));
        operand.len() < 256
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let mut joined: Vec<&[u8]> = base.into_iter().collect();
        for operand in operands {
            match (self.version, words(operand)) {
                (1, _) => joined.push(operand),
                (_, Some(words)) => joined.extend(words),
                (_, None) => return Full::Fail,
            }
        }
        out.extend(joined.join(&b' '));
        Full::Value
    }

    fn partial(&self, _: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        if self.version == 1 {
            return Partial::Keep;
        }
        out.extend(operands.concat());
        Partial::Operand
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        let fine = self.version == 1 || words(operand).is_some();
        if fine { Ok(()) } else { Err("framed words".to_owned()) }
    }
}

/// Returns the registry of a database that version 1 wrote and version 2 opens.
fn upgraded() -> Registry {
    let registry = Registry::new(vec![Words::boxed(2)]);
    registry.adopt(&Definition::of(128, &*Words::boxed(1))).unwrap();
    registry.adopt(&Definition::of(129, &*registry.parse("stringappend:;").unwrap())).unwrap();
    registry.settle_upgrades();
    registry
}

fn merge(seqno: u64, operator: u32) -> RecordHeader {
    RecordHeader { seqno, kind: Kind::Merge, operator }
}

/// Stored definitions keep their ids. The newer version gets the next id.
#[test]
fn a_newer_version_gets_an_id_of_its_own() {
    let registry = upgraded();
    let definitions: Vec<_> = registry
        .resolver()
        .dynamic_definitions()
        .map(|definition| (definition.id, definition.version))
        .collect();
    assert_eq!(definitions, [(128, 1), (129, 0), (130, 2)]);
    assert_eq!(registry.standing_for(128).unwrap().0, 130, "a default operator moves on");
    assert_eq!(registry.id_of(&*registry.parse("test.words").unwrap()), Some(130));

    // The next open finds both definitions.
    let reopened = Registry::new(vec![Words::boxed(2)]);
    for definition in registry.resolver().dynamic_definitions() {
        reopened.adopt(definition).unwrap();
    }
    reopened.settle_upgrades();
    assert_eq!(reopened.standing_for(128).unwrap().0, 130);
    assert_eq!(reopened.resolver().dynamic_definitions().count(), 3);
}

/// Folds `a.MERGE.9(2: y) a.MERGE.5(1: x)` over nothing and over unknown records. Old and new
/// operands are one stretch, and the result is an operand of the newer version.
#[test]
fn operands_of_an_older_version_fold_with_newer_ones() {
    let registry = upgraded();
    let collect = || {
        let mut chain = Chain::default();
        chain.push(merge(9, 130), Value::from(framed(b"y")));
        chain.push(merge(5, 128), Value::from(b"x".to_vec()));
        chain
    };
    let resolver = registry.resolver();
    let value = collect().value(b"a", &resolver, &mut Vec::new()).unwrap().unwrap();
    assert_eq!(value, b"x y");
    let folded = collect().fold(b"a", Below::Unknown, &resolver, &mut Vec::new());
    assert_eq!(folded.records.len(), 1);
    assert_eq!(folded.records[0].header, merge(9, 130));
    assert_eq!(&*folded.records[0].value, [framed(b"x"), framed(b"y")].concat());
}

/// A fold also upgrades a lone old operand, so compactions complete the upgrade.
#[test]
fn a_lone_operand_is_upgraded_by_a_fold() {
    let registry = upgraded();
    let mut chain = Chain::default();
    chain.push(merge(5, 128), Value::from(b"x".to_vec()));
    let folded = chain.fold(b"a", Below::Unknown, &registry.resolver(), &mut Vec::new());
    assert_eq!(folded.records[0].header, merge(5, 130));
    assert_eq!(&*folded.records[0].value, framed(b"x"));
}

/// If the upgrade fails or panics, the fold of the key fails and the operand stays unchanged.
#[test]
fn an_operand_that_cannot_be_upgraded_is_a_wall() {
    let registry = upgraded();
    for operand in [vec![b'x'; 300], b"boom".to_vec()] {
        let mut chain = Chain::default();
        chain.push(merge(7, 130), Value::from(framed(b"y")));
        chain.push(merge(5, 128), Value::from(operand.clone()));
        let resolver = registry.resolver();
        let folded = chain.fold(b"a", Below::Nothing, &resolver, &mut Vec::new());
        assert_eq!(folded.failed.map(|failure| failure.operator), Some(128));
        assert_eq!(folded.records[0].header, merge(5, 128));
        assert_eq!(&*folded.records[0].value, operand);
    }
}

#[test]
fn the_law_kit_checks_upgrades() {
    let operands = [framed(b"a"), framed(b"bc"), framed(b"")];
    let check = Check::new(operands).upgrades(Words::boxed(1)).rounds(200);
    check.run(&Words { version: 2, broken: false }).unwrap();
    let violation = check.run(&Words { version: 2, broken: true }).unwrap_err();
    assert_eq!(violation.law, "upgrade", "{violation}");
    let undeclared = check.run(&Words { version: 3, broken: false }).unwrap_err();
    assert!(undeclared.to_string().contains("version 1 is declared, but not read"));
}
