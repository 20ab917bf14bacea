//! The platforms on which a database opens.
//!
//! foldb keeps its guarantees on platforms where its tests have run, if only under emulation. On
//! other platforms, every call that opens, checks, repairs or removes a database fails before it
//! touches a file. The cargo feature `untested-platform` lifts this restriction.

use crate::error::{Error, ErrorKind, Result};

/// The cargo feature that accepts every platform.
const FEATURE: &str = "untested-platform";

/// The platforms on which the tests have run, natively or under emulation, and how. A database
/// opens on these and on no other. docs/limits.md says what each run shows and what it cannot show.
const TESTED: [Tested; 9] = [
    tested("x86_64-unknown-linux-gnu", linux("x86_64", 64, "gnu"), How::Natively),
    tested("aarch64-unknown-linux-gnu", linux("aarch64", 64, "gnu"), How::Under("qemu")),
    tested("aarch64-unknown-linux-musl", linux("aarch64", 64, "musl"), How::Under("qemu")),
    tested("riscv64gc-unknown-linux-gnu", linux("riscv64", 64, "gnu"), How::Under("qemu")),
    tested("s390x-unknown-linux-gnu", linux("s390x", 64, "gnu"), How::Under("qemu")),
    tested("x86_64-unknown-linux-musl", linux("x86_64", 64, "musl"), How::Natively),
    tested("i686-unknown-linux-gnu", linux("x86", 32, "gnu"), How::Natively),
    tested("x86_64-pc-windows-gnu", windows("gnu"), How::Under("Wine")),
    // The same calls of Windows by the same code. Only the linker and the C runtime differ.
    tested("x86_64-pc-windows-msvc", windows("msvc"), How::As("x86_64-pc-windows-gnu")),
];

/// A platform on which databases open.
struct Tested {
    /// Rust's name of the target.
    target: &'static str,
    platform: Platform,
    how: How,
}

/// How the tests ran.
enum How {
    /// On a processor and a kernel of the platform.
    Natively,
    /// Under this emulator.
    Under(&'static str),
    /// Not at all: they ran on this target, whose code is the same.
    As(&'static str),
}

const fn tested(target: &'static str, platform: Platform, how: How) -> Tested {
    Tested { target, platform, how }
}

const fn linux(architecture: &'static str, address_bits: u32, library: &'static str) -> Platform {
    Platform { architecture, address_bits, system: "linux", library }
}

const fn windows(library: &'static str) -> Platform {
    Platform { architecture: "x86_64", address_bits: 64, system: "windows", library }
}

/// A platform, in the words of Rust's `cfg`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Platform {
    /// `target_arch`.
    architecture: &'static str,
    /// `target_pointer_width`.
    address_bits: u32,
    /// `target_os`.
    system: &'static str,
    /// `target_env`: the C library.
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
    if accepts_untested || TESTED.iter().any(|tested| tested.platform == platform) {
        return Ok(());
    }
    let Platform { architecture, address_bits, system, library } = platform;
    let here = [architecture, system, library].join(" ");
    Err(Error::new(
        ErrorKind::Unsupported,
        format!(
            "foldb compiles for {} ({address_bits}-bit), but its tests have only run {}: to use it \
             here at your own risk, turn on the cargo feature '{FEATURE}' of foldb",
            here.trim_end(),
            TESTED.iter().map(Tested::told).collect::<Vec<_>>().join(", "),
        ),
    ))
}

impl Tested {
    /// Says where the tests ran, for people.
    fn told(&self) -> String {
        let target = self.target;
        match self.how {
            How::Natively => format!("on {target}"),
            How::Under(emulator) => format!("on {target} under {emulator}"),
            How::As(other) => format!("for {target} as {other}"),
        }
    }
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

    const X86_64_LINUX: Platform = TESTED[0].platform;
    const ARM_MACOS: Platform =
        Platform { architecture: "aarch64", address_bits: 64, system: "macos", library: "" };

    #[test]
    fn only_platforms_with_a_test_run_are_accepted() {
        for tested in TESTED {
            assert!(decide(tested.platform, false).is_ok(), "{}", tested.target);
        }
        for untested in [
            ARM_MACOS,
            Platform { architecture: "powerpc64", ..X86_64_LINUX },
            Platform { architecture: "x86", ..X86_64_LINUX },
            Platform { address_bits: 32, ..X86_64_LINUX },
            Platform { library: "", ..X86_64_LINUX },
            Platform { library: "msvc", ..X86_64_LINUX },
            Platform { system: "freebsd", ..X86_64_LINUX },
            Platform { architecture: "aarch64", system: "windows", ..X86_64_LINUX },
        ] {
            let refusal = decide(untested, false).unwrap_err();
            assert_eq!(refusal.kind(), ErrorKind::Unsupported, "{untested:?}");
            assert!(decide(untested, true).is_ok(), "{untested:?}");
        }
    }

    #[test]
    fn the_name_of_a_tested_target_says_what_its_platform_is() {
        for Tested { target, platform, how } in TESTED {
            let architecture = target.split('-').next().unwrap();
            let architecture = match architecture {
                "i686" => "x86",
                "riscv64gc" => "riscv64",
                same => same,
            };
            assert_eq!(architecture, platform.architecture);
            assert!(target.contains(&format!("-{}-", platform.system)), "{target}");
            assert!(target.ends_with(&format!("-{}", platform.library)), "{target}");
            assert_eq!(platform.address_bits == 32, architecture == "x86", "{target}");
            let is_known = |other| TESTED.iter().any(|tested| tested.target == other);
            assert!(!matches!(how, How::As(other) if !is_known(other)), "{target}");
        }
    }

    #[test]
    fn a_refusal_names_both_platforms_and_the_feature() {
        let refusal = decide(ARM_MACOS, false).unwrap_err().to_string();
        let begin = "foldb compiles for aarch64 macos (64-bit), but its tests have only run on \
                     x86_64-unknown-linux-gnu, ";
        assert!(refusal.starts_with(begin), "{refusal}");
        assert!(refusal.contains("on s390x-unknown-linux-gnu under qemu, "), "{refusal}");
        let end = "for x86_64-pc-windows-msvc as x86_64-pc-windows-gnu: to use it here at your own \
                   risk, turn on the cargo feature 'untested-platform' of foldb";
        assert!(refusal.ends_with(end), "{refusal}");
        let manifest = include_str!("../../../../Cargo.toml");
        assert!(manifest.contains(&format!("\n{FEATURE} = []\n")));
    }

    #[cfg(not(feature = "untested-platform"))]
    #[test]
    fn this_build_is_for_a_tested_platform() {
        assert!(check().is_ok(), "{HERE:?}");
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
