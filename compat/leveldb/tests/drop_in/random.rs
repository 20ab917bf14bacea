//! The same random operations on both libraries.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::library::both;
use crate::program::{Link, RANDOM, assert_same, printed};

/// Seeds of the short form. Nine seeds in a row have each comparator with each Env.
const SEEDS: u64 = 18;

/// `DROP_IN_SEEDS` is how many seeds run, `DROP_IN_FIRST_SEED` the first of them.
#[test]
fn random_operations_answer_the_same() {
    let Some((compiler, original, ours)) = both() else { return };
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let seeds = number("DROP_IN_SEEDS").unwrap_or(SEEDS);
    let first = number("DROP_IN_FIRST_SEED").unwrap_or(0);
    let dir = tempfile::tempdir().unwrap();
    let program = RANDOM.build(&compiler, &original, Link::Shared, &["-O1"], dir.path());
    let next = AtomicU64::new(first);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds {
                        return;
                    }
                    let dir = tempfile::tempdir().unwrap();
                    let arguments = [seed.to_string(), "600".to_owned()];
                    let arguments = [arguments[0].as_str(), &arguments[1]];
                    let expected = printed(&program, &original, dir.path(), &arguments);
                    let mut found = printed(&program, ours, dir.path(), &arguments);
                    found.what = format!("seed {seed}: {}", found.what);
                    assert_same(&expected, &found);
                }
            });
        }
    });
}
