//! The command line, read the way gflags reads it.
//!
//! [`honoured`] declares every flag that does something, [`accepted`] lists the names RocksDB's or
//! LevelDB's db_bench know or knew and that do nothing here, [`mod@parse`] knows the forms in which
//! flags may be written. Invariant: a name is in exactly one of the two tables.

mod accepted;
mod honoured;
mod parse;
#[cfg(test)]
mod tests;
mod value;

pub use honoured::{Flags, HONOURED};
pub use parse::{Request, parse};

/// Says in one line which given flags do nothing here.
pub fn note_without_effect(names: &[String]) {
    if !names.is_empty() {
        eprintln!("db_bench: accepted without effect:{}", without_effect_list(names));
    }
}

/// ` --a --b`, each name once, in the order given.
fn without_effect_list(names: &[String]) -> String {
    let mut list = String::new();
    for (i, name) in names.iter().enumerate() {
        if !names[..i].contains(name) {
            list.push_str(" --");
            list.push_str(name);
        }
    }
    list
}
