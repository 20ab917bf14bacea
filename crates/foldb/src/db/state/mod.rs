//! What a database keeps in memory: each part owns the fields that one lock guards.
//!
//! Nothing here knows the database as a whole: a part is changed by its own methods, and by the
//! rooms above that hold its lock.

pub(crate) mod background;
pub(crate) mod buffers;
pub(crate) mod gc_turn;
pub(crate) mod keyspace;
pub(crate) mod read_credit;
pub(crate) mod read_folds;
pub(crate) mod recent_scans;
pub(crate) mod snapshots;
pub(crate) mod tree;
pub(crate) mod view;
pub(crate) mod writer;
