//! The text of the header.

use crate::Functions;
use crate::list::Group;

/// Most columns of a line.
const COLUMNS: usize = 80;

const BEGIN: &str = "\
/* The C interface of RocksDB 10.4, over foldb.

   The lists in compat/rocksdb make this file: change them, and not the file.

   - The library owns the contents of every object. A program has pointers, and
     gives each object back with the function for it, such as
     `rocksdb_options_destroy`. Memory that has none goes to `rocksdb_free`.
   - A call that can fail takes `errptr`. The pointer there is NULL, or a text
     that malloc gave. If the call fails, the library frees that text and puts a
     new one in its place. If it succeeds, it leaves the pointer alone.
   - An unsigned char that answers or decides a question is 0 for no, and
     anything else for yes.
   - No pointer may be NULL unless the function says so.
   - Bytes have a length beside them, and may contain any byte.

   docs/rocksdb.md tells what the library does with each function. Here, a
   comment marks the functions that are ignored or refused. */

#ifndef FOLDB_ROCKSDB_C_H
#define FOLDB_ROCKSDB_C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stands before each function. A program may define it first. */
#ifndef ROCKSDB_LIBRARY_API
#define ROCKSDB_LIBRARY_API
#endif

#ifdef __cplusplus
extern \"C\" {
#endif
";

const END: &str = "
#ifdef __cplusplus
}
#endif

#endif
";

/// Returns the header.
pub(crate) fn header(
    types: &[Group<'_>],
    constants: &[Group<'_>],
    functions: &[Functions<'_>],
) -> String {
    let mut text = BEGIN.to_owned();
    for group in types {
        text += &heading(group);
        group.lines.iter().for_each(|line| text += &type_of(line));
    }
    for group in constants {
        text += &heading(group);
        text += &format!("enum {{\n  {}\n}};\n", group.lines.join(",\n  "));
    }
    for Functions { group, functions } in functions {
        text += &heading(group);
        for function in functions {
            if function.verdict != "honoured" {
                text += &comment(&format!("{}: {}", function.verdict, function.note));
            }
            text += &declared(function.declaration);
        }
    }
    text + END
}

fn heading(group: &Group<'_>) -> String {
    format!("\n{}\n", comment(&format!("{}. {}", group.title, group.words)))
}

/// Returns the definition of an object, or of a type of callbacks.
fn type_of(line: &str) -> String {
    if line.contains("(*") {
        return wrapped(format!("typedef {line};").split_inclusive(", "));
    }
    broken(&format!("typedef struct {line} {line};"), "    ")
}

/// Returns the declaration of a function. A parameter stays on one line.
fn declared(declaration: &str) -> String {
    let (before, parameters) = declaration.split_once('(').expect("parameters");
    let (result, name) = before.rsplit_once(' ').expect("a result");
    let result = format!("ROCKSDB_LIBRARY_API {result}");
    let is_short = result.len() + 1 + name.len() < COLUMNS;
    let begin = format!("{result}{}{name}(", if is_short { " " } else { "\n" });
    let parameters = format!("{parameters};");
    wrapped([&begin[..]].into_iter().chain(parameters.split_inclusive(", ")))
}

/// Joins parts. Each stays on one line.
fn wrapped<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for part in parts {
        let line = text.rsplit('\n').next().unwrap_or_default();
        if !line.is_empty() && line.len() + part.trim_end().len() > COLUMNS {
            text.truncate(text.trim_end().len());
            text += "\n    ";
        }
        text += part;
    }
    text + "\n"
}

fn comment(words: &str) -> String {
    broken(&format!("/* {words} */"), "   ")
}

/// Breaks a text between words. Lines after the first begin with `indentation`.
fn broken(text: &str, indentation: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split(' ') {
        if !line.trim().is_empty() && line.len() + 1 + word.len() > COLUMNS {
            lines += &line;
            lines.push('\n');
            line = format!("{indentation}{word}");
        } else {
            line += if line.is_empty() { "" } else { " " };
            line += word;
        }
    }
    lines + &line + "\n"
}
