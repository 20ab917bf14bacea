//! Tests of the bytes of a dump.

mod damage;
mod worked_example;
