#![no_main]

use foldb_rocksdb_format::decoders::decode;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| decode("rocksdb_table", bytes));
