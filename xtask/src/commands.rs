//! Which programs each command runs.

use crate::arguments::{Command, Passed};
use crate::step::{Step, is_there, succeeds};
use crate::{
    check, dist, emulated, gate, install, leveldb, msrv, package, platforms, rocksdb, streams,
    tidy, version,
};

/// Runs a command.
///
/// # Errors
/// A message of one line.
pub(crate) fn run(command: Command) -> Result<(), String> {
    match command {
        Command::Check(own) => check::run(&own),
        Command::Ci(gate) => gate::run(&gate.earlier),
        Command::Fmt(format) => {
            if format.write { Step::new("cargo fmt --all") } else { fmt() }.run()
        }
        Command::Lint => lint().run(),
        Command::Doc => doc().run(),
        Command::Layers => Step::new("cargo test -p xtask --test layers").run(),
        Command::Tidy => tidy::run(),
        Command::Demo(passed) => demo(passed).run(),
        Command::Test(passed) => test(passed).run(),
        Command::AppendOnly(passed) => append_only(passed).run(),
        Command::Simulate(passed) => simulate(passed).run(),
        Command::Loom(passed) => Step::new("ci/loom.sh").with(passed.arguments).run(),
        Command::Miri(passed) => Step::new("ci/miri.sh").with(passed.arguments).run(),
        Command::Asan(passed) => Step::new("ci/asan.sh").with(passed.arguments).run(),
        Command::Tsan(passed) => Step::new("ci/tsan.sh").with(passed.arguments).run(),
        Command::Fuzz(passed) => fuzz(passed)?.run(),
        Command::SmallDisks => small_disks().run(),
        Command::Report => report().run(),
        Command::Zstd => zstd().map_or(Ok(()), |step| step.run()),
        Command::Parquet => parquet().run(),
        Command::Stress(passed) => stress(passed).run(),
        Command::Bench(passed) => bench(passed).run(),
        Command::Compare(passed) => compare(passed).run(),
        Command::Deny(passed) => deny(passed)?.run(),
        Command::Install(own) => install::run(&own),
        Command::Leveldb(own) => leveldb::run(&own),
        Command::Rocksdb(own) => rocksdb::run(&own),
        Command::Streams(own) => streams::run(&own),
        Command::Package(passed) => package::run(passed),
        Command::Dist(own) => dist::run(&own),
        Command::Version(own) => version::run(&own),
        Command::Msrv => msrv::run(),
        Command::Platforms => platforms::run(),
        Command::Emulated(own) => emulated::run(&own),
    }
}

impl Passed {
    /// Returns the given arguments, or those in `line` if there are none.
    pub(crate) fn or(self, line: &str) -> Vec<std::ffi::OsString> {
        if self.arguments.is_empty() {
            return line.split_whitespace().map(Into::into).collect();
        }
        self.arguments
    }
}

pub(crate) fn fmt() -> Step {
    Step::new("cargo fmt --all --check")
}

pub(crate) fn lint() -> Step {
    Step::new("cargo clippy --workspace --all-targets -- -D warnings")
}

pub(crate) fn doc() -> Step {
    Step::new("cargo doc --workspace --no-deps").set("RUSTDOCFLAGS", "-D warnings")
}

pub(crate) fn demo(passed: Passed) -> Step {
    Step::new("cargo run --release --bin foldb -- demo").with(passed.arguments)
}

/// Runs the tests with a time limit. A test that hangs then fails, and its name is printed last.
pub(crate) fn test(passed: Passed) -> Step {
    Step::new("cargo test").with(passed.or("--workspace")).limited("40m")
}

/// Runs tests of the engine over files that only grow at their end.
pub(crate) fn append_only(passed: Passed) -> Step {
    Step::new("cargo test")
        .with(passed.or("-p foldb --test engine"))
        .set("FOLDB_TEST_FS", "append-only")
        .limited("40m")
}

/// The short form of [`append_only`], with the program that the step `test` has built.
pub(crate) fn append_only_short() -> Step {
    let rooms = "--workspace --test engine -- disks:: writing:: files:: repair::";
    append_only(Passed { arguments: rooms.split(' ').map(Into::into).collect() })
}

pub(crate) fn simulate(passed: Passed) -> Step {
    Step::new("cargo run -p foldb-simulation --bin foldb-simulate --")
        .with(passed.or("run --seeds 400 --allow-gaps --all-pairs"))
}

/// The seeds of [`simulate`] with the program that the step `test` has built: another one would
/// have other features, and so compile the engine again.
pub(crate) fn simulate_short() -> Step {
    Step::new("cargo test --workspace --test seeds -- --ignored --nocapture")
}

pub(crate) fn loom() -> Step {
    Step::new("ci/loom.sh")
}

/// [`loom`] with at most two preemptions of a thread, which is a fraction of the orders.
pub(crate) fn loom_short() -> Step {
    loom().set("LOOM_MAX_PREEMPTIONS", "2")
}

pub(crate) fn small_disks() -> Step {
    Step::new("ci/small_disks.sh")
}

pub(crate) fn report() -> Step {
    Step::new("ci/report.sh")
}

/// Returns `None` without a C compiler, and says so.
pub(crate) fn zstd() -> Option<Step> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if !is_there(&compiler) {
        println!("\n== no C compiler: the codec of the feature zstd is not tested");
        return None;
    }
    Some(Step::new("cargo test -p foldb --features zstd --lib -- table options"))
}

/// Tests what the feature `parquet` adds. No other step compiles the crate `parquet`.
pub(crate) fn parquet() -> Step {
    Step::new("cargo test -p foldb-cli --features parquet -- parquet::").limited("40m")
}

fn fuzz(passed: Passed) -> Result<Step, String> {
    if !succeeds("cargo", &["+nightly", "fuzz", "--version"]) {
        return Err("nothing was checked: fuzzing needs a nightly toolchain ('rustup toolchain \
                    install nightly') and cargo-fuzz ('cargo install cargo-fuzz')"
            .to_owned());
    }
    Ok(Step::new("fuzz/all.sh").with(passed.or("60")))
}

fn stress(passed: Passed) -> Step {
    Step::new("cargo run --release -p foldb-stress --bin foldb-stress --")
        .with(passed.or("run --databases 4 --kills 6 --allow-gaps"))
}

fn bench(passed: Passed) -> Step {
    Step::new("cargo bench -p foldb -p foldb-chains --features foldb/internals")
        .with(passed.arguments)
}

fn compare(passed: Passed) -> Step {
    Step::new("cargo run --release --manifest-path compare/Cargo.toml --")
        .with(passed.or("--workload all --scale small --out compared"))
}

fn deny(passed: Passed) -> Result<Step, String> {
    if !succeeds("cargo", &["deny", "--version"]) {
        return Err(
            "nothing was checked: 'cargo install --locked cargo-deny' installs the missing \
                    program"
                .to_owned(),
        );
    }
    Ok(Step::new("cargo deny --all-features check").with(passed.arguments))
}
