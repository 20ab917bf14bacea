//! The command line.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};

const NOTES: &str = "\
Arguments after a command replace its default ones:
  cargo xtask test -p foldb --test engine hazards::
  cargo xtask simulate seed 578
  cargo xtask tsan 10

`cargo xtask COMMAND --help` shows the program that a command runs. CONTRIBUTING.md says when to \
run each.";

/// Every check of this repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", after_help = NOTES)]
pub(crate) struct Line {
    #[command(subcommand)]
    pub command: Command,
}

impl Line {
    /// Parses a command line whose first word is the program's name. A `--` after the command is
    /// passed to the program that the command runs; clap alone would remove it.
    ///
    /// # Errors
    /// An error of the command line, or the requested help.
    pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Line, clap::Error> {
        let mut words: Vec<OsString> = words.into_iter().collect();
        if words.get(2).is_some_and(|word| word == "--") {
            words.insert(2, "--".into());
        }
        Line::try_parse_from(words)
    }
}

/// The checks.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The daily loop: fmt, tidy, lint, layers, unit and engine tests, doc tests, 40 simulated
    /// machines
    ///
    /// Takes a few minutes from a warm build.
    Check(Check),
    /// All that a change must pass: fmt, tidy, lint, doc, demo, test, simulate, loom, small-disks
    /// and report, with the time of each
    Ci(Gate),
    /// Formatting
    Fmt(Format),
    /// Clippy over all crates and targets; warnings are errors
    ///
    /// Runs `cargo clippy --workspace --all-targets -- -D warnings`.
    Lint,
    /// Documentation of all crates; warnings are errors
    ///
    /// Runs `cargo doc --workspace --no-deps` with `RUSTDOCFLAGS="-D warnings"`.
    Doc,
    /// Imports between the rooms of the engine against the table of layers in ARCHITECTURE.md
    ///
    /// Runs `cargo test -p xtask --test layers`.
    Layers,
    /// House rules: links, citations, lengths, words, orders, dead files
    ///
    /// Reads all files that git knows. xtask/src/tidy/ has a file for each rule.
    Tidy,
    /// The demo: counts words with merges, reopens the database and compares
    ///
    /// Runs `cargo run --release --bin foldb -- demo`.
    Demo(Passed),
    /// All tests, or those of `cargo test ARGUMENTS`, for at most 40 minutes
    ///
    /// Runs `cargo test --workspace`. The limit needs the program `timeout`.
    Test(Passed),
    /// Tests of the engine over files that only grow at their end
    ///
    /// Runs `cargo test ARGUMENTS` with FOLDB_TEST_FS=append-only, by default `cargo test -p foldb
    /// --test engine`. Tests of mappings and hard links say that they are skipped.
    AppendOnly(Passed),
    /// Simulated machines: threads, time, randomness, disk and power cuts, all from a seed
    ///
    /// Runs `foldb-simulate ARGUMENTS`, by default `run --seeds 400 --allow-gaps --all-pairs`. See
    /// docs/simulation.md.
    Simulate(Passed),
    /// Every order of memory accesses in the crate with hot-path unsafe, up to three preemptions
    ///
    /// Runs `ci/loom.sh ARGUMENTS`.
    Loom(Passed),
    /// The tests of the crate with hot-path unsafe under Miri, and those of the file formats for
    /// other platforms; needs a nightly toolchain
    ///
    /// Runs `ci/miri.sh ARGUMENTS`. With arguments it runs the tests of that crate only.
    Miri(Passed),
    /// The tests with threads, and foldb-stress, under AddressSanitizer; needs a nightly toolchain
    ///
    /// Runs `ci/asan.sh [MINUTES]`.
    Asan(Passed),
    /// The tests with threads, and foldb-stress, under ThreadSanitizer; needs a nightly toolchain
    ///
    /// Runs `ci/tsan.sh [MINUTES]`.
    Tsan(Passed),
    /// Every fuzz target; needs a nightly toolchain and cargo-fuzz
    ///
    /// Runs `fuzz/all.sh SECONDS`, by default 60 seconds a target. See fuzz/README.md.
    Fuzz(Passed),
    /// Small real file systems that fill up; needs root on Linux and says what it skips
    ///
    /// Runs `ci/small_disks.sh`.
    SmallDisks,
    /// The page of results in a headless Chromium
    ///
    /// Runs `ci/report.sh`. FOLDB_INSTALL_CHROMIUM=1 lets it fetch Chromium.
    Report,
    /// The codec behind the cargo feature `zstd`; skipped without a C compiler
    ///
    /// Runs `cargo test -p foldb --features zstd --lib -- table options`.
    Zstd,
    /// Import and export of Parquet, behind the cargo feature `parquet` of the shell
    ///
    /// Runs `cargo test -p foldb-cli --features parquet -- parquet::`.
    Parquet,
    /// Databases whose process is killed at random moments
    ///
    /// Runs `foldb-stress ARGUMENTS`, by default `run --databases 4 --kills 6 --allow-gaps`. See
    /// docs/stress.md.
    Stress(Passed),
    /// Benchmarks of the engine's parts
    ///
    /// Runs `cargo bench -p foldb -p foldb-chains --features foldb/internals ARGUMENTS`.
    Bench(Passed),
    /// Benchmarks of foldb, RocksDB, fjall and LevelDB; compiles C++
    ///
    /// Runs the program of compare/, by default with `--workload all --scale small --out
    /// compared`. See compare/README.md.
    Compare(Passed),
    /// Licences, duplicate versions and advisories of dependencies; needs cargo-deny
    ///
    /// Runs `cargo deny --all-features check ARGUMENTS` with deny.toml.
    Deny(Passed),
    /// The C library, its header, and files for pkg-config and CMake; not a check
    ///
    /// Runs `cargo build -p foldb-capi --profile NAME`, and copies the results below the prefix.
    Install(Install),
    /// `libleveldb`: LevelDB's C and C++ interface over the engine; needs a C++17 compiler; not a
    /// check
    ///
    /// Runs `cargo rustc -p foldb-leveldb --profile NAME`, compiles and links compat/leveldb/cpp
    /// with the program in CXX, by default `c++`, and copies the results below the prefix.
    Leveldb(Leveldb),
    /// `librocksdb`: RocksDB's C interface over the engine; needs a C compiler; not a check
    ///
    /// Runs `cargo rustc -p foldb-rocksdb --profile NAME`, links the shared library with the
    /// program in CC, by default `cc`, and copies the results below the prefix.
    Rocksdb(Rocksdb),
    /// The Kafka Streams store: its jar, its tests, scenarios on a real broker, and benchmarks;
    /// needs a JDK and Maven, and else does nothing
    ///
    /// Runs `cargo build -p foldb-jni --profile NAME`, puts the library where Maven packs it, and
    /// runs `mvn` in streams/.
    Streams(Streams),
    /// The published packages: packed, unpacked and compiled from their contents
    ///
    /// Runs `cargo package ARGUMENTS` with a `-p` for each published crate.
    Package(Passed),
    /// A release: programs, libraries, wheels and the jar for each platform, with checksums
    ///
    /// Builds with zig from PyPI, cross compilers and Maven, tries each file on its platform or
    /// under its emulator, and writes SHA256SUMS and MANIFEST.tsv. Fails if something is missing.
    /// docs/install.md says how users take what is built.
    Dist(Dist),
    /// The version of crates, Python package, jar and header: printed, or set everywhere
    ///
    /// The list of places is in xtask/src/version.rs. Lock files follow with `cargo update`.
    Version(Version),
    /// The published crates on the oldest toolchain that they support
    ///
    /// Installs the toolchain of `rust-version` in Cargo.toml with rustup, and runs `cargo check`.
    Msrv,
    /// The published crates compiled for other platforms; skips targets that are not installed
    ///
    /// Runs `cargo check --target TARGET` with a `-p` for each published crate. `rustup target add
    /// TARGET` installs a target. Nothing is linked or run.
    Platforms,
    /// The tests on other platforms, under qemu and Wine, and databases that go there and back
    ///
    /// Installs what is missing with apt-get, as root on Debian, and with rustup. Else it says what
    /// is missing. Runs `cargo test --target TARGET` with `ci/binfmt.sh`: env, chains, the engine's
    /// unit and black-box tests, and kills of the shell. Then both platforms change databases of
    /// every feature in turn.
    Emulated(Emulated),
}

/// Where the C library goes.
#[derive(Debug, Args)]
pub(crate) struct Install {
    /// Directory that gets include/, lib/, lib/pkgconfig/ and lib/cmake/
    #[arg(long, value_name = "DIR", default_value = "/usr/local")]
    pub prefix: std::path::PathBuf,
    /// Cargo profile of the build
    #[arg(long, value_name = "NAME", default_value = "release")]
    pub profile: String,
    /// Directory of libfoldb_capi.so and libfoldb_capi.a, instead of a build
    #[arg(long, value_name = "DIR", conflicts_with = "profile")]
    pub from: Option<std::path::PathBuf>,
}

/// Where `libleveldb` goes.
#[derive(Debug, Args)]
pub(crate) struct Leveldb {
    /// Directory that gets include/, lib/, lib/pkgconfig/ and lib/cmake/
    #[arg(long, value_name = "DIR")]
    pub prefix: std::path::PathBuf,
    /// Cargo profile of the build; C++ is always optimised, and checks its assertions in `dev` only
    #[arg(long, value_name = "NAME", default_value = "release")]
    pub profile: String,
    /// Directory of libfoldb_leveldb.a, instead of a build with cargo; C++ checks its assertions
    #[arg(long, value_name = "DIR", conflicts_with = "profile")]
    pub from: Option<std::path::PathBuf>,
    /// Compiles C++ with -fsanitize=NAMES, for example `address,undefined`
    #[arg(long, value_name = "NAMES")]
    pub sanitize: Option<String>,
}

/// Where `librocksdb` goes.
#[derive(Debug, Args)]
pub(crate) struct Rocksdb {
    /// Directory that gets include/, lib/ and lib/pkgconfig/
    #[arg(long, value_name = "DIR")]
    pub prefix: std::path::PathBuf,
    /// Cargo profile of the build
    #[arg(long, value_name = "NAME", default_value = "release")]
    pub profile: String,
    /// Directory of libfoldb_rocksdb.a, instead of a build with cargo
    #[arg(long, value_name = "DIR", conflicts_with = "profile")]
    pub from: Option<std::path::PathBuf>,
}

/// What to do with the Kafka Streams store.
#[derive(Args, Debug)]
pub(crate) struct Streams {
    /// Cargo profile of the library
    #[arg(long, value_name = "NAME", default_value = "release")]
    pub profile: String,
    #[command(subcommand)]
    pub task: crate::streams::Task,
}

/// Arguments for the program that a command runs.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Passed {
    /// Given to the program in place of its default arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}

/// Arguments of `check`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Check {
    /// Adds what a change since this commit can have broken, by the table in xtask/src/check.rs
    #[arg(long, value_name = "BASE")]
    pub touched: Option<String>,
}

/// Arguments of `ci`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Gate {
    /// An earlier step with its time, for the list at the end: "12 rustup toolchain install"
    #[arg(long, value_name = "SECONDS STEP")]
    pub earlier: Vec<String>,
}

/// Arguments of `emulated`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Emulated {
    /// The platforms; all unless given
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,
    /// In minutes: unit tests of env and chains on aarch64, databases to s390x and back
    #[arg(long, conflicts_with = "targets")]
    pub short: bool,
    /// Only the databases that go there and back
    #[arg(long, conflicts_with = "short")]
    pub carried: bool,
}

/// Arguments of `dist`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Dist {
    /// The platforms; all unless given
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Leaves a platform out, which the manifest then says; may be given again
    #[arg(long, value_name = "TARGET")]
    pub skip: Vec<String>,
    /// Directory of the release, emptied first; by default target/releases/VERSION
    #[arg(long, value_name = "DIR")]
    pub out: Option<std::path::PathBuf>,
    /// Cargo profile of the builds
    #[arg(long, value_name = "NAME", default_value = "dist")]
    pub profile: String,
    /// Does not check the crates' packages
    #[arg(long)]
    pub no_packages: bool,
}

/// Arguments of `version`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Version {
    /// The new version, three numbers
    #[arg(value_name = "X.Y.Z")]
    pub version: Option<String>,
}

/// Arguments of `fmt`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Format {
    /// Format the files instead of checking them
    #[arg(long)]
    pub write: bool,
}
