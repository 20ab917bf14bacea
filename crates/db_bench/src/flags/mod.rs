//! The command line, in the form of gflags.
//!
//! [`honoured`] declares flags with an effect, and [`mod@options`] takes the engine's options as
//! flags. [`accepted`] lists flags of RocksDB's or LevelDB's db_bench, old or new, that have no
//! effect here. [`mod@parse`] parses the forms of flags. Invariant: a name is in at most one of the
//! tables.

mod accepted;
mod honoured;
mod options;
mod parse;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use honoured::{Flags, HONOURED};
pub(crate) use options::names as option_names;
pub(crate) use parse::{Request, parse};

/// Prints one line that names the given flags without effect.
pub(crate) fn note_without_effect(names: &[String]) {
    if !names.is_empty() {
        eprintln!("db_bench: accepted without effect:{}", without_effect_list(names));
    }
}

/// Returns a text such as ` --a --b`, with each name once, in the given order.
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
