#![no_main]

use foldb_leveldb_format::decoders::decode;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| decode("leveldb_filter", bytes));
