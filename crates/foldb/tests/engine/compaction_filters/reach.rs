//! Which keyspaces and which tables a filter reaches.

use std::sync::Arc;

use foldb::env::MemFs;
use foldb::{Db, ErrorKind, KeyspaceOptions, Options};

use super::support::{Noting, by_value, filtered, keep, open};
use crate::support::{PATH, PRESETS, assert_error, options, sliced, text};

#[test]
fn a_keyspace_that_is_created_later_gets_its_filter() {
    let (fs, filter) = (MemFs::new(), Noting::by(by_value));
    let later = vec![("later".to_owned(), Arc::clone(&filter) as _)];
    let of_later = Options { compaction_filters: later, ..options(&fs) };
    let db = Db::open(PATH, of_later.clone()).unwrap();
    let fill = |db: &Db| {
        for name in ["default", "later", "other"] {
            let keyspace = db.keyspace_or_create(name, KeyspaceOptions::default()).unwrap();
            keyspace.put("a", "remove").unwrap();
        }
        db.compact(..).unwrap();
        let left = |name: &str| text(&db.keyspace(name).unwrap(), "a");
        assert!(left("default").is_some() && left("other").is_some());
        assert_eq!(left("later"), None);
        assert!(filter.take_parts().iter().all(|part| part.keyspace == "later"));
    };
    fill(&db);
    drop(db);
    fill(&Db::open(PATH, of_later).unwrap());
}

#[test]
fn a_set_filter_holds_for_all_handles_until_it_is_removed() {
    let (before, after) = (Noting::by(keep), Noting::by(keep));
    let db = open(&before);
    db.put("a", "1").unwrap();
    let keyspace = db.keyspace("default").unwrap();
    keyspace.set_compaction_filter(Some(Arc::clone(&after) as _));
    db.compact(..).unwrap();
    assert_eq!((before.take_keys(), after.take_keys()), (vec![], vec!["a".to_owned()]));
    db.default_keyspace().set_compaction_filter(None);
    keyspace.compact(..).unwrap();
    assert_eq!((before.take_keys(), after.take_keys()), (vec![], vec![]));
}

#[test]
fn two_filters_of_one_keyspace_are_refused() {
    let filter = Noting::by(keep);
    let mut twice = filtered(&MemFs::new(), &filter);
    twice.compaction_filters.extend(twice.compaction_filters.clone());
    let error = assert_error(Db::open(PATH, twice), ErrorKind::InvalidArgument, None);
    assert!(error.to_string().contains("two filters of keyspace 'default'"), "{error}");
}

/// Tables that compactions moved, and tables of the last level over which nothing lies.
#[test]
fn a_manual_compaction_shows_each_value_once_wherever_it_lies() {
    for preset in PRESETS {
        let filter = Noting::by(keep);
        let db = Db::open(PATH, sliced(&MemFs::new(), preset)).unwrap();
        let keys: Vec<String> = (0..400).map(|n| format!("k{n:03}")).collect();
        for part in keys.chunks(50) {
            part.iter().for_each(|key| db.put(key, "v".repeat(20)).unwrap());
            db.flush().unwrap();
            while db.step_background().unwrap() {}
        }
        // A few of the tables are covered, the others are not.
        keys.iter().step_by(97).for_each(|key| db.put(key, "w").unwrap());
        let keyspace = db.default_keyspace();
        keyspace.set_compaction_filter(Some(Arc::clone(&filter) as _));
        for round in 0..3 {
            if round == 1 {
                keyspace.compact(..).unwrap()
            } else {
                db.compact(..).unwrap()
            }
            assert_eq!(filter.take_keys(), keys, "{preset}, round {round}");
            assert!(filter.take_parts().iter().all(|part| part.is_manual && part.is_full));
        }
        keyspace.compact("k100".."k110").unwrap();
        let seen = filter.take_keys();
        assert!(keys[100..110].iter().all(|key| seen.contains(key)), "{preset}: {seen:?}");
        assert!(seen.len() < 200, "{preset}: a range is not the whole: {}", seen.len());
        db.verify().unwrap();
    }
}

#[test]
fn a_background_compaction_shows_what_it_rewrites() {
    let filter = Noting::by(by_value);
    let fs = MemFs::new();
    let filters = filtered(&fs, &filter).compaction_filters;
    let own = Options { compaction_filters: filters, ..sliced(&fs, PRESETS[0]) };
    let db = Db::open(PATH, own).unwrap();
    for round in 0..4 {
        for n in 0..100 {
            let what = if n % 2 == 0 { "keep" } else { "remove" };
            db.put(format!("k{n:02}"), format!("{what} {round}")).unwrap();
        }
        db.flush().unwrap();
        while db.step_background().unwrap() {}
    }
    assert!(filter.take_parts().iter().any(|part| !part.is_manual));
    assert!(filter.take_shown().iter().any(|(_, value)| value.starts_with("remove")));
    for n in 0..100 {
        let value = text(&db, &format!("k{n:02}"));
        match n % 2 {
            0 => assert_eq!(value.as_deref(), Some("keep 3")),
            _ => assert!(value.is_none_or(|value| value == "remove 3"), "an older one came back"),
        }
    }
}
