//! The platforms whose programs run here, and what each needs.

use std::path::Path;

use crate::emulated::needs::Need;
use crate::emulated::wine;
use crate::step::Step;

/// How programs of a platform start on an x86-64 Linux machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Starts {
    Natively,
    /// With qemu's emulation of a processor.
    Qemu(&'static str),
    Wine,
}

/// A platform whose tests run here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    pub target: &'static str,
    pub starts: Starts,
    /// The linker; `None` for cargo's own choice.
    linker: Option<&'static str>,
    /// The directory with the C library, for qemu.
    libraries: Option<&'static str>,
    pub(super) needs: &'static [Need],
}

/// The platforms, each with the tests of `run`. docs/limits.md has a row for each.
pub(crate) const MACHINES: [Machine; 7] = [
    Machine {
        target: "aarch64-unknown-linux-gnu",
        starts: Starts::Qemu("aarch64"),
        linker: Some("aarch64-linux-gnu-gcc"),
        libraries: Some("/usr/aarch64-linux-gnu"),
        needs: &[
            ("qemu-aarch64", "qemu-user"),
            ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
            ("/usr/aarch64-linux-gnu/include/stdio.h", "libc6-dev-arm64-cross"),
        ],
    },
    Machine {
        target: "aarch64-unknown-linux-musl",
        starts: Starts::Qemu("aarch64"),
        linker: Some("rust-lld"),
        libraries: None,
        needs: &[("qemu-aarch64", "qemu-user")],
    },
    Machine {
        target: "x86_64-unknown-linux-musl",
        starts: Starts::Natively,
        linker: Some("rust-lld"),
        libraries: None,
        needs: &[],
    },
    Machine {
        target: "i686-unknown-linux-gnu",
        starts: Starts::Natively,
        linker: Some("i686-linux-gnu-gcc"),
        libraries: None,
        needs: &[
            ("i686-linux-gnu-gcc", "gcc-i686-linux-gnu"),
            ("/usr/i686-linux-gnu/include/stdio.h", "libc6-dev-i386-cross"),
            ("/lib/ld-linux.so.2", "libc6-i386"),
            ("/usr/lib32/libgcc_s.so.1", "lib32gcc-s1"),
        ],
    },
    Machine {
        target: "s390x-unknown-linux-gnu",
        starts: Starts::Qemu("s390x"),
        linker: Some("s390x-linux-gnu-gcc"),
        libraries: Some("/usr/s390x-linux-gnu"),
        needs: &[
            ("qemu-s390x", "qemu-user"),
            ("s390x-linux-gnu-gcc", "gcc-s390x-linux-gnu"),
            ("/usr/s390x-linux-gnu/include/stdio.h", "libc6-dev-s390x-cross"),
        ],
    },
    Machine {
        target: "riscv64gc-unknown-linux-gnu",
        starts: Starts::Qemu("riscv64"),
        linker: Some("riscv64-linux-gnu-gcc"),
        libraries: Some("/usr/riscv64-linux-gnu"),
        needs: &[
            ("qemu-riscv64", "qemu-user"),
            ("riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu"),
            ("/usr/riscv64-linux-gnu/include/stdio.h", "libc6-dev-riscv64-cross"),
        ],
    },
    Machine {
        target: "x86_64-pc-windows-gnu",
        starts: Starts::Wine,
        linker: None,
        libraries: None,
        needs: &[(wine::PROGRAM, "wine64"), (wine::COMPILER, "gcc-mingw-w64-x86-64")],
    },
];

impl Machine {
    /// Returns the platform of a target.
    pub(crate) fn of(target: &str) -> Option<&'static Machine> {
        MACHINES.iter().find(|machine| machine.target == target)
    }

    /// Returns a step that starts a program of the platform.
    pub(crate) fn start(&self, program: &Path) -> Step {
        let step = match self.starts {
            Starts::Natively => Step::new(""),
            Starts::Qemu(processor) => Step::new(&format!("qemu-{processor}")),
            Starts::Wine => wine::set(Step::new(wine::PROGRAM)),
        };
        let libraries = self.libraries.into_iter().map(|path| ("QEMU_LD_PREFIX", path));
        libraries.fold(step.with([program]), |step, (name, path)| step.set(name, path))
    }

    /// Returns a step of cargo with which programs of the target are linked and started.
    pub(crate) fn prepared(&self, mut step: Step) -> Step {
        let own = self.target.to_uppercase().replace('-', "_");
        if let Some(linker) = self.linker {
            step = step.set(format!("CARGO_TARGET_{own}_LINKER"), linker);
        }
        let runner = match self.starts {
            Starts::Natively => return step,
            Starts::Qemu(processor) => format!("qemu-{processor}"),
            Starts::Wine => {
                step = wine::set(step);
                wine::PROGRAM.to_owned()
            }
        };
        if let Some(libraries) = self.libraries {
            step = step.set("QEMU_LD_PREFIX", libraries);
        }
        step.set(format!("CARGO_TARGET_{own}_RUNNER"), runner)
    }

    /// Returns a step of cargo whose tests may start their own executable again.
    pub(super) fn tested(&self, line: &str) -> Step {
        let step = match self.starts {
            Starts::Qemu(processor) => Step::new("ci/binfmt.sh").with([processor]),
            Starts::Natively | Starts::Wine => Step::new(""),
        };
        let step = step.with(line.split_whitespace()).with(["--target", self.target]);
        // A backtrace without lines costs a second run, and lines cost each compilation.
        let step = step.set("CARGO_PROFILE_DEV_DEBUG", "0").set("CARGO_PROFILE_TEST_DEBUG", "0");
        self.prepared(step)
    }
}
