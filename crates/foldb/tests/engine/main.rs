//! Black-box tests of the database, by subject.
//!
//! They are one program, so a change of the library links one program instead of forty. `cargo test
//! -p foldb --test engine stalls::` runs one module. Some tests count what their whole process
//! does, change it for all threads, or start their own executable again. Each of these is a file of
//! its own beside this directory and says why.

mod api;
mod examples;
mod small_stacks;
#[path = "../support/mod.rs"]
mod support;

/// Work that runs without a call that asks for it.
mod background {
    mod damage;
    mod flush_of_many;
    mod parts;
    mod replaced_files;
    mod rest;
    mod scrub;
}

/// Filters of compactions.
mod compaction_filters {
    mod failures;
    mod model;
    mod reach;
    mod snapshots;
    mod support;
    mod verdicts;
}

/// Disks that fail, hang or lose power, and bugs that tests must find.
mod disks {
    mod crash_points;
    pub(crate) mod deadlines;
    mod hanging_disks;
    mod held_files;
    mod planted_faults;
    mod recovery;
    mod slow_disks;
}

/// Entries that expire.
mod expiry {
    mod conditions;
    mod copies;
    mod disks;
    mod in_flight;
    mod lifetimes;
    mod model;
    mod operators;
    mod resets;
    mod rules;
    mod space;
    mod support;
    mod touches;
}

/// The change feed, and the logs that are kept for it.
mod feed {
    mod append_only;
    mod archives;
    mod copies;
    mod crashes;
    mod losses;
    mod reading;
    mod support;
    mod taken_back;
    mod verification;
    mod waiting;
}

/// The flight recorder.
mod recorder {
    mod rings;
}

/// Files that other versions, other directories and other processes read.
mod files {
    mod backup;
    mod checkpoint;
    mod clean_close;
    mod dump;
    mod foreign;
    mod format;
    mod looks;
    mod open_costs;
    mod small_store;
    mod verify;
}

/// Chains of operands, and the values that they fold to.
mod folding {
    mod bounded_chains;
    mod encoders;
    mod explain;
    mod hazards;
    mod summaries;
    mod traps;
}

/// Sorted loads.
mod load {
    mod beside;
    mod crashes;
    mod helped;
    mod once;
    mod order;
    mod repair;
}

/// Many keyspaces, databases, snapshots and operands.
mod many {
    mod keyspaces;
    mod keyspaces_dropped;
    mod keyspaces_together;
    mod runtime;
    mod scale;
    mod schemas;
}

/// Reads, and databases that are only read.
mod reading {
    mod both_ends;
    mod custom_cache;
    mod figures;
    mod range_deletes;
    mod ranges;
    mod read_only;
    mod reads;
}

/// Databases that are damaged, and what a repair keeps.
mod repair {
    mod logs;
    mod losses;
    mod manifests;
    mod options;
    mod salvage;
    mod segments;
    mod stops;
    mod witnesses;
}

/// Values outside the tree.
mod segments {
    mod adopted_collections;
    mod adopted_damage;
    mod adoption;
    mod budget;
    mod collection;
    mod failures;
    mod separation;
}

/// Transactions, and writes under a condition.
mod transactions {
    mod bank;
    mod changed;
    mod conditional;
    mod conflicts;
    mod crashes;
    #[cfg(debug_assertions)]
    mod few_notes;
    mod model;
    mod own_writes;
    mod queue;
    mod turns;
}

/// Operators, comparators, filter policies and listeners of the caller's own.
mod user_code {
    mod callbacks;
    mod comparators;
    mod filter_policies;
    mod operators;
    mod reentrant;
    mod rule_breakers;
    mod spellings;
}

/// Writes, alone and concurrent.
mod writing {
    mod concurrency;
    mod counts;
    mod destroy;
    mod durability;
    mod failed_writes;
    mod full_disk;
    mod full_disk_opens;
    mod full_disk_writes;
    mod limits;
    mod missing_and_damaged;
    mod stalls;
    mod write_path;
}
