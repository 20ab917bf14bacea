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
    /// The loader of programs. Their libraries lie in its directory. `None` if it is the system's
    /// own, or if programs are static.
    loader: Option<&'static str>,
    pub(super) needs: &'static [Need],
}

/// The platforms, each with the tests of `run`. docs/limits.md has a row for each.
pub(crate) const MACHINES: [Machine; 7] = [
    Machine {
        target: "aarch64-unknown-linux-gnu",
        starts: Starts::Qemu("aarch64"),
        linker: Some("aarch64-linux-gnu-gcc"),
        loader: Some("/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1"),
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
        loader: None,
        needs: &[("qemu-aarch64", "qemu-user")],
    },
    Machine {
        target: "x86_64-unknown-linux-musl",
        starts: Starts::Natively,
        linker: Some("rust-lld"),
        loader: None,
        needs: &[],
    },
    Machine {
        target: "i686-unknown-linux-gnu",
        starts: Starts::Natively,
        linker: Some("i686-linux-gnu-gcc"),
        loader: None,
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
        loader: Some("/usr/s390x-linux-gnu/lib/ld64.so.1"),
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
        loader: Some("/usr/riscv64-linux-gnu/lib/ld-linux-riscv64-lp64d.so.1"),
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
        loader: None,
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
        self.with_libraries(step.with([program]))
    }

    /// Has qemu look for the loader and the libraries below the directory of this platform.
    fn with_libraries(&self, step: Step) -> Step {
        let directory = self.loader.and_then(|loader| Path::new(loader).ancestors().nth(2));
        directory.into_iter().fold(step, |step, path| step.set("QEMU_LD_PREFIX", path))
    }

    /// Returns a step of cargo with which programs of the target are linked and started.
    pub(crate) fn prepared(&self, step: Step) -> Step {
        self.with_libraries(self.linked_and_started(step))
    }

    fn linked_and_started(&self, mut step: Step) -> Step {
        if let Some(linker) = self.linker {
            step = step.set(self.setting("LINKER"), linker);
        }
        match self.starts {
            Starts::Natively => step,
            Starts::Qemu(processor) => {
                step.set(self.setting("RUNNER"), format!("qemu-{processor}"))
            }
            Starts::Wine => wine::set(step).set(self.setting("RUNNER"), wine::PROGRAM),
        }
    }

    /// Returns the name of a setting of cargo for this target.
    fn setting(&self, name: &str) -> String {
        format!("CARGO_TARGET_{}_{name}", self.target.to_uppercase().replace('-', "_"))
    }

    /// Returns a step of cargo whose tests may start their own executable again, and fork.
    pub(super) fn tested(&self, line: &str) -> Step {
        let step = match self.starts {
            Starts::Qemu(processor) => Step::new("ci/binfmt.sh").with([processor]),
            Starts::Natively | Starts::Wine => Step::new(""),
        };
        let step = step.with(line.split_whitespace()).with(["--target", self.target]);
        // A backtrace without lines costs a second run, and lines cost each compilation.
        let step = step.set("CARGO_PROFILE_DEV_DEBUG", "0").set("CARGO_PROFILE_TEST_DEBUG", "0");
        self.without_search(self.linked_and_started(step))
    }

    /// Links programs with the paths of their loader and libraries, so that qemu looks for no file
    /// below another directory. To look, qemu 7.2 takes a lock at each open of a file. A child that
    /// is forked meanwhile waits for this lock for ever.
    fn without_search(&self, step: Step) -> Step {
        let Starts::Qemu(_) = self.starts else { return step };
        let step = step.set("QEMU_LD_PREFIX", "/");
        let paths = self.loader.and_then(|loader| Some((loader, loader.rsplit_once('/')?.0)));
        paths.into_iter().fold(step, |step, (loader, libraries)| {
            let linked = format!(
                "-Clink-arg=-Wl,--dynamic-linker={loader} -Clink-arg=-Wl,-rpath={libraries}"
            );
            // In place of the caller's own flags, which would replace a setting of this target.
            step.set("RUSTFLAGS", linked)
        })
    }
}
