//! Objects that a program makes beside a database, and gives to its options.
//!
//! Each handle shares its object with the options and databases that use it. So a program may free
//! its handle at any time, and the last user frees the object.

pub mod cache;
pub mod compaction_filter;
pub mod comparator;
pub mod environment;
pub mod filter_policy;
pub mod histogram;
pub mod limits;
pub mod listener;
pub mod listener_info;
pub mod logger;
pub mod merge_operator;
pub mod slice_transform;
pub mod statistics;
