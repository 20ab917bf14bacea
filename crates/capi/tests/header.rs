//! The header is what the code says.

use std::path::Path;

/// `FOLDB_BLESS=1 cargo test -p foldb-capi --test header` writes the header anew.
#[test]
fn the_header_is_generated_from_the_code() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = cbindgen::Config::from_file(own.join("cbindgen.toml")).unwrap();
    config.after_includes = Some(macros());
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
        "transaction_inside",
        "transact",
        "conditional",
        "feed",
        "queue",
        "upkeep",
        "copies",
        "shape",
    ] {
        builder = builder.with_src(own.join("src").join(room).with_extension("rs"));
    }
    builder.generate().unwrap().write(&mut generated);
    let generated = with_attributes(&String::from_utf8(generated).unwrap());
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

/// Returns the version of the header, and the attributes of its functions.
fn macros() -> String {
    let parts = [
        ("MAJOR", env!("CARGO_PKG_VERSION_MAJOR")),
        ("MINOR", env!("CARGO_PKG_VERSION_MINOR")),
        ("PATCH", env!("CARGO_PKG_VERSION_PATCH")),
    ];
    let parts = parts.map(|(part, number)| format!("#define FOLDB_VERSION_{part} {number}\n"));
    format!("\n// The version of this header.\n{}{MACROS}", parts.concat())
}

const MACROS: &str = r#"// The same as one number, to be compared with foldb_version_number().
#define FOLDB_VERSION_NUMBER \
  (FOLDB_VERSION_MAJOR * 1000000 + FOLDB_VERSION_MINOR * 1000 + FOLDB_VERSION_PATCH)

// Marks the functions of the library. A program may define it first, for example as
// __declspec(dllimport).
#ifndef FOLDB_API
#if defined(__GNUC__)
#define FOLDB_API __attribute__((visibility("default")))
#else
#define FOLDB_API
#endif
#endif

// The compiler warns if a program ignores an error. To ignore one on purpose, free it:
// foldb_error_free(foldb_delete(...)).
#ifndef FOLDB_CHECK_ERROR
#if defined(__GNUC__)
#define FOLDB_CHECK_ERROR __attribute__((warn_unused_result))
#else
#define FOLDB_CHECK_ERROR
#endif
#endif
"#;

/// Writes the attributes before each function: cbindgen knows none of them.
fn with_attributes(header: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in header.lines() {
        let begins = line.starts_with(|first: char| first.is_ascii_lowercase());
        let is_function = begins && !line.starts_with("typedef") && line.contains('(');
        if is_function
            && line.starts_with("foldb_error_t *")
            && !line.contains("foldb_error_aborted")
        {
            lines.push("FOLDB_API FOLDB_CHECK_ERROR".to_owned());
        } else if is_function {
            lines.push("FOLDB_API".to_owned());
        }
        lines.push(line.to_owned());
    }
    lines.join("\n") + "\n"
}
