//! The native half of `foldb.streams.engine`: the Java binding behind the Kafka Streams store.
//!
//! Each native method of the Java class `Native` is one function in [`natives`]. It makes one call
//! of a [`store::Store`] or a [`cursor::Cursor`], which know no Java. All `unsafe` code is in
//! [`java`], the leaf that reads and makes Java arrays and throws exceptions.
//!
//! Reading order: `packed`, `shared`, `operators`, `store`, `cursor`, `java`, `natives`.

#![deny(unsafe_op_in_unsafe_fn)]

pub mod cursor;
pub mod java;
pub mod natives;
pub mod operators;
pub mod packed;
pub mod shared;
pub mod store;
