//! The platforms on which a database opens.
//!
//! foldb keeps its guarantees on platforms where its tests have run. On other platforms, every call
//! that opens, checks, repairs or removes a database fails before it touches a file. The cargo
//! feature `untested-platform` lifts this restriction.

use crate::error::{Error, ErrorKind, Result};

/// The cargo feature that accepts every platform.
const FEATURE: &str = "untested-platform";

/// The platforms on which the whole test suite has run.
const TESTED: [Platform; 1] =
    [Platform { architecture: "x86_64", address_bits: 64, system: "linux", library: "gnu" }];

/// A platform, in the words of Rust's `cfg`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Platform {
    /// `target_arch`.
    architecture: &'static str,
    /// `target_pointer_width`.
    address_bits: u32,
    /// `target_os`.
    system: &'static str,
    /// `target_env`: on Linux, the C library.
    library: &'static str,
}

/// The platform of this build.
const HERE: Platform = Platform {
    architecture: std::env::consts::ARCH,
    address_bits: usize::BITS,
    system: std::env::consts::OS,
    library: if cfg!(target_env = "gnu") {
        "gnu"
    } else if cfg!(target_env = "musl") {
        "musl"
    } else if cfg!(target_env = "msvc") {
        "msvc"
    } else {
        ""
    },
};

/// Checks that databases may be opened on this platform.
///
/// # Errors
/// `Unsupported` if the tests have not run on this platform and the feature is off.
pub(crate) fn check() -> Result<()> {
    #[cfg(test)]
    if let Some(pretended) = tests::PRETENDED.get() {
        return decide(pretended, false);
    }
    decide(HERE, cfg!(feature = "untested-platform"))
}

fn decide(platform: Platform, accepts_untested: bool) -> Result<()> {
    if accepts_untested || TESTED.contains(&platform) {
        return Ok(());
    }
    let Platform { architecture, address_bits, system, library } = platform;
    let here = [architecture, system, library].join(" ");
    Err(Error::new(
        ErrorKind::Unsupported,
        format!(
            "foldb compiles for {} ({address_bits}-bit), but its tests have only run on x86_64 \
             linux gnu (64-bit): to use it here at your own risk, turn on the cargo feature \
             '{FEATURE}' of foldb",
            here.trim_end()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::repair::{RepairOptions, verify, verify_with_progress};
    use crate::{Db, Options};

    thread_local! {
        /// The platform that [`check`] assumes on this thread.
        pub(super) static PRETENDED: Cell<Option<Platform>> = const { Cell::new(None) };
    }

    const X86_64_LINUX: Platform = TESTED[0];
    const ARM_MACOS: Platform =
        Platform { architecture: "aarch64", address_bits: 64, system: "macos", library: "" };

    #[test]
    fn only_platforms_with_a_test_run_are_accepted() {
        assert!(decide(X86_64_LINUX, false).is_ok());
        for untested in [
            ARM_MACOS,
            Platform { architecture: "aarch64", ..X86_64_LINUX },
            Platform { architecture: "s390x", ..X86_64_LINUX },
            Platform { architecture: "x86", address_bits: 32, ..X86_64_LINUX },
            Platform { address_bits: 32, ..X86_64_LINUX },
            Platform { library: "musl", ..X86_64_LINUX },
            Platform { system: "windows", ..X86_64_LINUX },
        ] {
            let refusal = decide(untested, false).unwrap_err();
            assert_eq!(refusal.kind(), ErrorKind::Unsupported, "{untested:?}");
            assert!(decide(untested, true).is_ok(), "{untested:?}");
        }
    }

    #[test]
    fn a_refusal_names_both_platforms_and_the_feature() {
        assert_eq!(
            decide(ARM_MACOS, false).unwrap_err().to_string(),
            "foldb compiles for aarch64 macos (64-bit), but its tests have only run on x86_64 \
             linux gnu (64-bit): to use it here at your own risk, turn on the cargo feature \
             'untested-platform' of foldb"
        );
        let manifest = include_str!("../../../../Cargo.toml");
        assert!(manifest.contains(&format!("\n{FEATURE} = []\n")));
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
    #[test]
    fn this_build_is_for_the_tested_platform() {
        assert_eq!(HERE, X86_64_LINUX);
    }

    #[test]
    fn every_call_that_takes_a_path_is_refused_and_touches_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = &directory.path().join("db");
        let own = || Options { create_if_missing: true, ..Options::default() };
        let copying = RepairOptions { copy_to: Some(path.with_extension("copy")), ..own().into() };
        PRETENDED.set(Some(ARM_MACOS));
        let refusals = [
            Db::open(path, own()).err(),
            Db::create(path).err(),
            Db::open_read_only(path, own()).err(),
            Db::destroy(path, &own()).err(),
            Db::repair(path, own()).err(),
            Db::repair(path, copying).err(),
            verify(path, own()).err(),
            verify_with_progress(path, own(), |_| {}).err(),
        ];
        PRETENDED.set(None);
        for (n, refusal) in refusals.into_iter().enumerate() {
            let refusal = refusal.unwrap_or_else(|| panic!("call {n} is not refused"));
            assert_eq!(refusal.kind(), ErrorKind::Unsupported, "call {n}: {refusal}");
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        Db::create(path).unwrap();
    }
}
