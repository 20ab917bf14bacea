//! What is built for which platform.

use crate::emulated::machine::Machine;
use crate::emulated::needs::Need;

/// The oldest glibc on which the programs and libraries of Rust run: that of Debian 10 and RHEL 8.
pub(super) const GLIBC: &str = "2.28";

/// Something that a user gets as one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// `foldb` and `db_bench`.
    Programs,
    /// The C library with its header.
    Libfoldb,
    Libleveldb,
    Librocksdb,
    /// The Python package.
    Wheel,
    /// The Kafka Streams store.
    Jar,
    /// The sources of the jar. It comes after the jar, whose build makes it.
    Sources,
    /// The documentation of the jar. It comes after the jar, whose build makes it.
    Javadoc,
}

impl Part {
    /// Returns its name in the manifest, and in the names of archives.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::Programs => "foldb",
            Part::Libfoldb => "libfoldb",
            Part::Libleveldb => "libleveldb",
            Part::Librocksdb => "librocksdb",
            Part::Wheel => "wheel",
            Part::Jar => "jar",
            Part::Sources => "sources of the jar",
            Part::Javadoc => "javadoc of the jar",
        }
    }
}

/// A platform of a release.
#[derive(Debug)]
pub(crate) struct Platform {
    pub target: &'static str,
    pub parts: &'static [Part],
    /// Why the other parts are not for this platform.
    pub lacks: &'static str,
    /// The compilers of its C and C++; cargo links with zig's where Rust has a floor of glibc.
    pub(super) cc: &'static [&'static str],
    pub(super) cxx: Option<&'static str>,
    /// What the platform needs beside what its [`Machine`] needs.
    pub(super) needs: &'static [Need],
}

/// The platforms. docs/install.md has a section for each.
pub(crate) const PLATFORMS: [Platform; 5] = [
    Platform {
        target: "x86_64-unknown-linux-gnu",
        parts: &[
            Part::Programs,
            Part::Libfoldb,
            Part::Libleveldb,
            Part::Librocksdb,
            Part::Wheel,
            Part::Jar,
            Part::Sources,
            Part::Javadoc,
        ],
        lacks: "",
        cc: &["cc"],
        cxx: Some("c++"),
        needs: &[("c++", "g++")],
    },
    Platform {
        target: "aarch64-unknown-linux-gnu",
        parts: &[Part::Programs, Part::Libfoldb, Part::Libleveldb, Part::Librocksdb, Part::Wheel],
        lacks: "the jar of x86_64-unknown-linux-gnu is for every platform whose library it holds",
        cc: &["aarch64-linux-gnu-gcc"],
        cxx: Some("aarch64-linux-gnu-g++"),
        needs: &[("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu")],
    },
    Platform {
        target: "x86_64-unknown-linux-musl",
        parts: &[Part::Programs, Part::Libfoldb],
        lacks: STATIC,
        cc: &["python3", "-m", "ziglang", "cc", "-target", "x86_64-linux-musl"],
        cxx: None,
        needs: &[],
    },
    Platform {
        target: "aarch64-unknown-linux-musl",
        parts: &[Part::Programs, Part::Libfoldb],
        lacks: STATIC,
        cc: &["python3", "-m", "ziglang", "cc", "-target", "aarch64-linux-musl"],
        cxx: None,
        needs: &[],
    },
    Platform {
        target: "x86_64-pc-windows-gnu",
        parts: &[Part::Programs, Part::Libfoldb],
        lacks: "libleveldb and librocksdb know Linux only; a wheel for Windows needs its Python",
        cc: &["x86_64-w64-mingw32-gcc"],
        cxx: None,
        needs: &[],
    },
];

/// Why a platform with musl lacks parts.
const STATIC: &str = "its programs and libraries are static, and the other parts are shared ones";

impl Platform {
    /// Returns how its programs start here. `None` for the platform of this machine.
    pub(super) fn machine(&self) -> Option<&'static Machine> {
        Machine::of(self.target)
    }

    pub(super) fn has_glibc(&self) -> bool {
        self.target.ends_with("linux-gnu")
    }

    pub(super) fn is_windows(&self) -> bool {
        self.target.contains("windows")
    }

    /// Returns the name of a program's file.
    pub(super) fn program(&self, name: &str) -> String {
        format!("{name}{}", if self.is_windows() { ".exe" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::step::root;

    #[test]
    fn every_platform_but_this_one_has_a_machine() {
        for platform in &PLATFORMS[1..] {
            assert!(platform.machine().is_some(), "{}", platform.target);
        }
        assert!(PLATFORMS[0].machine().is_none());
    }

    #[test]
    fn the_page_on_installing_has_each_platform() {
        let page = fs::read_to_string(root().join("docs/install.md")).unwrap();
        for platform in &PLATFORMS {
            assert!(page.contains(platform.target), "{}", platform.target);
        }
    }
}
