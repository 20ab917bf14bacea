//! Typed tables over [`foldb`]: keys whose encoding keeps their order, values by serde,
//! secondary indexes in the same commit, and typed merges.
//!
//! A [`Table`] is a keyspace that stores how its keys and values are encoded. An open with other
//! types fails, and the shell shows typed keys. An [`IndexedTable`] also finds its entries by other
//! keys, and a [`MergeTable`] changes values without reading them. Their calls also work inside a
//! transaction over several tables ([`Table::within`]).
//!
//! ```
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("db");
//! use foldb_typed::{Counter, MergeTable, Table, foldb::Db};
//!
//! let db = Db::create(&path)?;
//! let people = Table::<(String, u32), String>::open(&db, "people")?;
//! people.put(("berlin", 1), "ada")?;
//! assert_eq!(people.range(("berlin", ..))?.count(), 1);
//!
//! let visits = MergeTable::<String, Counter>::open(&db, "visits")?;
//! visits.add("index.html", 1)?;
//! visits.add("index.html", 41)?;
//! assert_eq!(visits.get("index.html")?, Some(42));
//! # Ok::<(), foldb_typed::Error>(())
//! ```
//!
//! This crate stands on the engine and exports it as [`foldb`], because a re-export by the engine
//! would be a cycle. The untyped calls stay: [`Table::keyspace`] has them. `docs/typed.md` has the
//! table of encodings and the rules for a change of types.

#![forbid(unsafe_code)]

// The derived code names this crate, also in its own tests.
extern crate self as foldb_typed;

mod access;
mod batch;
mod borrowed;
mod index;
mod key;
mod merge;
mod range;
pub mod schema;
mod show;
mod table;
mod value;

pub use access::{BlindWrites, CallOptions, Writes, Written};
pub use batch::{Batch, Batched};
pub use borrowed::AsKey;
pub use foldb;
pub use foldb::{Error, ErrorKind, Result};
pub use foldb_typed_derive::Key;
pub use index::{AnyIndex, By, Found, Index, IndexKeys, IndexedTable, IndexedWithin};
#[doc(hidden)]
pub use key::derived;
pub use key::{Key, decode, encode};
#[cfg(feature = "json")]
pub use merge::Json;
pub use merge::{
    Counter, Histogram, LastN, Max, MergeTable, Merged, MergedEntries, Min, Quantiles, Set,
    SetChange, Sketch, Stats, Sum, TopK,
};
pub use range::{AsPrefix, AsRange, Bounds, EncodedRange};
pub use table::{Entries, Table, TableUpdate};
pub use value::{AsValue, Encodes, Format, Postcard, Raw};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Runs the examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/typed.md")]
struct Guide;

/// Runs the examples of the cookbook.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/cookbook.md")]
struct Cookbook;
