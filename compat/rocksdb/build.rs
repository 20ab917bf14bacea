//! Gives the shared library its soname, and writes one line of Rust for each function of
//! `functions.txt`. The crate's tests include these lines: the compiler then refuses a function
//! that is missing, or that has other types than the header says.

#[path = "facts/list.rs"]
mod list;
#[path = "facts/rust_types.rs"]
mod rust_types;

use std::path::Path;

use list::{Function, groups};
use rust_types::Types;

/// The name under which the system's loader finds the library.
const SONAME: &str = "librocksdb.so.10";

const FUNCTIONS: &str = include_str!("functions.txt");
const TYPES: &str = include_str!("types.txt");

fn main() -> Result<(), String> {
    for input in ["build.rs", "facts", "functions.txt", "types.txt"] {
        println!("cargo:rerun-if-changed={input}");
    }
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
    }
    let directory = std::env::var("OUT_DIR").map_err(|error| format!("OUT_DIR: {error}"))?;
    let path = Path::new(&directory).join("signatures.rs");
    let signatures = signatures(&types()?)?;
    std::fs::write(&path, signatures).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the types of `types.txt`.
fn types() -> Result<Types, String> {
    let mut types = Types::of_c();
    for line in groups(TYPES)?.iter().flat_map(|group| &group.lines) {
        if line.contains("(*") {
            types.add_callback(line)?;
        } else {
            types.add_object(line);
        }
    }
    Ok(types)
}

/// Returns a constant of the right type for each function. It must be equal to the function.
fn signatures(types: &Types) -> Result<String, String> {
    let mut lines = String::new();
    for line in groups(FUNCTIONS)?.iter().flat_map(|group| &group.lines) {
        let (name, pointer) = types.function(Function::read(line)?.declaration)?;
        lines += &format!("const _: {pointer} = {name};\n");
    }
    Ok(lines)
}
