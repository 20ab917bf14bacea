//! Tries an artifact as a user would: unpacks it elsewhere, and runs it on its own platform or
//! under its emulator. C programs are compiled against the unpacked header and library.

use std::fs;
use std::path::{Path, PathBuf};

use crate::dist::build::only_entry;
use crate::dist::platform::{Part, Platform};
use crate::dist::tools::with_tools;
use crate::prefix::target_directory;
use crate::shared_library::told;
use crate::step::{Step, root};

/// What the shell counts, and what it must find.
const WORDS: &str = "to\nbe\nor\nnot\nto\nbe\n";
const COUNTS: &str = "be\t2\nnot\t1\nor\t1\nto\t2\n";
const COUNT_IN_PYTHON: &str = r#"
import sys, foldb
counts = foldb.open(sys.argv[1], keys="str", merge_operator="int64add").counters()
counts.update(sys.stdin.read().split())
print(dict(counts))"#;
const COUNTED_IN_PYTHON: &str = "{'be': 2, 'not': 1, 'or': 1, 'to': 2}";

/// Tries an artifact. Returns what was tried, for the manifest.
///
/// # Errors
/// It does not do what it must.
pub(super) fn tried(
    platform: &'static Platform,
    part: Part,
    file: &Path,
) -> Result<String, String> {
    let trial = Trial::begin(platform, part, file)?;
    match part {
        Part::Programs => trial.programs(),
        Part::Libfoldb => trial.libfoldb(),
        Part::Libleveldb => trial.compatible(
            &["compat/leveldb/tests/c/everything.c", "compat/leveldb/tests/c/report.c"],
            "leveldb",
        ),
        Part::Librocksdb => {
            trial.compatible(&["compat/rocksdb/tests/programs/reads_and_writes.c"], "rocksdb")
        }
        Part::Wheel if platform.machine().is_none() => trial.wheel(file),
        Part::Wheel => trial.has("foldb/_foldb.abi3.so"),
        Part::Jar => trial.jar(),
        Part::Sources => trial.has("foldb/streams/FoldbStoreSuppliers.java"),
        Part::Javadoc => trial.has("foldb/streams/FoldbStoreSuppliers.html"),
    }
}

/// An unpacked artifact.
struct Trial {
    platform: &'static Platform,
    /// Where programs run: empty but for what was unpacked.
    directory: PathBuf,
    /// The artifact's files.
    files: PathBuf,
}

impl Trial {
    fn begin(platform: &'static Platform, part: Part, file: &Path) -> Result<Trial, String> {
        let directory = target_directory()?.join("dist-trial");
        if directory.exists() {
            fs::remove_dir_all(&directory).map_err(|error| told("remove", &directory, error))?;
        }
        fs::create_dir_all(&directory).map_err(|error| told("create", &directory, error))?;
        let mut files = directory.clone();
        match part {
            Part::Wheel | Part::Jar | Part::Sources | Part::Javadoc => {
                let step = Step::new("python3 -m zipfile -e").with([file, directory.as_path()]);
                step.run()?;
            }
            _ => {
                Step::new("tar -x -f").with([file]).with(["-C"]).with([&directory]).run()?;
                files = only_entry(&directory)?;
            }
        }
        Ok(Trial { platform, directory, files })
    }

    /// Returns a step that starts a program of the artifact's platform.
    fn start(&self, program: &Path) -> Step {
        let machine = self.platform.machine();
        machine.map_or_else(|| Step::new("").with([program]), |machine| machine.start(program))
    }

    fn programs(&self) -> Result<String, String> {
        let bin = |name: &str| self.files.join("bin").join(self.platform.program(name));
        let database = self.directory.join("words");
        let shell = |command: &str| self.start(&bin("foldb")).with([command]).with([&database]);
        shell("count").answer(WORDS)?;
        let found = shell("scan").answer("")?.replace("\r\n", "\n");
        expect(&found, COUNTS, "foldb scan")?;
        shell("verify").answer("")?;
        let bench = self.start(&bin("db_bench")).with(["--benchmarks=fillseq,readseq"]);
        let database = format!("--db={}", self.directory.join("bench").display());
        let printed = bench.with(["--num=2000", database.as_str()]).answer("")?;
        let has_both = printed.contains("fillseq") && printed.contains("readseq");
        if has_both {
            Ok("count, scan, verify; db_bench".to_owned())
        } else {
            Err(format!("db_bench prints {printed}"))
        }
    }

    /// Compiles the example of the header, and counts words with it.
    fn libfoldb(&self) -> Result<String, String> {
        let program = self.compile(&["crates/capi/examples/counter.c"], "foldb")?;
        if self.platform.is_windows() {
            let library = "foldb_capi.dll";
            let from = self.files.join("bin").join(library);
            fs::copy(&from, self.directory.join(library))
                .map_err(|error| told("copy", &from, error))?;
        }
        let run = self.start(&program).with([self.directory.join("words")]);
        let found = run.answer("two one two\n")?;
        expect(found.trim_end(), "two 2", "counter.c")?;
        Ok("counter.c".to_owned())
    }

    /// Runs a program of the tests, which ends by itself if an answer is wrong.
    fn compatible(&self, sources: &[&str], library: &str) -> Result<String, String> {
        let program = self.compile(sources, library)?;
        let database = self.directory.join("databases");
        fs::create_dir_all(&database).map_err(|error| told("create", &database, error))?;
        self.start(&program).with([database]).answer("")?;
        let name = Path::new(sources[0]).file_name().unwrap_or_default();
        Ok(name.display().to_string())
    }

    /// Compiles a C program against the artifact's header and library. Returns its path.
    fn compile(&self, sources: &[&str], library: &str) -> Result<PathBuf, String> {
        let program = self.directory.join(self.platform.program("program"));
        let lib = self.files.join("lib");
        let mut step = with_tools(Step::new("").with(self.platform.cc.iter().copied()))?
            .with(["-I".into(), self.files.join("include")])
            .with(sources.iter().map(|source| root().join(source)))
            .with(["-o".into(), program.clone()]);
        step = if self.platform.is_windows() {
            step.with([lib.join("libfoldb_capi.dll.a")])
        } else if self.platform.has_glibc() {
            step.with(["-L".into(), lib.clone()])
                .with([format!("-l{library}"), format!("-Wl,-rpath,{}", lib.display())])
        } else {
            // zig has the unwinder that a compiler of the platform links by itself.
            step.with(["-static".into(), lib.join("libfoldb.a"), "-lunwind".into()])
        };
        step.run()?;
        Ok(program)
    }

    /// Installs the wheel in an environment of its own, and counts with it.
    fn wheel(&self, file: &Path) -> Result<String, String> {
        let own = self.directory.join("venv");
        Step::new("python3 -m venv").with([&own]).run()?;
        let pip = Step::new("").with([own.join("bin/pip")]);
        pip.with(["install", "-q", "--no-index"]).with([file]).run()?;
        let shell = || Step::new("").with([own.join("bin/foldb")]);
        let database = self.directory.join("words");
        shell().with(["count"]).with([&database]).answer(WORDS)?;
        let script = "import sys, foldb; print(foldb.__version__)";
        let python =
            |flag, script| Step::new("").with([own.join("bin/python")]).with([flag, script]);
        expect(
            python("-c", script).answer("")?.trim_end(),
            crate::version::PRESENT,
            "foldb.__version__",
        )?;
        expect(&shell().with(["scan"]).with([&database]).answer("")?, COUNTS, "foldb scan")?;
        let counted = python("-c", COUNT_IN_PYTHON).with([self.directory.join("counts")]);
        expect(counted.answer(WORDS)?.trim_end(), COUNTED_IN_PYTHON, "counters()")?;
        Ok("pip install, count, scan, counters()".to_owned())
    }

    /// Has a JVM load the library of this platform out of the jar, and open a store.
    fn jar(&self) -> Result<String, String> {
        self.has("foldb/native/linux-x86_64/libfoldb_jni.so")?;
        Step::new("cargo xtask streams start").run()?;
        Ok("java opens a store on x86_64 with glibc".to_owned())
    }

    /// Checks that a library is there. What loads it is not here.
    fn has(&self, name: &str) -> Result<String, String> {
        let path = self.directory.join(name);
        if path.exists() {
            Ok(format!("not run: has {name}"))
        } else {
            Err(format!("there is no {name} in it"))
        }
    }
}

fn expect(found: &str, expected: &str, what: &str) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what} prints {found:?}, but must print {expected:?}"))
}
