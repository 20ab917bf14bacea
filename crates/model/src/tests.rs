//! What each operation means, by hand.

use std::ops::Bound;

use crate::operator::Operator::{self, Add, Append, Max, Min, Put, References, Register, Replace};
use crate::{Cell, Change, Expiry, Model, Moment, Operation, Reset, Rule};

/// A model of one keyspace. Each write has the next number, and the second that is set.
struct Toy {
    model: Model,
    at: Moment,
}

impl Toy {
    fn new(expiry: Option<Expiry>) -> Toy {
        let mut model = Model::default();
        model.create(0, expiry);
        Toy { model, at: Moment { number: 0, second: 0 } }
    }

    fn write(&mut self, change: Change) -> &mut Toy {
        self.write_lasting(change, None)
    }

    fn write_lasting(&mut self, change: Change, lifetime: Option<u64>) -> &mut Toy {
        self.at.number += 1;
        self.model.apply_lasting(&Operation { keyspace: 0, change }, lifetime, self.at);
        self
    }

    fn put(&mut self, key: &str, value: &str) -> &mut Toy {
        self.write(Change::Put(key.into(), value.into()))
    }

    fn merge(&mut self, operator: Operator, operand: &[u8]) -> &mut Toy {
        self.write(Change::Merge(operator, b"a".to_vec(), operand.to_vec()))
    }

    fn wait(&mut self, seconds: u64) -> &mut Toy {
        self.at.second += seconds;
        self
    }

    /// Draws what readers see: `!` for a failed merge.
    fn seen(&self) -> String {
        self.seen_at(self.at)
    }

    fn seen_at(&self, at: Moment) -> String {
        let drawn = self.model.of(0, at).entries().map(|(key, cell)| match cell {
            Cell::Value(value) => format!("{}={}", key.escape_ascii(), value.escape_ascii()),
            Cell::Failed => format!("{}=!", key.escape_ascii()),
        });
        drawn.collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn every_number_sees_the_writes_up_to_it() {
    let mut toy = Toy::new(None);
    toy.put("a", "1").put("b", "2").write(Change::Delete(b"a".to_vec())).put("a", "3");
    let seen = |number| toy.seen_at(Moment { number, second: 0 });
    assert_eq!([0, 1, 2, 3, 4].map(seen), ["", "a=1", "a=1 b=2", "b=2", "a=3 b=2"]);
    let fork = toy.model.fork(Moment { number: 2, second: 0 });
    let at = Moment { number: 9, second: 0 };
    assert_eq!(Toy { model: fork, at }.seen(), "a=1 b=2");
    toy.model.truncate(2, &[]);
    assert_eq!(toy.seen(), "a=1 b=2");
}

#[test]
fn a_range_delete_takes_the_keys_between_its_bounds() {
    let at = |key: &str| Bound::Included(key.as_bytes().to_vec());
    let beside = |key: &str| Bound::Excluded(key.as_bytes().to_vec());
    for (lower, upper, left) in [
        (at("b"), beside("c"), "a=1 c=1"),
        (beside("a"), at("c"), "a=1"),
        (Bound::Unbounded, beside("b"), "b=1 c=1"),
        (at("b"), Bound::Unbounded, "a=1"),
        (beside("b"), beside("b"), "a=1 b=1 c=1"),
        (at("c"), at("a"), "a=1 b=1 c=1"),
    ] {
        let mut toy = Toy::new(None);
        toy.put("a", "1").put("b", "1").put("c", "1").write(Change::delete_range((lower, upper)));
        assert_eq!(toy.seen(), left);
    }
}

#[test]
fn operators_merge_onto_a_value_or_onto_nothing() {
    let cases: [(Operator, &[&str], &str); 11] = [
        (Append(b','), &["x", "", "y"], "a=x,,y"),
        (Operator::OwnAppend, &["x", "y"], "a=x,y"),
        (Operator::WholeAppend, &["x", "y"], "a=x,y"),
        (Max, &["m", "a", "z"], "a=z"),
        (Min, &["m", "a", "z"], "a=a"),
        (Put, &["m", ""], "a="),
        (Register, &["m", "n"], "a=n"),
        (Register, &["m", ""], ""),
        (Replace, &["m", "?"], "a=m"),
        (Replace, &["?"], ""),
        (Replace, &["m", ""], ""),
    ];
    for (operator, operands, seen) in cases {
        let mut toy = Toy::new(None);
        for operand in operands {
            toy.merge(operator, operand.as_bytes());
        }
        assert_eq!(toy.seen(), seen, "{operator:?} {operands:?}");
        assert_eq!(Operator::of_name(&operator.name()), Some(operator));
    }
    let mut toy = Toy::new(None);
    toy.merge(References, &2u64.to_le_bytes()).merge(Add, &u64::MAX.to_le_bytes());
    assert_eq!(toy.seen(), format!("a={}", 1u64.to_le_bytes().escape_ascii()));
    assert_eq!(toy.merge(References, &u64::MAX.to_le_bytes()).seen(), "");
}

#[test]
fn a_failed_merge_stays_until_something_gives_a_value_whatever_the_base() {
    let failed = || {
        let mut toy = Toy::new(None);
        toy.put("a", "no number").merge(Add, &[0; 8]);
        assert_eq!(toy.seen(), "a=!");
        toy
    };
    assert_eq!(failed().merge(Append(b','), b"x").seen(), "a=!");
    assert_eq!(failed().merge(Put, b"x").merge(Register, b"x").merge(Put, b"x").seen(), "a=!");
    assert_eq!(failed().merge(Put, b"x").merge(Put, b"y").seen(), "a=y");
    assert_eq!(failed().put("a", "1").seen(), "a=1");
}

/// A lifetime of ten seconds in buckets of four, which begin at multiples of four since 2020.
#[test]
fn entries_expire_by_the_rule_of_their_keyspace() {
    let ends = |rule, change: &[(&str, Option<u64>)]| {
        let mut toy = Toy::new(Some(Expiry { rule, lifetime: 10, bucket: 4 }));
        toy.wait(1);
        for (operand, lifetime) in change {
            let merge = Change::Merge(Append(b','), b"a".to_vec(), operand.as_bytes().to_vec());
            toy.write_lasting(merge, *lifetime).wait(5);
        }
        toy.model.of(0, toy.at).end_of(b"a")
    };
    let (once, twice) = ([("x", None)], [("x", None), ("y", None)]);
    assert_eq!(ends(Rule::AfterLast, &once), Some(12));
    assert_eq!(ends(Rule::AfterLast, &twice), Some(16));
    assert_eq!(ends(Rule::AfterFirst, &twice), Some(12));
    assert_eq!(ends(Rule::AfterFirst, &[("x", None), ("y", Some(1)), ("z", None)]), Some(24));
    assert_eq!(ends(Rule::AfterFirst, &[("x", None), ("y", Some(7))]), Some(16));
    assert_eq!(ends(Rule::PerWrite, &twice), None);
    assert_eq!(ends(Rule::PerWrite, &[("x", Some(20)), ("y", None)]), Some(24));
}

#[test]
fn a_merge_onto_an_expired_entry_begins_anew() {
    let mut toy = Toy::new(Some(Expiry { rule: Rule::AfterLast, lifetime: 10, bucket: 1 }));
    toy.put("a", "x").wait(9).merge(Append(b','), b"y");
    assert_eq!((toy.seen(), toy.wait(9).seen()), ("a=x,y".to_owned(), "a=x,y".to_owned()));
    assert_eq!(toy.wait(1).seen(), "");
    assert_eq!(toy.merge(Append(b','), b"z").seen(), "a=z");
    assert_eq!(toy.seen_at(Moment { number: 2, second: 18 }), "a=x,y");
}

#[test]
fn a_reset_brings_back_what_had_expired_unless_it_was_dropped() {
    let expired = || {
        let mut toy = Toy::new(Some(Expiry { rule: Rule::AfterLast, lifetime: 10, bucket: 1 }));
        toy.put("a", "x").wait(50);
        assert_eq!(toy.seen(), "");
        toy
    };
    let reset = |toy: &mut Toy, before, value: Option<&str>| {
        let entries = value.map(|value| (b"a".to_vec(), value.into())).into_iter().collect();
        toy.model.reset(&Reset { number: 2, before, after: 5, keyspace: 0, entries })
    };
    for value in [Some("x"), None] {
        let mut toy = expired();
        reset(&mut toy, 50, value).unwrap();
        let seen = toy.seen_at(Moment { number: 2, second: 5 });
        assert_eq!(seen, value.map_or(String::new(), |value| format!("a={value}")));
    }
    reset(&mut expired(), 50, Some("y")).unwrap_err();
    reset(&mut expired(), 9, None).unwrap_err();
}

#[test]
fn two_writes_of_a_key_exclude_each_other_unless_both_merge() {
    let (put, delete) = (Change::Put(b"a".to_vec(), Vec::new()), Change::Delete(b"b".to_vec()));
    let range = Change::delete_range(b"a".to_vec()..b"b".to_vec());
    let merge = Change::Merge(Add, b"a".to_vec(), vec![0; 8]);
    assert!(put.excludes(&merge, b"a") && merge.excludes(&range, b"a"));
    assert!(!merge.excludes(&merge, b"a"));
    assert!(!delete.excludes(&range, b"b") && !put.excludes(&delete, b"a"));
}

/// The second stop once made the model forget what the first may have left.
#[test]
fn what_a_stop_may_have_left_stays_possible_after_the_next_stop() {
    let expiry = Expiry { rule: Rule::AfterLast, lifetime: 5, bucket: 1 };
    let stopped_twice = |written: bool| {
        let mut toy = Toy::new(Some(expiry));
        toy.put("a", "1").wait(9).write(Change::Delete(b"a".to_vec()));
        toy.model.truncate(2, &[1, 2]);
        if written {
            toy.write(Change::Delete(b"a".to_vec()));
        }
        let number = toy.at.number;
        toy.model.truncate(number, &[number]);
        let entries = vec![(b"a".to_vec(), b"1".to_vec())];
        toy.model.reset(&Reset { number, before: 9, after: 3, keyspace: 0, entries })
    };
    stopped_twice(false).unwrap();
    stopped_twice(true).unwrap_err();
}
