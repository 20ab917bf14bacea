//! The encoders of docs/operators.md write the bytes that the page shows, in every language. A test
//! is skipped with a message where the language is missing.

use std::path::Path;
use std::process::Command;

use foldb::operators::{builtins, histogram, list, set, stats, top};

const PAGE: &str = include_str!("../../../../../docs/operators.md");

/// The operands of the page's table of bytes, and then longer ones.
fn operands() -> Vec<Vec<u8>> {
    let long = [b'x'; 300];
    vec![
        258u64.to_le_bytes().to_vec(),
        (-2i64).to_le_bytes().to_vec(),
        0.5f64.to_le_bytes().to_vec(),
        list::operand(["a", "bc"]),
        set::add("red"),
        set::remove("red"),
        stats::operand([12]),
        stats::operand([7, -30]),
        top::operand([(7, "bob"), (7, "ann"), (9, "eve")]),
        histogram::operand([0.25, -1.0]),
        list::operand([&long[..], b""]),
        stats::operand([i64::MAX; 3]),
        stats::operand([i64::MIN, i64::MIN, 5]),
        top::operand([(i64::MIN, &long[..])]),
        Vec::new(),
        Vec::new(),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn lines() -> String {
    operands().iter().map(|operand| hex(operand) + "\n").collect()
}

/// Returns the blocks of the page in a language.
fn blocks(language: &str) -> String {
    let fence = format!("```{language}\n");
    let blocks = PAGE.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap());
    let blocks = blocks.collect::<Vec<_>>().join("\n");
    assert!(!blocks.is_empty(), "{language}");
    blocks
}

/// Whether a program of this name runs. Prints a message if not.
fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("SKIPPED: there is no '{program}'");
    }
    found
}

/// Runs a program in a directory and returns what it prints.
fn run(directory: &Path, program: &str, arguments: &[&str]) -> String {
    let output =
        Command::new(program).args(arguments).current_dir(directory).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {told}");
    String::from_utf8(output.stdout).expect("text")
}

/// Writes a program, builds it if a compiler is given, and returns what it prints.
fn printed(file: &str, text: &str, steps: &[&[&str]]) -> String {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(file), text).unwrap();
    let mut printed = String::new();
    for step in steps {
        printed = run(directory.path(), step[0], &step[1..]);
    }
    printed
}

#[test]
fn the_page_shows_these_bytes() {
    let of_row = |line: &str| {
        let bytes = line.strip_prefix("| `")?.strip_suffix("` |")?.rsplit_once("| `")?.1;
        bytes.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| bytes.to_owned())
    };
    let shown: Vec<String> = PAGE.lines().filter_map(of_row).collect();
    let made: Vec<String> = operands().iter().take(shown.len()).map(|one| hex(one)).collect();
    assert_eq!((shown.len(), shown), (10, made));
}

const PYTHON: &str = r#"
for operand in (
    uint64(258), int64(-2), float64(0.5), list_of(b"a", b"bc"), set_add(b"red"), set_remove(b"red"),
    stats(12), stats(7, -30), top({b"bob": 7, b"ann": 7, b"eve": 9}), histogram(0.25, -1),
    list_of(b"x" * 300, b""), stats(*[2**63 - 1] * 3), stats(-2**63, -2**63, 5),
    top({b"x" * 300: -2**63}), stats(), histogram(),
):
    print(operand.hex())
"#;

#[test]
fn python_writes_the_same_operands() {
    if is_there("python3") {
        let program = blocks("python") + PYTHON;
        assert_eq!(printed("operands.py", &program, &[&["python3", "operands.py"]]), lines());
    }
}

/// Folds all operands of an operator onto nothing.
fn folded(name: &str, operands: &[Vec<u8>]) -> Vec<u8> {
    let info = builtins().iter().find(|info| info.name == name).unwrap();
    let operands: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
    let mut out = Vec::new();
    info.instantiate(None).unwrap().full(b"key", None, &operands, &mut out);
    out
}

#[test]
fn python_reads_values() {
    if !is_there("python3") {
        return;
    }
    let samples: Vec<f64> = vec![-300.5, -300.5, 0.0, 1e-320, 1e-9, 0.1, 7.0, 7.01, 1e300];
    let buckets =
        folded("histogram", &samples.iter().map(|x| histogram::operand([*x])).collect::<Vec<_>>());
    let values = [
        ("read_stats", stats::operand([])),
        ("read_stats", stats::operand([-5])),
        ("read_stats", stats::operand([i64::MIN, 3, 4])),
        ("read_histogram", Vec::new()),
        ("read_histogram", histogram::operand([3.0, 1.0])),
        ("read_histogram", buckets.clone()),
    ];
    let mut program = blocks("python");
    for (read, value) in &values {
        program += &format!("print({read}(bytes.fromhex('{}')))\n", hex(value));
    }
    let found = printed("values.py", &program, &[&["python3", "values.py"]]);
    let found: Vec<&str> = found.lines().collect();
    let few = format!("(3, {}, {}, 4)", i128::from(i64::MIN) + 7, i64::MIN);
    let expected = ["None", "(1, -5, -5, -5)", &few, "[]", "[(1.0, 1), (3.0, 1)]"];
    assert_eq!(found[..5], expected);
    // The numbers of the buckets are those that Rust reads, the first and the last among them.
    for q in [0.0, 0.5, 1.0] {
        let number = histogram::quantile(&buckets, q).unwrap().unwrap();
        let pair = found[5].trim_matches(['[', ']']).split("), (").find(|pair| {
            pair.trim_matches(['(', ')']).split(", ").next().unwrap().parse() == Ok(number)
        });
        assert!(pair.is_some(), "{number} in {}", found[5]);
    }
    assert!(found[5].contains("(0.0, 2)"), "{}", found[5]);
}

const C: &str = r#"
#include <stdio.h>

static void print(const uint8_t *from, const uint8_t *to) {
  for (; from < to; from++) printf("%02x", *from);
  printf("\n");
}

int main(void) {
  uint8_t out[1000], x[300];
  memset(x, 'x', sizeof x);
  print(out, put_u64(out, 258));
  print(out, put_u64(out, (uint64_t)-2));
  print(out, put_f64(out, 0.5));
  print(out, put_delimited(put_delimited(out, "a", 1), "bc", 2));
  print(out, put_change(out, '+', "red", 3));
  print(out, put_change(out, '-', "red", 3));
  print(out, put_stats(out, (int64_t[]){12}, 1));
  print(out, put_stats(out, (int64_t[]){7, -30}, 2));
  print(out, put_item(put_item(put_item(out, 9, "eve", 3), 7, "ann", 3), 7, "bob", 3));
  print(out, put_samples(out, (double[]){0.25, -1}, 2));
  print(out, put_delimited(put_delimited(out, x, sizeof x), "", 0));
  print(out, put_stats(out, (int64_t[]){INT64_MAX, INT64_MAX, INT64_MAX}, 3));
  print(out, put_stats(out, (int64_t[]){INT64_MIN, INT64_MIN, 5}, 3));
  print(out, put_item(out, INT64_MIN, x, sizeof x));
  print(out, put_stats(out, NULL, 0));
  print(out, put_samples(out, NULL, 0));
  return 0;
}
"#;

#[test]
fn c_writes_the_same_operands() {
    if is_there("cc") {
        let program = blocks("c") + C;
        let strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];
        let compile = [&["cc"][..], &strict, &["operands.c", "-o", "operands"]].concat();
        assert_eq!(
            printed("operands.c", &program, &[&compile, &["sh", "-c", "./operands"]]),
            lines()
        );
    }
}

const JAVA: &str = r#"
final class Main {
    private static byte[] bytes(String text) {
        return text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
    }

    public static void main(String[] arguments) {
        byte[] x = bytes("x".repeat(300));
        byte[][] operands = {
            Operands.int64(258), Operands.int64(-2), Operands.float64(0.5),
            Operands.list(bytes("a"), bytes("bc")),
            Operands.setAdd(bytes("red")), Operands.setRemove(bytes("red")),
            Operands.stats(12), Operands.stats(7, -30),
            Operands.top(Map.of(bytes("bob"), 7L, bytes("ann"), 7L, bytes("eve"), 9L)),
            Operands.histogram(0.25, -1),
            Operands.list(x, bytes("")),
            Operands.stats(Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE),
            Operands.stats(Long.MIN_VALUE, Long.MIN_VALUE, 5),
            Operands.top(Map.of(x, Long.MIN_VALUE)),
            Operands.stats(), Operands.histogram(),
        };
        for (byte[] operand : operands) {
            System.out.println(java.util.HexFormat.of().formatHex(operand));
        }
    }
}

"#;

#[test]
fn java_writes_the_same_operands() {
    if is_there("java") {
        // Java runs the first class of a file.
        let program = blocks("java").replacen("final class", &format!("{JAVA}final class"), 1);
        assert_eq!(printed("Main.java", &program, &[&["java", "Main.java"]]), lines());
    }
}
