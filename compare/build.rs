//! Compiles the shim that gives RocksDB its own merge operators, and notes the versions of the
//! engines.

use std::fs;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=Cargo.lock");
    let lock = fs::read_to_string("Cargo.lock").unwrap_or_default();
    for package in ["foldb", "fjall", "librocksdb-sys", "redb", "lmdb-master-sys"] {
        let variable = package.replace('-', "_").to_uppercase();
        let version = locked_version(&lock, package);
        println!("cargo::rustc-env=VERSION_{variable}={version}");
    }
    #[cfg(feature = "rocksdb")]
    compile_shim();
}

/// The version of `package` in a `Cargo.lock`; what stands behind its `+`, if anything does, for
/// that is the version of the C++ within.
fn locked_version<'a>(lock: &'a str, package: &str) -> &'a str {
    let name = format!("name = \"{package}\"");
    let version = lock
        .lines()
        .skip_while(|line| *line != name)
        .find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
        .unwrap_or("unknown");
    version.rsplit('+').next().unwrap_or(version)
}

#[cfg(feature = "rocksdb")]
fn compile_shim() {
    println!("cargo::rerun-if-changed=shim/operators.cc");
    let sources = std::env::var("DEP_ROCKSDB_CARGO_MANIFEST_DIR")
        .expect("librocksdb-sys tells where its sources are");
    cc::Build::new()
        .cpp(true)
        .std("c++20")
        .define("NDEBUG", "1")
        .include(format!("{sources}/rocksdb/include"))
        .file("shim/operators.cc")
        .compile("foldb_compare_operators");
}
