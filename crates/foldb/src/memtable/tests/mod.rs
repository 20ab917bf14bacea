//! Tests of the memtable.

mod usual;
