//! The programs under AddressSanitizer and UndefinedBehaviorSanitizer.

use crate::library::{compiler, sanitized};
use crate::program::{EVERYTHING, EVERYTHING_IN_C, Link, PORT, RANDOM, printed};
use crate::tables::{TABLES, run_all};

const FLAGS: [&str; 3] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g"];

/// The sanitizers see the programs, the C++ half of the library, and the heap of its Rust half.
#[test]
#[ignore = "takes minutes; ci/asan.sh runs it"]
fn the_sanitizers_find_nothing() {
    let Some(compiler) = compiler() else { return };
    let library = sanitized();
    let dir = tempfile::tempdir().unwrap();
    for program in [EVERYTHING_IN_C, EVERYTHING, PORT, RANDOM] {
        let built = program.build(&compiler, &library, Link::Static, &FLAGS, dir.path());
        if program.name != RANDOM.name {
            printed(&built, &library, dir.path(), &[]);
            continue;
        }
        for seed in 0..9 {
            printed(&built, &library, dir.path(), &[&seed.to_string(), "300"]);
        }
    }
    let built = TABLES.build(&compiler, &library, Link::Static, &FLAGS, dir.path());
    run_all(&built, &library, dir.path());
}
