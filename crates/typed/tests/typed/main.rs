//! Tests of typed tables, by subject.

mod codecs;
mod derived;
mod examples;
mod indexes;
mod merges;
mod schemas;
mod shown;
mod support;
mod tables;
