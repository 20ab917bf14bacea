//! The lists of facts about `rocksdb/c.h`: `functions.txt`, `types.txt` and `constants.txt`.
//!
//! A list is a text of groups, and a person edits it. The build script checks signatures with it,
//! and a test makes the header and a table of the documentation from it, so all of them agree.

/// Lines about one subject.
pub(crate) struct Group<'a> {
    pub title: &'a str,
    /// What the group is about, in words.
    pub words: String,
    pub lines: Vec<&'a str>,
}

/// Reads the groups of a list. Each begins with `## TITLE` and its words; a blank line comes before
/// the group's own lines. Lines that begin with `# ` are comments.
///
/// # Errors
/// A line without a group, or a group that lacks words or lines.
pub(crate) fn groups(list: &str) -> Result<Vec<Group<'_>>, String> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut in_words = false;
    for line in list.lines().filter(|line| *line != "#" && !line.starts_with("# ")) {
        if let Some(title) = line.strip_prefix("## ") {
            groups.push(Group { title, words: String::new(), lines: Vec::new() });
            in_words = true;
            continue;
        }
        if line.is_empty() {
            in_words = false;
            continue;
        }
        let group = groups.last_mut().ok_or_else(|| format!("no group holds '{line}'"))?;
        if in_words {
            group.words += if group.words.is_empty() { "" } else { " " };
            group.words += line;
        } else {
            group.lines.push(line);
        }
    }
    match groups.iter().find(|group| group.words.is_empty() || group.lines.is_empty()) {
        Some(group) => Err(format!("the group '{}' lacks words or lines", group.title)),
        None => Ok(groups),
    }
}

/// A line of `functions.txt`.
pub(crate) struct Function<'a> {
    /// What the library does with the function.
    pub verdict: &'a str,
    pub declaration: &'a str,
    /// How the function differs from RocksDB's. May be empty if the verdict is `honoured`.
    pub note: &'a str,
}

/// The verdicts in the order of their weight.
const VERDICTS: [&str; 3] = ["honoured", "ignored", "refused"];

impl<'a> Function<'a> {
    /// Reads a line: `VERDICT | DECLARATION | NOTE`.
    ///
    /// # Errors
    /// A line of another form, an unknown verdict, or no reason where there must be one.
    pub(crate) fn read(line: &'a str) -> Result<Function<'a>, String> {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [verdict, declaration, note] = parts[..] else {
            return Err(format!("'{line}' is not VERDICT | DECLARATION | NOTE"));
        };
        let function = Function { verdict, declaration, note };
        if !VERDICTS.contains(&function.verdict) {
            return Err(format!("'{verdict}' is none of {VERDICTS:?}: {line}"));
        }
        if function.verdict != "honoured" && function.note.is_empty() {
            return Err(format!("the note must say why it is {verdict}: {line}"));
        }
        Ok(function)
    }
}
