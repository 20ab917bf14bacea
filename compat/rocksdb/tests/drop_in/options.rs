//! Each getter of an option returns what its setter was given.
//!
//! The program is generated from `functions.txt`: every pair of `rocksdb_OBJECT_set_NAME` and
//! `rocksdb_OBJECT_get_NAME`, with the default and several values of the type. The expected output
//! is that of RocksDB 10.4.2.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::library::compiler;
use crate::program::directory;
use crate::programs::matches_the_file;

const FUNCTIONS: &str = include_str!("../../functions.txt");

/// A function's name, the types of its parameters, and the type of its result.
struct Function<'a> {
    result: &'a str,
    name: &'a str,
    parameters: Vec<&'a str>,
}

/// Reads a line `VERDICT | RESULT NAME(PARAMETERS) | NOTE`.
fn function(line: &str) -> Option<Function<'_>> {
    let declaration = line.split('|').nth(1)?.trim();
    let (head, parameters) = declaration.split_once('(')?;
    let (result, name) = head.rsplit_once(' ')?;
    let parameters = parameters.strip_suffix(')')?.split(", ");
    let types = parameters.map(|parameter| parameter.rsplit_once(' ').map_or(parameter, |it| it.0));
    Some(Function { result, name, parameters: types.collect() })
}

/// Returns values of a C type, or nothing for a type that is not a number.
fn values(kind: &str) -> &'static [&'static str] {
    match kind {
        "unsigned char" | "bool" => &["1", "0"],
        "int" | "unsigned int" | "uint32_t" | "uint8_t" => &["1", "2", "3", "0"],
        "int64_t" | "uint64_t" | "size_t" => &["1", "1048577", "4294967299", "0"],
        "double" => &["0.5", "2.25", "0"],
        _ => &[],
    }
}

/// A setter, its getter, and the type of what it sets.
struct Pair<'a> {
    setter: &'a str,
    getter: &'a str,
    kind: &'a str,
}

/// Returns the pairs of setter and getter, by the object that they belong to.
fn pairs<'a>(functions: &[Function<'a>]) -> BTreeMap<&'a str, Vec<Pair<'a>>> {
    let by_name: BTreeMap<&str, &Function<'a>> =
        functions.iter().map(|function| (function.name, function)).collect();
    let mut pairs: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for setter in functions {
        let [object, kind] = setter.parameters[..] else { continue };
        let Some(object) = object.strip_suffix("_t*") else { continue };
        let getter = setter.name.replacen("_set_", "_get_", 1);
        let Some(getter) = by_name.get(getter.as_str()).filter(|it| it.name != setter.name) else {
            continue;
        };
        if getter.parameters.len() == 1 && !values(kind).is_empty() {
            assert!(!values(getter.result).is_empty(), "{}", getter.name);
            let pair = Pair { setter: setter.name, getter: getter.name, kind };
            pairs.entry(object).or_default().push(pair);
        }
    }
    pairs
}

/// Prints what a getter returned.
const SHOW: &str = r#"#include "check.h"

static void show(const char* what, double seen) {
  printf("%s: %.17g\n", what, seen);
}

"#;

/// Returns the program. Each object has a function of its own.
fn program() -> String {
    let functions: Vec<_> = FUNCTIONS.lines().filter_map(function).collect();
    let (mut program, mut calls) = (SHOW.to_owned(), String::new());
    for (object, pairs) in pairs(&functions) {
        let create = format!("{object}_create");
        let Some(create) = functions.iter().find(|it| it.name == create) else { continue };
        let argument = match create.parameters[..] {
            ["void"] => "",
            ["const char*"] => "\"directory\"",
            _ => continue,
        };
        let name = object.trim_start_matches("rocksdb_");
        writeln!(program, "static void of_{name}(void) {{").unwrap();
        writeln!(program, "  {object}_t* object = {}({argument});", create.name).unwrap();
        program += &calls_of(&pairs);
        writeln!(program, "  {object}_destroy(object);\n}}\n").unwrap();
        writeln!(calls, "  of_{name}();").unwrap();
    }
    program += "int main(int count, char** arguments) {\n  start(count, arguments);\n";
    program + &calls + "  return finish();\n}\n"
}

/// Returns the calls of each setter of an object, with a call of its getter before and after.
fn calls_of(pairs: &[Pair<'_>]) -> String {
    let mut calls = String::new();
    for Pair { setter, getter, kind } in pairs {
        let show = format!("  show(\"{getter}\", (double){getter}(object));");
        writeln!(calls, "{show}").unwrap();
        for value in values(kind) {
            writeln!(calls, "  {setter}(object, {value});\n{show}").unwrap();
        }
    }
    calls
}

#[test]
fn each_getter_returns_what_was_set() {
    let Some(compiler) = compiler() else { return };
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("options.c");
    let text = program();
    assert!(text.matches("_get_").count() > 400, "the list of functions was not understood");
    std::fs::write(&source, text).unwrap();
    matches_the_file(&compiler, &source, &directory().join("options.expected"));
}
