//! docs/shell.md has the help of each command, as the shell prints it. `UPDATE_GOLDEN=1 cargo test
//! -p foldb-cli --lib page` writes the page again after a change of the help.

use std::path::Path;

use clap::CommandFactory as _;

use super::Cli;

const BEGIN: &str = "<!-- help: ";
const END: &str = "<!-- end -->";

/// Returns the help of a command for a page: what it does, and its notes without the examples.
fn help(command: &clap::Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let notes = notes.split("Example").next().unwrap_or_default().trim();
    let mut text = filled(&format!("`{}`: {}.", command.get_name(), lower(&about)));
    for paragraph in notes.split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
        text += &format!("\n{}", filled(paragraph));
    }
    text
}

/// A first letter in lower case.
fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// Breaks a paragraph at column 100. Words that Markdown would change are set as code.
fn filled(paragraph: &str) -> String {
    let (mut text, mut columns) = (String::new(), 0);
    for word in paragraph.split_whitespace() {
        let bare = word.trim_end_matches(['.', ',', ';', ':']);
        let is_code = bare.starts_with("--") || bare.starts_with('\\') || bare.contains("::");
        let word =
            if is_code { word.replacen(bare, &format!("`{bare}`"), 1) } else { word.to_owned() };
        let width = word.chars().count();
        let is_first = columns == 0;
        if !is_first && columns + 1 + width > 100 {
            text.push('\n');
            columns = 0;
        } else if !is_first {
            text.push(' ');
            columns += 1;
        }
        text += &word;
        columns += width;
    }
    text.push('\n');
    text
}

/// Returns the page with the help of each command, and the commands that it names.
fn written(page: &str) -> (String, Vec<String>) {
    let line = Cli::command();
    let (mut text, mut named) = (String::new(), Vec::new());
    let mut parts = page.split(BEGIN);
    text += parts.next().unwrap_or_default();
    for part in parts {
        let (name, rest) = part.split_once(" -->\n").expect("the mark names a command");
        let (_, after) = rest.split_once(END).expect("the mark has an end");
        let command = line.find_subcommand(name);
        let command = command.unwrap_or_else(|| panic!("there is no command {name}"));
        text += &format!("{BEGIN}{name} -->\n{}{END}{after}", help(command));
        named.push(name.to_owned());
    }
    (text, named)
}

#[test]
fn the_page_has_the_help_of_each_command() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/shell.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (text, mut named) = written(&page);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    } else {
        assert_eq!(page, text, "UPDATE_GOLDEN=1 writes docs/shell.md again");
    }
    let line = Cli::command();
    let mut all: Vec<_> = line.get_subcommands().map(|command| command.get_name()).collect();
    named.sort();
    all.sort_unstable();
    assert_eq!(named, all, "left: docs/shell.md, right: the commands");
}

#[test]
fn flags_and_escapes_are_set_as_code() {
    assert_eq!(filled("a --flag, and\n\\t b::c."), "a `--flag`, and `\\t` `b::c`.\n");
}
