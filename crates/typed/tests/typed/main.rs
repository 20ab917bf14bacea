//! Tests of typed tables, by subject.

mod batches;
mod codecs;
mod derived;
mod examples;
mod expiry;
mod indexes;
mod lifetimes;
mod merges;
mod schemas;
mod shown;
mod support;
mod tables;
