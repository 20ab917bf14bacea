//! The system and the small types under a database: `Env`, cache, filter, batch, status and slice.

use crate::everything::prints_the_same;
use crate::library::{compiler, ours, own_directory};
use crate::program::{Link, PORT, PORT_INTERNAL, printed};

#[test]
fn the_system_and_small_types_print_the_same() {
    prints_the_same(PORT);
}

/// Checks internal functions, and the cases in which the original answers wrong or crashes.
#[test]
fn internal_functions_answer_as_they_should() {
    let Some(compiler) = compiler() else { return };
    let dir = tempfile::tempdir().unwrap();
    let sources = format!("-I{}", own_directory().join("cpp").display());
    let program = PORT_INTERNAL.build(&compiler, ours(), Link::Static, &[&sources], dir.path());
    let printed = printed(&program, ours(), dir.path(), &[]);
    assert_eq!(printed.text, "all as it should be\n");
}
