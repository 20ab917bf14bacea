//! Tests of the queue as a program sees it.

mod attempts;
mod clocks;
mod cost;
mod examples;
mod model;
mod opens;
mod support;
mod tokens;
mod transactions;
mod workers;
