//! `cargo xtask check`: the daily loop, and what a change can have broken beyond it.
//!
//! The loop takes a few minutes from a warm build: one program for each kind of check, and one call
//! of cargo for all tests, so that nothing is compiled twice. `--touched BASE` adds the checks of
//! [`TOUCHED`] for the files that differ from BASE.

use std::process::Command;

use crate::arguments::{Check, Passed};
use crate::commands::{
    append_only_short, fmt, lint, loom, parquet, report, small_disks, test, zstd,
};
use crate::gate;
use crate::step::{Step, root};

/// Runs the loop, and the checks that `--touched` adds.
///
/// # Errors
/// The first step that fails, or why git cannot list the files that differ.
pub(crate) fn run(own: &Check) -> Result<(), String> {
    let mut steps = daily();
    if let Some(base) = &own.touched {
        steps.extend(added(&differing(base)?));
    }
    gate::run_steps(Vec::new(), steps)
}

/// A step of a list. A step that this machine cannot run says so at its turn.
pub(crate) type Make = fn() -> Option<Step>;

/// The daily loop.
fn daily() -> Vec<Make> {
    vec![
        || Some(fmt()),
        || Some(Step::new("cargo xtask tidy")),
        || Some(lint()),
        || Some(quick_tests()),
        || {
            Some(Step::new(
                "cargo test -p foldb -p foldb-typed -p foldb-queue -p foldb-tokio -p foldb-env \
                 -p foldb-chains --doc",
            ))
        },
    ]
}

/// Unit tests, the engine's tests, the layers, and 40 simulated machines, with one build. Without
/// `--workspace`, so only of the packages in `crates/` and of this one.
fn quick_tests() -> Step {
    let of = "--lib --bins --test engine --test layers --test seeds";
    test(Passed { arguments: of.split(' ').map(Into::into).collect() })
}

/// The beginnings of paths, and the checks of a change below one of them.
const TOUCHED: &[(&[&str], &[Make])] = &[
    (&["crates/chains/"], &[|| Some(loom())]),
    (
        &["crates/env/", "crates/foldb/src/files/", "crates/foldb/src/wal/"],
        &[|| Some(append_only_short()), || Some(small_disks())],
    ),
    (
        &["crates/foldb/src/db/lifecycle/", "crates/foldb/src/version/"],
        &[|| Some(append_only_short())],
    ),
    (&["crates/foldb/src/table/", "crates/foldb/src/settings/"], &[zstd]),
    (&["crates/foldb/", "crates/env/", "crates/chains/", "Cargo.lock"], &[|| Some(estate())]),
    (&["crates/capi/"], &[|| Some(tests_of("foldb-capi")), || Some(tests_of("foldb-leveldb"))]),
    (&["compat/leveldb/"], &[|| Some(tests_of("foldb-leveldb"))]),
    (&["compat/rocksdb/", "docs/rocksdb.md"], &[|| Some(tests_of("foldb-rocksdb"))]),
    (&["streams/", "streams/jni/"], &[|| Some(Step::new("cargo xtask streams test"))]),
    (&["crates/queue/"], &[|| Some(tests_of("foldb-queue"))]),
    (&["crates/tokio/", "docs/async.md"], &[|| Some(tests_of("foldb-tokio"))]),
    (&["crates/report/"], &[|| Some(report())]),
    (
        &["crates/leveldb_format/"],
        &[|| Some(tests_of("foldb-cli")), || Some(tests_of("foldb-leveldb"))],
    ),
    (
        &["crates/rocksdb_format/"],
        &[|| Some(tests_of("foldb-cli")), || Some(tests_of("foldb-rocksdb"))],
    ),
    (
        &["crates/typed/", "crates/typed_derive/"],
        &[|| Some(tests_of("foldb-typed")), || Some(tests_of("foldb-cli"))],
    ),
    (&["crates/cli/", "docs/shell.md", "docs/cookbook.md"], &[|| Some(tests_of("foldb-cli"))]),
    (&["crates/cli/Cargo.toml", "crates/cli/src/rows/"], &[|| Some(parquet())]),
    (&["crates/db_bench/", "docs/db_bench.md"], &[|| Some(tests_of("db_bench"))]),
    (&["merge_bench/", "docs/merge_bench.md"], &[|| Some(tests_of("merge_bench"))]),
    (&["crates/stress/"], &[|| Some(tests_of("foldb-stress"))]),
    (
        &["compare/"],
        &[|| {
            Some(Step::new("cargo test --manifest-path compare/Cargo.toml --no-default-features"))
        }],
    ),
];

/// The tests of everything that stands on the engine, with the engine's own longer ones.
fn estate() -> Step {
    test(Passed { arguments: ["--workspace", "--tests"].map(Into::into).into() })
}

fn tests_of(package: &str) -> Step {
    test(Passed { arguments: ["-p", package, "--tests"].map(Into::into).into() })
}

/// The checks for these files, each once, in the order of the table.
fn added(files: &[String]) -> Vec<Make> {
    let mut steps: Vec<Make> = Vec::new();
    let mut shown = Vec::new();
    for (above, checks) in TOUCHED {
        let is_touched = |file: &String| above.iter().any(|above| file.starts_with(above));
        if !files.iter().any(is_touched) {
            continue;
        }
        for make in *checks {
            let name = make().map(|step| step.to_string());
            if name.is_none() || !shown.contains(&name) {
                shown.push(name);
                steps.push(*make);
            }
        }
    }
    steps
}

/// The files that differ from a commit, with those that git does not know yet.
fn differing(base: &str) -> Result<Vec<String>, String> {
    let mut files = listed(&["diff", "--name-only", base, "--"])?;
    files.extend(listed(&["ls-files", "--others", "--exclude-standard"])?);
    Ok(files)
}

fn listed(arguments: &[&str]) -> Result<Vec<String>, String> {
    let output = Command::new("git").args(arguments).current_dir(root()).output();
    let output = output.map_err(|error| format!("git cannot be started: {error}"))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(format!("'git {}' failed: {}", arguments.join(" "), told.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added_for(files: &[&str]) -> Vec<String> {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        added(&files).into_iter().filter_map(|make| make()).map(|step| step.to_string()).collect()
    }

    #[test]
    fn a_change_adds_the_checks_of_its_paths_once() {
        assert!(added_for(&["README.md", "xtask/src/main.rs"]).is_empty());
        let steps = added_for(&["crates/chains/src/lib.rs", "crates/env/src/fs.rs"]);
        assert_eq!(steps[0], "ci/loom.sh");
        assert!(steps[1].starts_with("FOLDB_TEST_FS=append-only"), "{steps:?}");
        assert_eq!(steps[2], "ci/small_disks.sh");
        assert!(steps[3].ends_with("cargo test --workspace --tests"), "{steps:?}");
        assert_eq!(steps.len(), 4);
        let steps = added_for(&["crates/capi/src/lib.rs", "compat/leveldb/cpp/db/a.cc"]);
        assert_eq!(steps.len(), 2, "the tests of libleveldb run once: {steps:?}");
    }

    #[test]
    fn the_paths_of_the_table_exist() {
        for path in TOUCHED.iter().flat_map(|(above, _)| *above) {
            assert!(root().join(path).exists(), "{path}");
        }
    }

    #[test]
    fn an_unknown_base_is_reported() {
        let refusal = differing("no-such-commit").unwrap_err();
        assert!(
            refusal.starts_with("'git diff --name-only no-such-commit --' failed:"),
            "{refusal}"
        );
    }
}
