//! Checks that ARCHITECTURE.md lists the engine's locks as the sources rank them, and that no lock
//! of the engine is without a rank.

use super::{engine, root};

/// The locks in `locks/rank.rs`, lowest rank first, each with what it guards.
fn ranked() -> String {
    let file = root().join("crates/foldb/src/locks/rank.rs");
    let text = std::fs::read_to_string(file).expect("locks/rank.rs can be read");
    let list = text.split("\nranks! {\n").nth(1).expect("locks/rank.rs has a list of ranks");
    let list = list.split("\n}").next().unwrap_or_default();
    let (mut lines, mut guards) = (String::new(), Vec::new());
    for line in list.lines().map(str::trim) {
        match line.strip_prefix("/// ") {
            Some(text) => guards.push(text),
            None => lines += &format!("{line:<14}{}\n", std::mem::take(&mut guards).join(" ")),
        }
    }
    lines
}

#[test]
fn architecture_lists_every_lock_by_rank() {
    let page = root().join("ARCHITECTURE.md");
    let text = std::fs::read_to_string(&page).expect("ARCHITECTURE.md can be read");
    let (before, rest) = text.split_once("\n## Locks\n").expect("ARCHITECTURE.md has `## Locks`");
    let (lead, rest) = rest.split_once("```text\n").expect("the section has a list");
    let (listed, after) = rest.split_once("```").expect("the list ends");
    let ranked = ranked();
    if std::env::var_os("FOLDB_BLESS").is_some() && listed != ranked {
        let page_now = format!("{before}\n## Locks\n{lead}```text\n{ranked}```{after}");
        std::fs::write(page, page_now).expect("ARCHITECTURE.md can be written");
        return;
    }
    assert_eq!(listed, ranked, "run this test with FOLDB_BLESS=1 to write the list anew");
}

#[test]
fn every_lock_of_the_engine_has_a_rank() {
    let foreign = ["std::sync::Mutex", "parking_lot", "Mutex<", "RwLock<", "Condvar"];
    let mut found = Vec::new();
    for file in engine().files {
        if file.starts_with("locks/") || file.contains("tests") || file == "events.rs" {
            continue;
        }
        let path = root().join("crates/foldb/src").join(&file);
        let text = std::fs::read_to_string(path).expect("a source can be read");
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        found.extend(
            foreign.iter().filter(|name| code.contains(**name)).map(|name| (file.clone(), *name)),
        );
    }
    assert!(found.is_empty(), "these use locks without a rank: {found:?}; see crate::locks");
}
