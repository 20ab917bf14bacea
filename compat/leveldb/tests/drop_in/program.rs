//! Compiles the test programs, runs them, and compares what they print.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::library::{Library, own_directory};
pub(crate) use crate::printed::{Printed, assert_same, printed_by};

/// How a program is linked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Link {
    Shared,
    Static,
}

/// A program: its directories of sources below tests/.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub name: &'static str,
    pub directories: &'static [&'static str],
}

pub(crate) const EVERYTHING: Program =
    Program { name: "everything", directories: &["everything", "support"] };
pub(crate) const EVERYTHING_IN_C: Program = Program { name: "everything_c", directories: &["c"] };
pub(crate) const PORT: Program = Program { name: "port", directories: &["port"] };
pub(crate) const PORT_INTERNAL: Program =
    Program { name: "port_internal", directories: &["port_internal"] };
pub(crate) const RANDOM: Program = Program { name: "random", directories: &["random", "support"] };

impl Program {
    /// Compiles the sources against a library's headers. Returns the objects.
    pub(crate) fn compile(
        &self,
        compiler: &str,
        library: &Library,
        link: Link,
        flags: &[&str],
        into: &Path,
    ) -> Vec<PathBuf> {
        let tests = own_directory().join("tests");
        let sources: Vec<PathBuf> = self
            .directories
            .iter()
            .flat_map(|directory| std::fs::read_dir(tests.join(directory)).expect("sources"))
            .map(|entry| entry.expect("a source").path())
            .filter(|path| path.extension().is_some_and(|own| own == "cc" || own == "c"))
            .collect();
        let queue = Mutex::new(sources.iter());
        let objects = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    loop {
                        let Some(source) = queue.lock().expect("no panic").next() else { return };
                        let stem = source.file_stem().expect("a name").to_string_lossy();
                        let object = into.join(format!("{}-{stem}.o", self.name));
                        let mut command = Command::new(compiler);
                        if source.extension().is_some_and(|own| own == "c") {
                            command.args(["-x", "c", "-std=c11"]);
                        } else {
                            command.arg("-std=c++17");
                        }
                        command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread"]);
                        if link == Link::Static {
                            command.arg("-DSTATIC_LINK");
                        }
                        for directory in self.directories {
                            command.arg("-I").arg(tests.join(directory));
                        }
                        command.arg("-I").arg(&library.include).args(flags);
                        run(command.arg("-c").arg(source).arg("-o").arg(&object));
                        objects.lock().expect("no panic").push(object);
                    }
                });
            }
        });
        objects.into_inner().expect("no panic")
    }

    /// Compiles and links the program. The file's name tells the library and the kind of link.
    pub(crate) fn build(
        &self,
        compiler: &str,
        library: &Library,
        link: Link,
        flags: &[&str],
        dir: &Path,
    ) -> PathBuf {
        let name = format!("{}-{}-{link:?}", self.name, library.name);
        let objects = dir.join(format!("{name}.objects"));
        std::fs::create_dir_all(&objects).expect("a directory");
        let objects = self.compile(compiler, library, link, flags, &objects);
        let program = dir.join(name);
        let mut command = Command::new(compiler);
        command.args(flags).args(objects).arg("-o").arg(&program);
        match link {
            Link::Static => {
                command.arg(library.lib.join("libleveldb.a")).args(library.beside_static)
            }
            // Without a path of its own, the program follows LD_LIBRARY_PATH.
            Link::Shared => command.arg("-L").arg(&library.lib).args(["-lleveldb", "-lpthread"]),
        };
        run(&mut command);
        program
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
}

/// Runs a program with the shared library of `library`, in a directory of its own.
pub(crate) fn printed(
    program: &Path,
    library: &Library,
    dir: &Path,
    arguments: &[&str],
) -> Printed {
    let data = dir.join("data");
    let _ = std::fs::remove_dir_all(&data);
    std::fs::create_dir_all(&data).expect("a directory");
    let mut command = Command::new(program);
    command.arg(&data).args(arguments).env("LD_LIBRARY_PATH", &library.lib);
    printed_by(command, &format!("{} with the library {}", program.display(), library.name), dir)
}
