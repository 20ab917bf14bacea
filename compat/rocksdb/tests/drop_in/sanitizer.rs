//! The programs in C under AddressSanitizer and UndefinedBehaviorSanitizer.

use crate::library::{compiler, ours};
use crate::program::{build, directory, printed};

const FLAGS: [&str; 3] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g"];

/// The sanitizers see the programs, the heap of the library, and what neither frees.
#[test]
#[ignore = "takes minutes; ci/asan.sh runs it"]
fn the_sanitizers_find_nothing() {
    let Some(compiler) = compiler() else { return };
    for entry in std::fs::read_dir(directory()).unwrap() {
        let source = entry.unwrap().path();
        if source.extension().is_none_or(|own| own != "c") {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let program = build(&compiler, &source, ours(), &FLAGS, dir.path());
        printed(&program, ours(), dir.path());
    }
}
