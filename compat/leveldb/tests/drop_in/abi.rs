//! The binary interface: our headers and our library declare and export what Debian's do.
//!
//! A program that was compiled with the original headers finds every member at its offset, every
//! virtual function at its place in the table, and every name in the library.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::debug_info::declarations;
use crate::library::{both, compiler, original, own_directory};

fn all_headers() -> PathBuf {
    own_directory().join("tests/abi/all.cc")
}

#[test]
fn headers_declare_the_same_types() {
    let Some(compiler) = compiler() else { return };
    let Some(original) = original(&compiler) else { return };
    let expected = declarations(&compiler, &original.include, &all_headers());
    let found = declarations(&compiler, &own_directory().join("include"), &all_headers());
    // The list is not empty, and has entries of each kind.
    for line in [
        "class_type DB: void byte_size=8",
        "member Status::state_: const char* data_member_location=0",
        "member Options::filter_policy: const FilterPolicy* data_member_location=88",
        "enumerator CompressionType::kSnappyCompression: void const_value=1",
        "member Iterator::cleanup_head_: CleanupNode data_member_location=8",
    ] {
        assert!(expected.iter().any(|own| own.starts_with(line)), "{line}: {expected:#?}");
    }
    assert!(expected.iter().filter(|line| line.contains(" vtable_elem_location=")).count() > 70);
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!(expected, found);
    }
    assert_eq!(expected.len(), found.len());
}

/// Returns the declarations of our headers with one change of a text.
fn changed(compiler: &str, header: &str, from: &str, to: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let include = own_directory().join("include");
    for below in ["leveldb", "leveldb/helpers"] {
        std::fs::create_dir(dir.path().join(below)).unwrap();
        for entry in std::fs::read_dir(include.join(below)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let to = dir.path().join(path.strip_prefix(&include).unwrap());
                std::fs::copy(path, to).unwrap();
            }
        }
    }
    let path = dir.path().join("leveldb").join(header);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{from} in {header}");
    std::fs::write(&path, text.replace(from, to)).unwrap();
    declarations(compiler, dir.path(), &all_headers())
}

/// What the test above must notice: a program would call another function, or read another member.
#[test]
fn a_change_of_the_interface_is_seen() {
    let Some(compiler) = compiler() else { return };
    let include = own_directory().join("include");
    let present = declarations(&compiler, &include, &all_headers());
    for (header, from, to) in [
        ("env.h", "virtual Status Flush() = 0;", "virtual Status Swapped() = 0;"),
        ("cache.h", "virtual void Prune() {}", "void Prune() {}"),
        ("iterator.h", "virtual void Next() = 0;", ""),
        ("options.h", "bool create_if_missing = false;", "int create_if_missing = false;"),
        ("options.h", "size_t block_size = 4 * 1024;", "uint32_t block_size = 4 * 1024;"),
        ("status.h", "kNotSupported = 3,", "kNotSupported = 6,"),
        ("cache.h", "  Rep* rep_;", ""),
        ("write_batch.h", "void Delete(const Slice& key);", "void Delete(Slice key);"),
        ("comparator.h", "virtual const char* Name()", "virtual char* Name()"),
    ] {
        assert_ne!(present, changed(&compiler, header, from, to), "{header}: {from}");
    }
}

#[test]
fn swapped_virtual_functions_are_seen() {
    let Some(compiler) = compiler() else { return };
    let include = own_directory().join("include");
    let text = std::fs::read_to_string(include.join("leveldb/env.h")).unwrap();
    // From `Close` up to the end of `Flush`: `Flush` comes first now.
    let begin = text.find("  virtual Status Close() = 0;").unwrap();
    let end = begin + text[begin..].find("Flush() = 0;").unwrap() + "Flush() = 0;".len();
    let both = &text[begin..end];
    let swapped = "  virtual Status Flush() = 0;\n  virtual Status Close() = 0;";
    let present = declarations(&compiler, &include, &all_headers());
    let mut found = changed(&compiler, "env.h", both, swapped);
    let place = |lines: &[String], name: &str| {
        let mut own = lines.iter().filter(|line| line.contains(&format!("WritableFile::{name}:")));
        own.find_map(|line| line.split_once("vtable_elem_location=")).unwrap().1.to_owned()
    };
    assert_eq!(place(&present, "Flush"), place(&found, "Close"));
    assert_eq!(place(&present, "Close"), place(&found, "Flush"));
    found.sort_unstable();
    let mut present = present;
    present.sort_unstable();
    assert_ne!(present, found);
}

/// The dynamic symbols that a library defines, with their sizes.
fn exported(library: &Path) -> BTreeMap<String, u64> {
    let mut command = Command::new("nm");
    let output = command.args(["-D", "--defined-only", "-S"]).arg(library).output().expect("nm");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let symbol = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [_, size, _, name] = words[..] else { panic!("{line}") };
        (name.to_owned(), u64::from_str_radix(size, 16).expect("a size"))
    };
    text.lines().filter(|line| line.split_whitespace().count() == 4).map(symbol).collect()
}

/// Whether a public header declares the name. The original also exports classes that are local to
/// its functions, and templates of the standard library.
fn is_declared(name: &str) -> bool {
    let begins = ["leveldb_", "_ZN7leveldb", "_ZNK7leveldb", "_ZTVN7leveldb"];
    let begins_of_types = ["_ZTIN7leveldb", "_ZTSN7leveldb"];
    begins.iter().chain(&begins_of_types).any(|begin| name.starts_with(begin))
}

#[test]
fn the_library_exports_every_name() {
    let Some((_, original, ours)) = both() else { return };
    let mut expected = exported(&original.lib.join("libleveldb.so.1d"));
    expected.retain(|name, _| is_declared(name));
    assert!(expected.len() > 200, "{expected:#?}");
    let found = exported(&ours.lib.join("libleveldb.so.1d"));
    let missing: Vec<_> = expected.keys().filter(|name| !found.contains_key(*name)).collect();
    assert!(missing.is_empty(), "the library lacks {missing:#?}");
    // A program at fixed addresses copies tables and typeinfo into itself, with their sizes.
    for (name, size) in expected.iter().filter(|(name, _)| name.starts_with("_ZT")) {
        assert_eq!(found[name], *size, "{name}");
    }
}

/// Nothing else is exported, apart from the engine's C interface: a name of ours could take the
/// place of a name of the program.
#[test]
fn the_library_keeps_other_names_to_itself() {
    let Some((_, _, ours)) = both() else { return };
    let found = exported(&ours.lib.join("libleveldb.so.1d"));
    let is_ours = |name: &str| is_declared(name) || name.starts_with("foldb_");
    let others: Vec<_> = found.keys().filter(|name| !is_ours(name)).collect();
    assert!(others.is_empty(), "{others:#?}");
    assert!(found.contains_key("foldb_open"));
}

/// The tokens of a C header after the preprocessor, without comments.
fn c_tokens(compiler: &str, include: &Path) -> Vec<String> {
    let mut command = Command::new(compiler);
    command.args(["-x", "c", "-std=c11", "-E", "-P", "-I"]).arg(include);
    let output = command.arg(include.join("leveldb/c.h")).output().expect("the compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let text = text.split_once("typedef struct leveldb_t ").expect("the first type").1;
    let declarations = text.split(';').map(|part| {
        let apart = |c: char| {
            if c.is_ascii_punctuation() && c != '_' { format!(" {c} ") } else { c.into() }
        };
        let part: String = part.chars().map(apart).collect();
        part.split_whitespace().collect::<Vec<_>>().join(" ")
    });
    declarations.collect()
}

/// Our header of C declares the same in the same order; it may declare more.
#[test]
fn the_c_header_declares_the_same_functions() {
    let Some((compiler, original, ours)) = both() else { return };
    let expected = c_tokens(&compiler, &original.include);
    assert!(expected.len() > 80, "{expected:#?}");
    let found = c_tokens(&compiler, &ours.include);
    let mut found = found.iter();
    for declaration in &expected {
        assert!(found.any(|own| own == declaration), "missing or out of order: {declaration}");
    }
}
