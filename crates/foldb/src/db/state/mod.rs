//! The in-memory state of a database: each type owns the data that one lock guards.
//!
//! No type here knows the whole database. A type is changed by its own methods, and by modules
//! above that hold its lock.

pub(crate) mod announced;
pub(crate) mod background;
pub(crate) mod buffers;
pub(crate) mod chain;
pub(crate) mod clock_jumps;
pub(crate) mod damage;
pub(crate) mod disjoint_ranges;
pub(crate) mod fronts;
pub(crate) mod gc_backoff;
pub(crate) mod keyspace;
pub(crate) mod keyspaces;
pub(crate) mod last_close;
pub(crate) mod logs;
pub(crate) mod lost_time;
pub(crate) mod news;
pub(crate) mod ownership;
pub(crate) mod pace;
pub(crate) mod patience;
pub(crate) mod paused_jobs;
pub(crate) mod position;
pub(crate) mod recent_scans;
pub(crate) mod recent_writes;
pub(crate) mod requests;
pub(crate) mod reserve;
pub(crate) mod rest;
pub(crate) mod scrub;
pub(crate) mod snapshots;
pub(crate) mod standing;
pub(crate) mod time;
pub(crate) mod transactions;
pub(crate) mod tree;
pub(crate) mod view;
pub(crate) mod work_locks;
pub(crate) mod writer;
pub(crate) mod writer_lock;
