//! How the lists of facts are read.

#[path = "../facts/list.rs"]
mod list;

use list::{Function, groups};

#[test]
fn a_group_has_a_title_words_and_lines() {
    let read = groups("# About\n#\n\n## One\nThe words\nof it.\n\na\nb\n\nc\n## Two\nMore.\n\nd\n");
    let read = read.expect("groups");
    let shown: Vec<_> =
        read.iter().map(|group| (group.title, group.words.as_str(), &group.lines[..])).collect();
    assert_eq!(
        shown,
        [("One", "The words of it.", &["a", "b", "c"][..]), ("Two", "More.", &["d"][..])]
    );
}

#[test]
fn an_incomplete_group_is_refused() {
    for (list, refusal) in [
        ("a\n", "no group holds 'a'"),
        ("## One\n\na\n", "the group 'One' lacks words or lines"),
        ("## One\nWords.\n", "the group 'One' lacks words or lines"),
    ] {
        assert_eq!(groups(list).err().as_deref(), Some(refusal), "{list:?}");
    }
}

#[test]
fn only_an_honoured_function_needs_no_note() {
    let read = Function::read("honoured | void a(void) |").expect("a function");
    assert_eq!((read.verdict, read.declaration, read.note), ("honoured", "void a(void)", ""));
    let read = Function::read("refused | void a(void) | no such thing").expect("a function");
    assert_eq!((read.verdict, read.note), ("refused", "no such thing"));
    for (line, refusal) in [
        ("ignored | void a(void) |", "the note must say why it is ignored"),
        ("refused | void a(void) |", "the note must say why it is refused"),
        ("done | void a(void) |", "'done' is none of"),
        ("void a(void)", "'void a(void)' is not VERDICT | DECLARATION | NOTE"),
    ] {
        let told = Function::read(line).err().expect("a refusal");
        assert!(told.starts_with(refusal), "{told}");
    }
}
