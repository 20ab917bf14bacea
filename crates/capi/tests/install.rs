//! `cargo xtask install`, and a program that finds the library with pkg-config and with CMake.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a program, or returns `None` if there is none.
fn run(command: &mut Command) -> Option<Output> {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => panic!("{command:?}: {error}"),
    };
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
    Some(output)
}

fn install(prefix: &Path) {
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "-p", "xtask", "--", "install", "--from"]);
    // Cargo built the library for this test.
    let test = std::env::current_exe().unwrap();
    command.arg(test.parent().unwrap());
    let output = run(command.arg("--prefix").arg(prefix).current_dir(root())).expect("cargo");
    let told = String::from_utf8_lossy(&output.stdout);
    for file in ["include/foldb.h", "lib/libfoldb.a", "lib/libfoldb.so.0", "lib/libfoldb.so"] {
        assert!(told.contains(&format!("{}\n", prefix.join(file).display())), "{told}");
        assert!(prefix.join(file).exists(), "{file}");
    }
}

fn counts_words(program: &Path, dir: &Path) {
    let text = dir.join("text");
    std::fs::write(&text, "fold the fold\n").unwrap();
    let mut command = Command::new(program);
    command.arg(dir.join("words.db")).stdin(std::fs::File::open(text).unwrap());
    assert_eq!(run(&mut command).expect("the program").stdout, b"fold 2\n");
    std::fs::remove_dir_all(dir.join("words.db")).unwrap();
}

#[test]
fn an_installed_library_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("prefix");
    install(&prefix);
    // A second install replaces the first.
    install(&prefix);
    let example = root().join("crates/capi/examples/counter.c");

    let mut flags = Command::new("pkg-config");
    flags.args(["--cflags", "--libs", "foldb"]);
    match run(flags.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))) {
        None => eprintln!("SKIPPED: no pkg-config; install it"),
        Some(flags) => {
            let program = dir.path().join("counter");
            let mut compile = Command::new("cc");
            compile.arg(&example).arg("-o").arg(&program);
            compile.args(String::from_utf8_lossy(&flags.stdout).split_whitespace());
            compile.arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()));
            match run(&mut compile) {
                None => eprintln!("SKIPPED: no C compiler 'cc'; install one"),
                Some(_) => counts_words(&program, dir.path()),
            }
        }
    }

    let project = dir.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let lists = format!(
        "cmake_minimum_required(VERSION 3.10)\nproject(words C)\n\
         find_package(foldb 0.1 REQUIRED)\n\
         add_executable(shared {example})\ntarget_link_libraries(shared foldb::foldb)\n\
         add_executable(static {example})\ntarget_link_libraries(static foldb::static)\n",
        example = example.display()
    );
    std::fs::write(project.join("CMakeLists.txt"), lists).unwrap();
    let build = project.join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&project).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    match run(&mut configure) {
        None => eprintln!("SKIPPED: no cmake; install it"),
        Some(_) => {
            run(Command::new("cmake").arg("--build").arg(&build)).expect("cmake");
            counts_words(&build.join("shared"), dir.path());
            counts_words(&build.join("static"), dir.path());
        }
    }
}
