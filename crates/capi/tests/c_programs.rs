//! C programs against the library: compiled by the C compiler, linked both ways, and run.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a program is linked.
#[derive(Clone, Copy, Debug)]
enum Link {
    Static,
    Shared,
}

/// Returns the C compiler, or says that the test is skipped without one.
fn compiler() -> Option<String> {
    let name = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let found = Command::new(&name).arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: no C compiler '{name}'; install one, or name it in CC");
        return None;
    }
    Some(name)
}

/// The directory of the libraries that cargo built for this test.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_owned()
}

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn compile(compiler: &str, source: &str, link: Link, program: &Path) {
    let output = compilation(compiler, source, link, program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn compilation(compiler: &str, source: &str, link: Link, program: &Path) -> Command {
    let mut command = Command::new(compiler);
    command.args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"]);
    command.arg(format!("-DVERSION=\"{}\"", env!("CARGO_PKG_VERSION")));
    command.arg("-I").arg(own("include")).arg(own(source)).arg("-o").arg(program);
    match link {
        Link::Static => command.arg(libraries().join("libfoldb_capi.a")),
        Link::Shared => {
            // The program asks for the library by its soname when it starts.
            let beside = program.parent().unwrap();
            for name in ["libfoldb.so", "libfoldb.so.0"] {
                let _ = std::os::unix::fs::symlink(
                    libraries().join("libfoldb_capi.so"),
                    beside.join(name),
                );
            }
            command.arg("-L").arg(beside).arg("-lfoldb").arg("-Wl,-rpath,$ORIGIN")
        }
    };
    command.args(["-lpthread", "-ldl", "-lm"]);
    command
}

#[test]
fn every_call_answers_as_it_should() {
    let Some(compiler) = compiler() else { return };
    for link in [Link::Static, Link::Shared] {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("everything");
        compile(&compiler, "tests/c/everything.c", link, &program);
        let output = Command::new(&program).arg(dir.path().join("data")).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{link:?}: {told}");
        assert_eq!(output.stdout, b"every call answered as it should\n");
    }
}

#[test]
fn a_program_provides_parts_of_the_engine() {
    let Some(compiler) = compiler() else { return };
    for (name, answer) in [
        ("environment", "the environment did everything"),
        ("cache", "the cache had the blocks"),
        ("copies", "the copies are equal"),
        ("conditional", "every function of the program was asked"),
        ("queue", "every job has ended"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join(name);
        compile(&compiler, &format!("tests/c/{name}.c"), Link::Static, &program);
        let output = Command::new(&program).arg(dir.path().join("data")).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {told}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{answer}\n"));
    }
}

/// AddressSanitizer sees the heap of the library too: what C uses after a free, or never frees.
#[test]
fn no_call_misuses_or_leaks_memory() {
    let Some(compiler) = compiler() else { return };
    for name in ["everything", "environment", "cache", "copies", "conditional", "queue"] {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join(name);
        let source = format!("tests/c/{name}.c");
        let mut compile = compilation(&compiler, &source, Link::Static, &program);
        let output = compile.arg("-fsanitize=address,undefined").output().unwrap();
        if !output.status.success() {
            eprintln!("SKIPPED: the C compiler '{compiler}' has no AddressSanitizer");
            return;
        }
        let mut command = Command::new(&program);
        command.arg(dir.path().join("data")).env("ASAN_OPTIONS", "detect_leaks=1");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_example_counts_words() {
    let Some(compiler) = compiler() else { return };
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("counter");
    compile(&compiler, "examples/counter.c", Link::Static, &program);
    for expected in ["fold 3\n", "fold 6\n"] {
        let mut command = Command::new(&program);
        command.arg(dir.path().join("words.db")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, b"fold the fold by the fold\n").unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }
}

#[test]
fn the_test_programs_leave_no_function_out() {
    let header = std::fs::read_to_string(own("include/foldb.h")).unwrap();
    let programs = ["everything", "environment", "cache", "copies", "conditional", "queue"];
    let programs = programs.map(|name| format!("tests/c/{name}.c"));
    let program = programs.map(|name| std::fs::read_to_string(own(&name)).unwrap()).concat();
    let functions = header.lines().filter(|line| !line.trim_start().starts_with("//"));
    let functions = functions.filter_map(|line| {
        let name = line.split('(').next()?.split([' ', '*']).next_back()?;
        (line.contains('(') && name.starts_with("foldb_")).then_some(name)
    });
    let functions: Vec<_> = functions.collect();
    assert!(functions.len() > 60, "{functions:?}");
    let missing = functions.iter().filter(|name| !program.contains(&format!("{name}(")));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn the_header_is_cpp_too() {
    let name = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let mut command = Command::new(&name);
    command.args(["-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
    let Ok(output) = command.arg(own("include/foldb.h")).output() else {
        eprintln!("SKIPPED: no C++ compiler '{name}'; install one, or name it in CXX");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
