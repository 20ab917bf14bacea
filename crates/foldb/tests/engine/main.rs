//! Black-box tests of the database, by subject.
//!
//! They are one program, so that a change of the library links one and not forty.
//! `cargo test -p foldb --test engine stalls::` runs one module. A test that counts what its whole
//! process does, changes it for all threads, or starts its own executable again is a file of its
//! own beside this directory and says why.

mod api;
mod examples;
#[path = "../support/mod.rs"]
mod support;

/// What happens when no call asks for it.
mod background {
    mod flush_of_many;
    mod replaced_files;
    mod rest;
}

/// Disks that fail, hang or lose power, and bugs that tests must find.
mod disks {
    mod crash_points;
    mod hanging_disks;
    mod planted_faults;
    mod slow_disks;
}

/// Files that other versions, other directories and other processes read.
mod files {
    mod checkpoint;
    mod clean_close;
    mod format;
    mod verify;
}

/// Chains of operands, and the values that they fold to.
mod folding {
    mod bounded_chains;
    mod explain;
    mod hazards;
    mod traps;
}

/// Many keyspaces, databases, snapshots and operands.
mod many {
    mod keyspaces;
    mod runtime;
    mod scale;
}

/// Reads, and databases that are only read.
mod reading {
    mod range_deletes;
    mod read_only;
    mod reads;
}

/// Databases that are damaged, and what a repair keeps.
mod repair {
    mod losses;
    mod options;
    mod salvage;
    mod segments;
}

/// Values outside the tree.
mod segments {
    mod adoption;
    mod budget;
    mod collection;
    mod failures;
    mod separation;
}

/// Operators, comparators and listeners of the caller's own.
mod user_code {
    mod callbacks;
    mod comparators;
    mod operators;
    mod rule_breakers;
}

/// Writes, alone and beside each other.
mod writing {
    mod concurrency;
    mod durability;
    mod failed_writes;
    mod limits;
    mod stalls;
    mod write_path;
}
