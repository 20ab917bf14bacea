//! What headers declare, as the compiler's debug information has it: sizes, offsets of members,
//! places of virtual functions, names that the linker sees, and all types.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

/// Attributes that are part of the interface. Places in the source, for example, are not.
const KEPT: [&str; 13] = [
    "accessibility",
    "artificial",
    "bit_size",
    "byte_size",
    "const_value",
    "data_member_location",
    "defaulted",
    "deleted",
    "encoding",
    "explicit",
    "linkage_name",
    "virtuality",
    "vtable_elem_location",
];

/// An entry of the debug information.
#[derive(Default)]
struct Entry {
    depth: usize,
    tag: String,
    attributes: HashMap<String, String>,
}

impl Entry {
    /// Returns the value of an attribute without the remarks of readelf.
    fn value(&self, name: &str) -> Option<&str> {
        let value = self.attributes.get(name)?;
        Some(match value.split_once("): ") {
            Some((remark, value)) if remark.starts_with("(ind") => value,
            _ => value,
        })
    }

    fn name(&self) -> &str {
        self.value("name").unwrap_or("")
    }
}

struct Entries {
    in_order: Vec<Entry>,
    /// The places of entries in `in_order` by their positions in the file.
    by_position: HashMap<String, usize>,
}

impl Entries {
    fn parse(text: &str) -> Entries {
        let mut entries = Entries { in_order: Vec::new(), by_position: HashMap::new() };
        for line in text.lines() {
            let line = line.trim();
            let Some((position, rest)) = line.strip_prefix('<').and_then(|l| l.split_once('>'))
            else {
                continue;
            };
            if let Some((inner, rest)) = rest.strip_prefix('<').and_then(|l| l.split_once('>')) {
                // ` <2><17463>: Abbrev Number: 7 (DW_TAG_structure_type)`
                let Some((_, tag)) = rest.split_once("(DW_TAG_") else { continue };
                let depth = position.parse().expect("a depth");
                let tag = tag.trim_end_matches(')').to_owned();
                entries.by_position.insert(format!("<0x{inner}>"), entries.in_order.len());
                entries.in_order.push(Entry { depth, tag, attributes: HashMap::new() });
            } else if let Some((name, value)) = rest.trim().split_once(':') {
                // `    <17464>   DW_AT_name        : (indirect string, offset: 0x398f): Range`
                let name = name.trim().trim_start_matches("DW_AT_").to_owned();
                if let Some(entry) = entries.in_order.last_mut() {
                    entry.attributes.insert(name, value.trim().replace('\t', " "));
                }
            }
        }
        entries
    }

    /// Returns the text of the type that an entry refers to.
    fn type_of(&self, entry: &Entry) -> String {
        let Some(place) = entry.value("type").and_then(|position| self.by_position.get(position))
        else {
            return "void".to_owned();
        };
        let found = &self.in_order[*place];
        match found.tag.as_str() {
            "pointer_type" => format!("{}*", self.type_of(found)),
            "reference_type" => format!("{}&", self.type_of(found)),
            "rvalue_reference_type" => format!("{}&&", self.type_of(found)),
            "const_type" => format!("const {}", self.type_of(found)),
            "volatile_type" => format!("volatile {}", self.type_of(found)),
            "subroutine_type" => {
                let parameters: Vec<_> =
                    self.below(*place).map(|below| self.type_of(below)).collect();
                format!("{}({})", self.type_of(found), parameters.join(", "))
            }
            _ => found.name().to_owned(),
        }
    }

    /// The entries below one, at any depth.
    fn below(&self, place: usize) -> impl Iterator<Item = &Entry> {
        let depth = self.in_order[place].depth;
        self.in_order[place + 1..].iter().take_while(move |entry| entry.depth > depth)
    }

    /// Returns one line for each entry of the namespace leveldb, in the order of the headers.
    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (place, entry) in self.in_order.iter().enumerate() {
            if entry.tag != "namespace" || entry.name() != "leveldb" || entry.depth != 1 {
                continue;
            }
            let mut path: Vec<&str> = Vec::new();
            for below in self.below(place) {
                path.truncate(below.depth - 2);
                path.push(below.name());
                // A type that another one uses has no name, and is part of that one's line.
                if below.tag.ends_with("_type") && below.name().is_empty() {
                    continue;
                }
                let mut line =
                    format!("{} {}: {}", below.tag, path.join("::"), self.type_of(below));
                for name in KEPT {
                    if let Some(value) = below.value(name) {
                        line += &format!(" {name}={value}");
                    }
                }
                lines.push(line);
            }
        }
        lines
    }
}

/// Compiles a source with all headers of a directory, and returns one line for each declaration in
/// the namespace leveldb.
pub(crate) fn declarations(compiler: &str, include: &Path, source: &Path) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a directory");
    let object = dir.path().join("all.o");
    let mut command = Command::new(compiler);
    // The compiler would leave out what the source does not use, and classes whose tables of
    // virtual functions are elsewhere.
    command.args(["-fno-eliminate-unused-debug-types", "-femit-class-debug-always"]);
    command.args(["-std=c++11", "-gdwarf-4", "-c"]);
    command.arg("-I").arg(include).arg(source).arg("-o").arg(&object);
    let output = command.output().expect("the compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut command = Command::new("readelf");
    // readelf speaks the language of the user.
    command.arg("--debug-dump=info").arg(&object).env("LC_ALL", "C");
    let output = command.output().expect("readelf of binutils, which the compiler needs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Entries::parse(&String::from_utf8_lossy(&output.stdout)).lines()
}
