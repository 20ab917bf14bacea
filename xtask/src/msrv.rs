//! `cargo xtask msrv`: checks the promise of `rust-version` in Cargo.toml.

use crate::package::PUBLISHED;
use crate::step::{Step, succeeds};

/// The oldest toolchain that the published crates support.
pub(crate) const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");

/// Compiles the published crates with the oldest toolchain.
///
/// # Errors
/// They do not compile, or the toolchain cannot be installed.
pub(crate) fn run() -> Result<(), String> {
    let toolchain = format!("+{OLDEST}");
    if !succeeds("rustc", &[&toolchain, "--version"]) {
        let install = Step::new("rustup toolchain install --profile minimal").with([OLDEST]);
        install.run().map_err(|why| format!("nothing was checked: {why}"))?;
    }
    check(&toolchain).run()
}

/// Checks the default features, because `zstd` needs a C compiler. A separate target directory
/// keeps the output of the usual toolchain.
fn check(toolchain: &str) -> Step {
    let crates = PUBLISHED.iter().flat_map(|name| ["-p", *name]);
    Step::new("cargo")
        .with([toolchain, "check", "--locked", "--target-dir", "target/msrv"])
        .with(crates)
}
