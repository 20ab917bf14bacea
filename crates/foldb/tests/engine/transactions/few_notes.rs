//! The tests of transactions with notes of only two recent writes. A commit then finds the answer
//! in the newest records.
//!
//! With the usual sizes the notes know the answer to nearly every question of tests this short.

use foldb::faults::{Fault, keep_few_notes, plant};
use foldb::{Isolation, Result, Transaction};
use proptest::prelude::*;

use super::conflicts::{self, CHANGES, PLACES, begin, is_conflict, open};
use super::{model, queue};
use crate::support::quiet;

/// Runs `body` with few notes in the databases that it opens.
fn with_few_notes<T>(body: impl FnOnce() -> T) -> T {
    struct AsUsual;
    impl Drop for AsUsual {
        fn drop(&mut self) {
            keep_few_notes(false);
        }
    }
    keep_few_notes(true);
    let _as_usual = AsUsual;
    body()
}

#[test]
fn the_table_of_conflicts_holds() {
    with_few_notes(|| {
        conflicts::serializable_a_key_read_conflicts_with_every_change();
        conflicts::serializable_a_range_read_conflicts_with_every_change_inside();
        conflicts::serializable_writes_conflict_with_nothing();
        conflicts::serializable_what_was_not_read_may_change();
        conflicts::serializable_an_own_put_hides_the_key_and_an_own_merge_reads_it();
        conflicts::serializable_an_absent_key_is_read_too();
        conflicts::serializable_an_iterator_claims_what_it_walked_over();
        conflicts::serializable_a_live_iterator_claims_its_whole_range();
        conflicts::serializable_a_dropped_keyspace_conflicts();
        conflicts::serializable_a_sorted_load_conflicts();
        conflicts::serializable_an_iterator_read_from_both_ends_claims_its_range();
        conflicts::serializable_a_transaction_that_only_reads_never_conflicts();
        conflicts::serializable_a_walk_cut_short_by_a_panic_claims_its_range();
        conflicts::snapshot_reads_conflict_with_nothing();
        conflicts::snapshot_a_put_conflicts_with_every_change();
        conflicts::snapshot_a_merge_conflicts_with_all_but_merges();
        conflicts::claims_beyond_their_bound_join_into_ranges();
    });
}

/// Changes key `b` at each place, then writes other keys until the notes have forgotten the change.
/// Returns for each change whether the commit conflicts.
fn outcomes(work: impl Fn(&Transaction) -> Result<()>) -> Vec<[bool; 4]> {
    let at_each_place = PLACES.iter().map(|(_, settle)| {
        CHANGES.map(|(_, apply)| {
            let db = open();
            let transaction = begin(&db, Isolation::Serializable);
            work(&transaction).unwrap();
            apply(&db).unwrap();
            settle(&db).unwrap();
            (0..9).for_each(|n| db.put(format!("y{n}"), "1").unwrap());
            is_conflict(transaction.commit())
        })
    });
    at_each_place.collect()
}

fn check_that_records_tell_what_the_notes_forgot() {
    let reads_b = outcomes(|transaction| {
        transaction.get("b")?;
        transaction.put("z", "1")
    });
    assert_eq!(reads_b, [[true; 4]; 3]);
    let reads_around_b = outcomes(|transaction| {
        assert_eq!(transaction.range("a".."c")?.count(), 2);
        transaction.put("z", "1")
    });
    assert_eq!(reads_around_b, [[true; 4]; 3]);
    let reads_others = outcomes(|transaction| {
        transaction.get("a")?;
        transaction.get("c")?;
        transaction.put("z", "1")
    });
    assert_eq!(reads_others, [[false; 4]; 3]);
    let reads_ranges_beside_b = outcomes(|transaction| {
        assert_eq!(transaction.range(.."b")?.count(), 1);
        assert_eq!(transaction.range("c".."e")?.count(), 2);
        transaction.put("z", "1")
    });
    assert_eq!(reads_ranges_beside_b, [[false; 4]; 3]);
    // A range delete that the notes forgot counts as a change of every range.
    let db = open();
    let transaction = begin(&db, Isolation::Serializable);
    assert_eq!(transaction.range(.."b").unwrap().count(), 1);
    transaction.put("z", "1").unwrap();
    (0..2).for_each(|_| db.delete_range("m".."n").unwrap());
    assert!(is_conflict(transaction.commit()));
}

#[test]
fn records_tell_what_the_notes_forgot() {
    with_few_notes(check_that_records_tell_what_the_notes_forgot);
}

#[test]
fn a_check_of_the_start_of_a_range_is_noticed() {
    plant(Some(Fault::CheckRangeStart));
    let by_table = quiet::catch(|| with_few_notes(check_that_records_tell_what_the_notes_forgot));
    plant(None);
    assert!(by_table.is_err());
    assert!(with_few_notes(|| model::is_noticed(Fault::CheckRangeStart, 4000)));
}

#[test]
fn each_task_is_taken_once() {
    with_few_notes(queue::each_task_is_taken_once);
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn committed_reads_are_true_at_the_commit(
        steps in prop::collection::vec(model::step(), 1..80),
    ) {
        with_few_notes(|| model::play(steps));
    }

    #[test]
    fn a_queue_gives_its_first_entry(steps in prop::collection::vec(queue::step(), 1..120)) {
        with_few_notes(|| queue::play(steps));
    }
}
