#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| foldb_leveldb_format::decoders::decode("leveldb_edit", bytes));
