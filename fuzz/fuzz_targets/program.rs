//! Runs programs of operations, stops and reopens on the engine and on its model.
#![no_main]

#[path = "../../crates/foldb/tests/support/mod.rs"]
mod support;

use support::model::{decode, run};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    run::play(&decode::program(bytes));
});
