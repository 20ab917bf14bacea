//! The text of an `OPTIONS` file.
//!
//! ```text
//! [DBOptions]
//!   wal_dir=/somewhere
//! [CFOptions "default"]
//!   comparator=leveldb.BytewiseComparator
//!   merge_operator={id=StringAppendOperator;delimiter=,;}
//! ```
//!
//! `#` begins a comment, unless a backslash is before it. A backslash before another character
//! stands for that character too.

use std::collections::BTreeMap;

use crate::{Fault, Read};

/// The options of a part, by name.
pub type Section = BTreeMap<String, String>;

/// An `OPTIONS` file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The version of RocksDB that wrote it, as text.
    pub version: Option<String>,
    /// The options of the database.
    pub database: Section,
    /// The options of the column families, by name.
    pub families: BTreeMap<String, Section>,
    /// The names of the families, as they come in the file.
    pub names: Vec<String>,
    /// The options of the tables of the families, by name.
    pub tables: BTreeMap<String, Section>,
}

impl Options {
    /// Reads the text.
    ///
    /// # Errors
    /// Fails for a line that is neither a title nor an option. It names the line.
    pub fn parse(text: &str) -> Read<Options> {
        let mut options = Options::default();
        let mut title = String::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = without_comment(line);
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            if let Some(found) = line.strip_prefix('[') {
                title = found.trim_end_matches(']').to_owned();
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                return Err(Fault::damaged(format!(
                    "line {number} of the options is neither a title nor an option: {line:.60}"
                )));
            };
            options.add(&title, name.trim(), value.trim());
        }
        Ok(options)
    }

    fn add(&mut self, title: &str, name: &str, value: &str) {
        let (part, argument) = title.split_once(' ').unwrap_or((title, ""));
        match part {
            "Version" if name == "rocksdb_version" => self.version = Some(value.to_owned()),
            "DBOptions" => drop(self.database.insert(name.to_owned(), value.to_owned())),
            "CFOptions" => {
                let family = family_of(argument);
                if !self.names.contains(&family) {
                    self.names.push(family.clone());
                }
                let section = self.families.entry(family).or_default();
                section.insert(name.to_owned(), value.to_owned());
            }
            "TableOptions/BlockBasedTable" => {
                let section = self.tables.entry(family_of(argument)).or_default();
                section.insert(name.to_owned(), value.to_owned());
            }
            _ => {}
        }
    }
}

/// Returns the name of the family that a title has.
fn family_of(argument: &str) -> String {
    argument.trim().trim_matches('"').to_owned()
}

/// Returns the name of an object, and its own options: `Name`, or `{id=Name;option=value;}`.
/// `None` if the value stands for no object.
pub fn object(value: &str) -> Option<(String, Section)> {
    let inner = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let (name, options) = match inner {
        None => (value.to_owned(), Section::new()),
        Some(inner) => {
            let mut options = parts(inner);
            (options.remove("id")?, options)
        }
    };
    (!name.is_empty() && name != "nullptr").then_some((name, options))
}

/// Splits `a=1;b={c=2;};` into its options.
fn parts(text: &str) -> Section {
    let mut options = Section::new();
    let (mut depth, mut begin) = (0_u32, 0);
    let ends = text.char_indices().filter(|&(_, one)| {
        match one {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        one == ';' && depth == 0
    });
    let ends: Vec<usize> = ends.map(|(at, _)| at).chain([text.len()]).collect();
    for end in ends {
        let part = text.get(begin..end).unwrap_or_default();
        if let Some((name, value)) = part.split_once('=') {
            let inner = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            options.insert(name.trim().to_owned(), inner.unwrap_or(value).to_owned());
        }
        begin = end + 1;
    }
    options
}

fn without_comment(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut all = line.chars();
    while let Some(one) = all.next() {
        match one {
            '\\' => text.extend(all.next()),
            '#' => break,
            one => text.push(one),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_by_family() {
        let text = "# a comment\n[Version]\n  rocksdb_version=7.8.3\n\
            [DBOptions]\n  wal_dir=/w # x\n\
            [CFOptions \"de\\#fault\"]\n  merge_operator={id=StringAppendOperator;delimiter=,;}\n\
            \n[TableOptions/BlockBasedTable \"default\"]\n  format_version=5\n";
        let options = Options::parse(text).unwrap();
        assert_eq!(options.version.as_deref(), Some("7.8.3"));
        assert_eq!(options.database["wal_dir"], "/w");
        assert_eq!(options.names, ["de#fault"]);
        assert_eq!(options.tables["default"]["format_version"], "5");
        let value = &options.families["de#fault"]["merge_operator"];
        let (name, own) = object(value).unwrap();
        assert_eq!((name.as_str(), own["delimiter"].as_str()), ("StringAppendOperator", ","));
        assert_eq!(object("nullptr"), None);
        assert_eq!(object("PutOperator"), Some(("PutOperator".to_owned(), Section::new())));
        assert!(Options::parse("[DBOptions]\n what\n").unwrap_err().to_string().contains("line 2"));
    }
}
