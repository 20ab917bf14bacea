//! `stats`, `top` and `histogram` give the same bytes whatever flushes, compactions, snapshots and
//! reopens do to their operands.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use foldb::env::MemFs;
use foldb::operators::{Full, MergeOperator, builtins, histogram, stats, top};
use foldb::{Db, Reader, Snapshot};

use crate::support::{open, reopen};

const SPECS: [&str; 4] = ["stats", "top:3", "histogram:5", "histogram:0.1"];

/// What was merged into each key since its last put or delete. A put counts as the first operand.
type Histories = BTreeMap<String, Vec<Vec<u8>>>;

fn operator(spec: &str) -> Arc<dyn MergeOperator> {
    let (name, parameter) = spec
        .split_once(':')
        .map_or((spec, None), |(name, parameter)| (name, Some(parameter.as_bytes())));
    let info = builtins().iter().find(|info| info.name == name).unwrap();
    info.instantiate(parameter).unwrap()
}

/// Returns the fold of all operands at once.
fn folded(spec: &str, operands: &[Vec<u8>]) -> Option<Vec<u8>> {
    let operands: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
    let mut out = Vec::new();
    if operands.is_empty() {
        return None;
    }
    assert_eq!(operator(spec).full(b"key", None, &operands, &mut out), Full::Value, "{spec}");
    Some(out)
}

fn drawn(spec: &str, random: &mut Rng) -> Vec<u8> {
    let samples: Vec<i32> = (0..random.usize(0..4)).map(|_| random.i32(-50..50)).collect();
    match spec {
        "stats" => stats::operand(samples.into_iter().map(i64::from)),
        "top:3" => top::operand(
            samples.iter().map(|n| (i64::from(*n), format!("item{}", n.rem_euclid(9)))),
        ),
        _ => histogram::operand(samples.into_iter().map(f64::from)),
    }
}

fn check(reader: &impl Reader, histories: &Histories, when: &str) {
    for (key, operands) in histories {
        let spec = key.split(' ').next().unwrap();
        let found = reader.get(key).unwrap().map(foldb::Value::into_owned);
        assert_eq!(found, folded(spec, operands), "{key} {when}");
    }
}

fn change(db: &Db, histories: &mut Histories, random: &mut Rng) {
    let spec = SPECS[random.usize(..SPECS.len())];
    let key = format!("{spec} {}", random.u8(..3));
    let operands = histories.entry(key.clone()).or_default();
    let operand = drawn(spec, random);
    match random.u8(..20) {
        0 => {
            operands.clear();
            db.delete(key).unwrap();
        }
        1 => {
            *operands = vec![operand.clone()];
            db.put(key, operand).unwrap();
        }
        _ => {
            operands.push(operand.clone());
            db.merge_with(&db.operator(spec).unwrap(), key, operand).unwrap();
        }
    }
}

#[test]
fn summaries_do_not_depend_on_where_their_operands_lie() {
    for seed in 0..8 {
        let (fs, mut random) = (MemFs::new(), Rng::with_seed(seed));
        let mut db = open(&fs).unwrap();
        let mut histories = Histories::new();
        let mut snapshots: Vec<(Snapshot, Histories)> = Vec::new();
        for step in 0..600 {
            match random.u8(..60) {
                0 => db.flush().unwrap(),
                1 => db.compact(..).unwrap(),
                2 => snapshots.push((db.snapshot(), histories.clone())),
                3 => {
                    for (snapshot, then) in snapshots.drain(..) {
                        check(&snapshot, &then, "in a snapshot");
                    }
                }
                4 => {
                    snapshots.clear();
                    drop(db);
                    db = reopen(&fs).unwrap();
                }
                _ => change(&db, &mut histories, &mut random),
            }
            if step % 20 == 0 {
                check(&db, &histories, &format!("at step {step} of seed {seed}"));
            }
        }
        db.compact(..).unwrap();
        check(&db, &histories, "after a compaction");
        db.verify().unwrap();
    }
}

/// The parameter of an operator is a part of its name, and an open finds it there.
#[test]
fn a_reopened_top_keeps_as_many_items_as_before() {
    let fs = MemFs::new();
    for (score, item) in [(1, "ann"), (2, "bob")] {
        let db = open(&fs).unwrap();
        let best = db.operator("top:1").unwrap();
        db.merge_with(&best, "best", top::operand([(score, item)])).unwrap();
    }
    let db = reopen(&fs).unwrap();
    let best = db.operator("top:1").unwrap();
    let error = db.merge_with(&best, "best", top::operand([(3, "bob"), (1, "eve")])).unwrap_err();
    assert!(error.to_string().contains("'top:1' must be at most 1 items"), "{error}");
    assert_eq!(top::items(&db.get("best").unwrap().unwrap()).unwrap(), [(2, &b"bob"[..])]);
}
