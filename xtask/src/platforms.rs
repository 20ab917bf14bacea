//! `cargo xtask platforms`: compiles the published crates for other platforms.
//!
//! A platform is skipped if its standard library is not installed, or if its dependencies cannot be
//! downloaded. The list at the end names the skipped platforms.

use std::path::Path;
use std::process::Command;

use crate::package::PUBLISHED;
use crate::step::{Step, root};

/// The compiled targets: other systems, 32-bit addresses, and big-endian byte order.
/// docs/limits.md has a row for each.
pub(crate) const TARGETS: [&str; 8] = [
    "aarch64-unknown-linux-gnu",
    "aarch64-apple-darwin",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-gnu",
    "x86_64-pc-windows-msvc",
    "i686-unknown-linux-gnu",
    "powerpc64-unknown-linux-gnu",
    "s390x-unknown-linux-gnu",
];

/// The result of a target's check.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Compiles,
    NotInstalled,
    NotFetched,
    Fails(String),
}

/// Checks every target, even if the check of an earlier target fails.
///
/// # Errors
/// The published crates do not compile for a target, or none could be checked.
pub(crate) fn run() -> Result<(), String> {
    let outcomes = TARGETS.map(|target| (target, outcome_of(target)));
    print!("{}", summary(&outcomes));
    verdict(&outcomes)
}

fn verdict(outcomes: &[(&str, Outcome)]) -> Result<(), String> {
    let failed = |(target, outcome): &(&str, Outcome)| {
        matches!(outcome, Outcome::Fails(_)).then(|| (*target).to_owned())
    };
    let failed: Vec<String> = outcomes.iter().filter_map(failed).collect();
    if !failed.is_empty() {
        return Err(format!("fails for {}", failed.join(", ")));
    }
    let is_checked = |(_, outcome): &(&str, Outcome)| *outcome == Outcome::Compiles;
    match outcomes.iter().any(is_checked) {
        true => Ok(()),
        false => Err("nothing was checked: the lines above say what is missing".to_owned()),
    }
}

fn outcome_of(target: &'static str) -> Outcome {
    if !is_installed(target) {
        return Outcome::NotInstalled;
    }
    println!("\n== {target}");
    // Dependencies of other systems may be missing even where the tested system compiles.
    if Step::new("cargo fetch --target").with([target]).run().is_err() {
        return Outcome::NotFetched;
    }
    check(target).run().map_or_else(Outcome::Fails, |()| Outcome::Compiles)
}

fn check(target: &str) -> Step {
    let crates = PUBLISHED.iter().flat_map(|name| ["-p", *name]);
    Step::new("cargo check --offline --target").with([target]).with(crates)
}

/// Whether the compiler has the standard library of a target.
pub(crate) fn is_installed(target: &str) -> bool {
    let mut command = Command::new("rustc");
    command.args(["--print", "target-libdir", "--target", target]).current_dir(root());
    let printed = command.output().ok().filter(|printed| printed.status.success());
    printed.is_some_and(|printed| {
        let directory = String::from_utf8_lossy(&printed.stdout);
        Path::new(directory.trim_end()).is_dir()
    })
}

fn summary(outcomes: &[(&str, Outcome)]) -> String {
    let lines: String = outcomes.iter().map(|(target, outcome)| line(target, outcome)).collect();
    format!("\n== cargo check of {}: nothing is linked or run\n{lines}", PUBLISHED.join(", "))
}

fn line(target: &str, outcome: &Outcome) -> String {
    let told = match outcome {
        Outcome::Compiles => "compiles".to_owned(),
        Outcome::NotInstalled => {
            format!("skipped: not installed, 'rustup target add {target}' installs it")
        }
        Outcome::NotFetched => "skipped: 'cargo fetch' fails, see above".to_owned(),
        Outcome::Fails(why) => format!("fails: {why}"),
    };
    format!("{target:27}  {told}\n")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::emulated::machine::{MACHINES, Machine, Starts};

    #[test]
    fn a_target_without_a_standard_library_is_not_installed() {
        assert!(!is_installed("riscv32-wrs-vxworks") && !is_installed("no-such-target"));
        let version = Command::new("rustc").arg("-vV").output().unwrap();
        let version = String::from_utf8(version.stdout).unwrap();
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        assert!(is_installed(host), "{host}");
    }

    #[test]
    fn the_summary_says_what_was_skipped_and_why() {
        let outcomes = [
            ("i686-unknown-linux-gnu", Outcome::Compiles),
            ("aarch64-apple-darwin", Outcome::NotInstalled),
            ("x86_64-pc-windows-gnu", Outcome::NotFetched),
            ("s390x-unknown-linux-gnu", Outcome::Fails("'cargo check' failed".to_owned())),
        ];
        let expected = "
== cargo check of foldb-env, foldb-chains, foldb, foldb-typed-derive, foldb-typed, \
            foldb-queue, foldb-tokio, foldb-leveldb-format, foldb-rocksdb-format, foldb-report, \
            foldb-cli: nothing is linked or run
i686-unknown-linux-gnu       compiles
aarch64-apple-darwin         skipped: not installed, 'rustup target add aarch64-apple-darwin' \
            installs it
x86_64-pc-windows-gnu        skipped: 'cargo fetch' fails, see above
s390x-unknown-linux-gnu      fails: 'cargo check' failed
";
        assert_eq!(summary(&outcomes), expected);
    }

    #[test]
    fn a_run_that_checks_nothing_fails() {
        let skipped = ("i686-unknown-linux-gnu", Outcome::NotInstalled);
        let fails = ("s390x-unknown-linux-gnu", Outcome::Fails(String::new()));
        let compiles = ("aarch64-apple-darwin", Outcome::Compiles);
        assert!(verdict(&[skipped]).unwrap_err().contains("nothing was checked"));
        let skipped = ("i686-unknown-linux-gnu", Outcome::NotInstalled);
        assert!(verdict(&[skipped, compiles]).is_ok());
        assert!(verdict(&[fails]).unwrap_err().contains("s390x"));
    }

    #[test]
    fn the_nightly_check_installs_each_target() {
        let nightly = fs::read_to_string(root().join(".github/workflows/nightly.yml")).unwrap();
        for target in TARGETS {
            assert!(nightly.split_whitespace().any(|word| word == target), "{target}");
        }
    }

    /// The second column of docs/limits.md says what the lists of this command and of `emulated`
    /// say.
    #[test]
    fn the_page_on_limits_has_a_row_with_the_result_of_each_target() {
        let page = fs::read_to_string(root().join("docs/limits.md")).unwrap();
        let of_machines = MACHINES.iter().map(|machine| machine.target);
        let mut targets: Vec<&str> = TARGETS.into_iter().chain(of_machines).collect();
        targets.extend(["x86_64-unknown-linux-gnu"]);
        targets.sort_unstable();
        targets.dedup();
        for target in &targets {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{target}`")));
            let row = row.unwrap_or_else(|| panic!("no row has {target}"));
            assert_eq!(row.split(" | ").nth(1), Some(result_of(target)), "{target}");
        }
        let (_, table) = page.split_once("\n## Platforms\n").unwrap();
        let rows = table.lines().filter(|line| line.starts_with("| `"));
        assert_eq!(rows.count(), targets.len(), "a row has a target of no list");
    }

    fn result_of(target: &str) -> &'static str {
        match Machine::of(target).map(|machine| machine.starts) {
            _ if target == "x86_64-unknown-linux-gnu" => "tests run",
            Some(Starts::Natively) => "tests run",
            Some(Starts::Qemu(_) | Starts::Wine) => "tests run under emulation",
            None => "compiles",
        }
    }

    /// A database opens without a feature where docs/limits.md says so, and nowhere else.
    #[test]
    fn the_page_on_limits_says_where_databases_open() {
        let page = fs::read_to_string(root().join("docs/limits.md")).unwrap();
        let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
        let rows = page.lines().filter(|line| line.starts_with("| `")).map(cells);
        let opening = rows.filter(|row: &Vec<String>| row.len() == 5 && row[3].starts_with("yes"));
        let mut told: Vec<String> =
            opening.filter_map(|row| row[1].split('`').nth(1).map(str::to_owned)).collect();
        let list = root().join("crates/foldb/src/db/lifecycle/open/platform.rs");
        let list = fs::read_to_string(list).unwrap();
        let names = list.lines().filter_map(|line| line.trim().strip_prefix("tested(\""));
        let mut listed: Vec<String> =
            names.filter_map(|name| name.split('"').next().map(str::to_owned)).collect();
        told.sort();
        listed.sort();
        assert_eq!(told, listed);
        assert!(listed.len() > 1);
    }
}
