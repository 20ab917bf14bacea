//! The header is what the code says.

use std::path::Path;

/// `FOLDB_BLESS=1 cargo test -p foldb-capi --test header` writes the header anew.
#[test]
fn the_header_is_generated_from_the_code() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(own.join("cbindgen.toml")).unwrap();
    let mut generated = Vec::new();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for room in [
        "error",
        "bytes",
        "options",
        "operator",
        "comparator",
        "filter_policy",
        "env/mod",
        "block_cache",
        "listener",
        "runtime",
        "database",
        "keyspace",
        "writes",
        "reads",
        "batch",
        "iterator",
        "load",
        "transaction",
        "transact",
        "conditional",
        "feed",
        "upkeep",
        "copies",
        "shape",
    ] {
        builder = builder.with_src(own.join("src").join(room).with_extension("rs"));
    }
    builder.generate().unwrap().write(&mut generated);
    let generated = String::from_utf8(generated).unwrap();
    let header = own.join("include/foldb.h");
    if std::env::var_os("FOLDB_BLESS").is_some() {
        std::fs::write(&header, &generated).unwrap();
    }
    let stored = std::fs::read_to_string(&header).unwrap();
    assert!(
        generated == stored,
        "include/foldb.h is not what the code says; write it anew with \
         `FOLDB_BLESS=1 cargo test -p foldb-capi --test header`"
    );
}
