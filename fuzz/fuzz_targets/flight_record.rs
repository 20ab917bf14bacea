#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| foldb_fuzz::decode("flight_record", bytes));
