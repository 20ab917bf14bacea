//! `cargo xtask version`: one version for the crates, the Python package, the jar, and the pages
//! that name it.
//!
//! Invariant: only a version that stands right behind the mark of its place is changed.

use std::fs;

use crate::arguments::Version;
use crate::shared_library::told;
use crate::step::{Step, root};

/// The present version.
pub(crate) const PRESENT: &str = env!("CARGO_PKG_VERSION");

/// The files that have the version, and what stands right before it.
const PLACES: [(&str, &str); 11] = [
    ("Cargo.toml", "version = \""),
    ("python/Cargo.toml", "version = \""),
    ("python/pyproject.toml", "version = \""),
    ("python/python/foldb/__init__.py", "__version__ = \""),
    ("streams/pom.xml", "  <version>"),
    ("streams/store/pom.xml", "    <version>"),
    ("streams/it/pom.xml", "    <version>"),
    ("docs/streams.md", "     <version>"),
    ("README.md", "This is "),
    ("crates/capi/src/database.rs", "the version of the library, as `"),
    ("crates/capi/include/foldb.h", "the version of the library, as `"),
];

/// The workspaces whose lock files have the version.
const WORKSPACES: [&str; 5] = ["", "python", "fuzz", "compare", "compare/jobs"];

/// Sets the version everywhere, or prints it.
///
/// # Errors
/// The version is none, or a place does not have the present one.
pub(crate) fn run(own: &Version) -> Result<(), String> {
    let Some(new) = &own.version else {
        println!("{PRESENT}");
        return Ok(());
    };
    if !is_version(new) {
        return Err(format!("'{new}' is no version: expected three numbers, as {PRESENT}"));
    }
    let mut files = Vec::new();
    for (path, mark) in PLACES {
        let path = root().join(path);
        let text = fs::read_to_string(&path).map_err(|error| told("read", &path, error))?;
        let changed = replaced(&text, mark, PRESENT, new)
            .ok_or_else(|| format!("{} has no {mark}{PRESENT}", path.display()))?;
        files.push((path, changed));
    }
    // Nothing is written if a place is missing.
    for (path, text) in files {
        fs::write(&path, text).map_err(|error| told("write", &path, error))?;
        println!("{}", path.display());
    }
    for workspace in WORKSPACES {
        let manifest = root().join(workspace).join("Cargo.toml");
        Step::new("cargo update -q --workspace --manifest-path").with([manifest]).run()?;
    }
    Ok(())
}

/// Returns the text with the version `new` in place of `present`, where that stands behind `mark`.
/// `None` if it stands nowhere.
fn replaced(text: &str, mark: &str, present: &str, new: &str) -> Option<String> {
    let place = format!("{mark}{present}");
    let mut parts = text.split(&place);
    let mut changed = parts.next()?.to_owned();
    let mut count = 0;
    for part in parts {
        // 0.1.0 also begins 0.1.01 and 0.1.0.5.
        let goes_on = part.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit());
        changed += mark;
        changed += if goes_on { present } else { new };
        changed += part;
        count += usize::from(!goes_on);
    }
    (count > 0).then_some(changed)
}

/// Returns whether a text has three numbers: what Cargo, Maven and Python all take.
fn is_version(text: &str) -> bool {
    let numbers: Vec<&str> = text.split('.').collect();
    let is_number =
        |number: &&str| number.parse::<u32>().is_ok_and(|parsed| parsed.to_string() == **number);
    numbers.len() == 3 && numbers.iter().all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_the_present_version() {
        for (path, mark) in PLACES {
            let text = fs::read_to_string(root().join(path)).unwrap();
            let changed = replaced(&text, mark, PRESENT, "98.76.54");
            let changed = changed.unwrap_or_else(|| panic!("{path} has no {mark}{PRESENT}"));
            assert_eq!(changed.replace("98.76.54", PRESENT), text, "{path}");
        }
    }

    #[test]
    fn other_versions_stay() {
        let text = "version = \"0.1.0\"\na = { version = \"0.1.01\" }\nother = \"0.1.0\"\n";
        let expected = "version = \"2.0.0\"\na = { version = \"0.1.01\" }\nother = \"0.1.0\"\n";
        assert_eq!(replaced(text, "version = \"", "0.1.0", "2.0.0").unwrap(), expected);
        assert_eq!(replaced(text, "absent", "0.1.0", "2.0.0"), None);
    }

    #[test]
    fn a_version_has_three_numbers() {
        assert!(is_version("0.1.0") && is_version("12.0.345"));
        for wrong in ["1.0", "1.0.0.0", "1.0.0-rc1", "1.01.0", "v1.0.0", "1..0", "1.+1.0"] {
            assert!(!is_version(wrong), "{wrong}");
        }
    }
}
