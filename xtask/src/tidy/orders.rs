//! Each atomic that is accessed with a weak order is argued in its file.
//!
//! x86 hides a missing order, and tests rarely find one elsewhere. What shows it is the question
//! which thread publishes what to which other one. So each atomic that a file accesses with an
//! order weaker than `SeqCst` has a comment that names an order, and answers. The comment stands in
//! one of three places:
//!
//! ```text
//! //! ... All accesses are `Relaxed`: ...            the head of the file: it argues all atomics
//!
//! /// ... Set with `Release` ...                     the field, or the struct around it
//! sealed: AtomicBool,
//!
//! // Acquire: pairs with ...                         at most 8 lines above one of its accesses
//! if self.sealed.load(Ordering::Acquire) {
//! ```
//!
//! The rule reminds an author. Whether an argument is right is for a reader to say.

use std::collections::BTreeSet;

use super::{File, Finding, Tree};

/// The crates whose threads share memory without locks.
const CRATES: [&str; 3] = ["crates/chains/src/", "crates/env/src/", "crates/foldb/src/"];

const WEAK: [&str; 4] = ["Relaxed", "Acquire", "Release", "AcqRel"];

/// The methods of atomics that take an order.
const METHODS: [&str; 5] = [".load(", ".store(", ".swap(", ".fetch_", ".compare_exchange"];

/// How many lines below a comment it argues accesses.
const NEAR: usize = 8;

/// Atomics that a source accesses with a weak order, and does not argue.
pub(super) fn unargued(tree: &Tree) -> Vec<Finding> {
    let is_checked =
        |file: &&File| CRATES.iter().any(|own| file.path.starts_with(own)) && !file.is_test();
    tree.of_kind("rs").filter(is_checked).flat_map(unargued_in).collect()
}

/// The first unargued access of each atomic of a file.
fn unargued_in(file: &File) -> Vec<Finding> {
    let lines: Vec<(usize, &str)> = outside_tests(&file.text).collect();
    // A head that argues names the order as code does. Others only mention one.
    let is_argument = |line: &str| line.starts_with("//!") && line.contains('`') && argues(line);
    if lines.iter().any(|(_, line)| is_argument(line)) {
        return Vec::new();
    }
    let mut argued = declared_with_argument(&lines);
    let mut last_argument = None;
    let mut unargued = Vec::new();
    for (at, (index, line)) in lines.iter().enumerate() {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        if argues(comment) && !comment.starts_with('!') {
            last_argument = Some(*index);
        }
        let Some(order) = WEAK.iter().find(|order| has(code, order)) else { continue };
        let atomic = match accessed(&lines[..=at]) {
            Some(atomic) => atomic,
            // A fence, or an order that a later access takes.
            None if code.contains("Ordering::") && !code.starts_with("use ") => {
                format!("line {}", index + 1)
            }
            None => continue,
        };
        if last_argument.is_some_and(|argument| index - argument <= NEAR) {
            argued.insert(atomic);
        } else {
            unargued.push((*index, order, atomic));
        }
    }
    unargued.retain(|(_, _, atomic)| argued.insert(atomic.clone()));
    let finding = |(index, order, atomic): (usize, &&str, String)| {
        let text = format!(
            "no comment argues '{order}' for '{atomic}', at its declaration, at most {NEAR} lines \
             above an access, or for the whole file: say which thread publishes what to which, or \
             that no other memory depends on it"
        );
        Finding::at(file, index, text)
    };
    unargued.into_iter().map(finding).collect()
}

/// The fields and statics whose own comment, or that of the struct around them, names an order. The
/// field of a tuple has the name `0`.
fn declared_with_argument(lines: &[(usize, &str)]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let (mut is_argued, mut is_struct_argued) = (false, false);
    for (_, line) in lines {
        let code = line.trim_start();
        if code.starts_with("//") || code.starts_with("#[") {
            is_argued |= argues(code);
            continue;
        }
        if has(code, "struct") {
            is_struct_argued = is_argued && code.ends_with('{');
            if is_argued && !is_struct_argued {
                found.insert("0".to_owned());
            }
        } else if is_argued || is_struct_argued {
            found.extend(code.split_once(':').map(|(name, _)| last_word(name)));
        }
        is_struct_argued &= *line != "}";
        is_argued = false;
    }
    found
}

/// The name of the atomic that the last of these lines accesses: `current` of `self.current.load(`.
/// `None` if it accesses none.
fn accessed(lines: &[(usize, &str)]) -> Option<String> {
    // A long statement has its receiver some lines above its order.
    const STATEMENT: usize = 6;
    let mut statement = String::new();
    for (_, line) in lines.iter().rev().take(STATEMENT) {
        let code = line.split_once("//").map_or(*line, |(code, _)| code).trim();
        statement.insert_str(0, code);
        let call = METHODS.iter().filter_map(|method| statement.rfind(method)).max();
        if let Some(at) = call.filter(|at| *at > 0) {
            return Some(last_word(without_arguments(&statement[..at])));
        }
    }
    None
}

/// A receiver without the index or the arguments at its end: `slots` of `slots[own.at(3)]`.
fn without_arguments(receiver: &str) -> &str {
    let mut depth = 0;
    for (at, c) in receiver.char_indices().rev() {
        match c {
            ')' | ']' => depth += 1,
            '(' | '[' => depth -= 1,
            _ if depth == 0 => return &receiver[..at + c.len_utf8()],
            _ => {}
        }
    }
    ""
}

fn last_word(text: &str) -> String {
    let start = text.rfind(|c: char| !is_of_word(c)).map_or(0, |at| at + 1);
    text[start..].to_owned()
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The lines of a file that are not in its modules of tests, with their numbers from 0.
fn outside_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_test = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let ends = is_test && *line == "}";
        let begins = line.starts_with("mod tests") && line.ends_with('{');
        is_test = (is_test || begins) && !ends;
        !is_test && !ends
    })
}

/// Whether a comment names an order. Code in an example does not argue it.
fn argues(comment: &str) -> bool {
    let names = WEAK.iter().chain(&["SeqCst"]).any(|order| has(comment, order));
    comment.to_lowercase().contains("memory order") || names && !comment.contains("Ordering::")
}

/// Whether a line has the word, and not only as a part of another one.
fn has(line: &str, word: &str) -> bool {
    line.split(|c: char| !is_of_word(c)).any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::made;

    fn found(path: &str, text: &str) -> Vec<String> {
        unargued(&made(&[(path, text)])).iter().map(|finding| finding.place.clone()).collect()
    }

    const STORE: &str =
        "use std::sync::atomic::Ordering;\n\nfn f() {\n    a.store(1, Ordering::Release);\n}\n";

    #[test]
    fn a_weak_order_needs_a_comment_that_names_an_order() {
        let place = "crates/env/src/a.rs";
        assert_eq!(found(place, STORE), ["crates/env/src/a.rs:4"]);
        for argument in ["// Release: b.", "//! All are `Acquire`.", "/// Its memory order: b."] {
            assert!(found(place, &format!("{argument}\n{STORE}")).is_empty(), "{argument}");
        }
        for other in ["// Releases it.", "/// a.load(Ordering::Relaxed)", "// a", "// RELEASE"] {
            let text = format!("{other}\n{STORE}");
            assert_eq!(found(place, &text), ["crates/env/src/a.rs:5"], "{other}");
        }
    }

    #[test]
    fn each_atomic_is_argued_at_its_declaration_or_near_an_access() {
        let place = "crates/env/src/a.rs";
        let far = "\n".repeat(NEAR + 1);
        let other = format!("// Release: c.\nfn g() {{}}{far}{STORE}");
        assert_eq!(found(place, &other).len(), 1, "too far");
        assert_eq!(found(place, &format!("//! Finds a Release.\n{STORE}")).len(), 1, "a mention");
        let again = format!("{STORE}{far}// Relaxed: d.\nfn g() {{ a.load(Ordering::Relaxed) }}");
        assert!(found(place, &again).is_empty(), "another access is argued");
        for declared in [
            "struct S {\n    /// Set with `Release`.\n    a: AtomicU64,\n}\n",
            "/// All are `Relaxed`.\nstruct S {\n    b: u64,\n    pub a: AtomicU64,\n}\n",
            "/// Set with `Release`.\nstatic a: AtomicU64 = AtomicU64::new(0);\n",
        ] {
            assert!(found(place, &format!("{declared}{far}{STORE}")).is_empty(), "{declared}");
        }
        let beside =
            "/// All are `Relaxed`.\nstruct S {\n    b: u64,\n}\nstruct T {\n    a: A,\n}\n";
        assert_eq!(found(place, &format!("{beside}{far}{STORE}")).len(), 1, "another struct");
        let tuple = STORE.replace("a.store", "self.0.store");
        let declared = "/// `Release`: e.\nstruct S(AtomicU64);\n";
        assert!(found(place, &format!("{declared}{far}{tuple}")).is_empty());
        assert_eq!(found(place, &tuple).len(), 1);
    }

    #[test]
    fn the_atomic_of_a_statement_is_its_receiver() {
        for (statement, name) in [
            ("self.current.load(Ordering::Acquire)", "current"),
            ("WORD.compare_exchange(a(), b, AcqRel, Acquire)", "WORD"),
            ("self.slots[own.at(3)].store(1, Relaxed)", "slots"),
            ("word(i)\n.fetch_add(1, Relaxed)", "word"),
            ("slot.tag\n.compare_exchange(\na,\nb,\nRelaxed,", "tag"),
        ] {
            let lines: Vec<(usize, &str)> = statement.lines().enumerate().collect();
            assert_eq!(accessed(&lines).as_deref(), Some(name), "{statement}");
        }
        assert_eq!(accessed(&[(0, "impl Lifecycle for Release {")]), None);
        let fence = "fn f() {\n    fence(Ordering::Release);\n}\n";
        assert_eq!(found("crates/env/src/a.rs", fence).len(), 1);
        assert!(found("crates/env/src/a.rs", "use std::Ordering::Relaxed;\n").is_empty());
    }

    #[test]
    fn each_weak_order_is_one_and_the_strong_one_needs_no_argument() {
        for order in WEAK {
            let text = STORE.replace("Release", order);
            assert_eq!(found("crates/chains/src/b/c.rs", &text).len(), 1, "{order}");
        }
        assert!(found("crates/chains/src/b.rs", &STORE.replace("Release", "SeqCst")).is_empty());
        assert!(found("crates/chains/src/b.rs", "struct Releases;\nfn acquire() {}\n").is_empty());
    }

    #[test]
    fn tests_need_no_argument_and_give_none() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n    // Relaxed: as it is.\n    {STORE}");
        let within = "#[cfg(test)]\nmod tests {\n    a.load(Relaxed); // Relaxed: b.\n}\n";
        assert!(found("crates/foldb/src/a.rs", within).is_empty());
        let behind = format!("{within}{STORE}");
        assert_eq!(found("crates/foldb/src/a.rs", &behind), ["crates/foldb/src/a.rs:8"]);
        assert!(found("crates/foldb/src/a/tests.rs", &tests).is_empty());
        assert!(found("crates/foldb/tests/a.rs", STORE).is_empty());
        assert!(found("crates/cli/src/a.rs", STORE).is_empty(), "another crate");
    }
}
