//! Links of the documents: each leads to a file that exists, and to a heading if it names one.

use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Returns all pages of the repository.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let others =
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "compare/README.md"];
    let mut pages: Vec<_> = others.map(|page| root.join(page)).into();
    let mut directories = vec![root.join("docs")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|kind| kind == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// Returns the targets of the links in a text, without blocks of code.
fn links(text: &str) -> Vec<&str> {
    let mut links = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if is_code || line.starts_with("    ") {
            continue;
        }
        for rest in line.split("](").skip(1) {
            links.extend(rest.split_once(')').map(|(target, _)| target));
        }
    }
    links
}

/// Returns the anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let mut is_code = false;
    let headings = text.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code && line.starts_with('#')
    });
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut checked = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            if link.contains("://") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            if !heading.is_empty() && target.extension().is_some_and(|kind| kind == "md") {
                let anchors = anchors(&std::fs::read_to_string(&target).unwrap());
                let exists = anchors.iter().any(|anchor| anchor == heading);
                assert!(exists, "{}: {link}, of {anchors:?}", page.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked} links");
}

/// Each page of `docs` can be reached from the README.
#[test]
fn every_page_is_linked() {
    let canonical = |path: &Path| path.canonicalize().unwrap();
    let mut reached = vec![canonical(&Path::new(ROOT).join("README.md"))];
    let mut next = 0;
    while let Some(page) = reached.get(next).cloned() {
        next += 1;
        let text = std::fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            let target = page.parent().unwrap().join(link.split('#').next().unwrap());
            let is_page = target.extension().is_some_and(|kind| kind == "md") && target.exists();
            if is_page && !reached.contains(&canonical(&target)) {
                reached.push(canonical(&target));
            }
        }
    }
    for page in pages() {
        assert!(reached.contains(&canonical(&page)), "no page links {}", page.display());
    }
}

#[test]
fn links_and_anchors_are_found() {
    assert_eq!(links("a [b](c.md) [d](e#f) (g)\n```\n[h](i)\n```\n"), ["c.md", "e#f"]);
    assert_eq!(anchors("# A\n## H15: `b` c, d-e\n```\n# f\n```"), ["a", "h15-b-c-d-e"]);
}
