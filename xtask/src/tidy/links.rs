//! Links between pages: each leads to a file that exists, and to a heading if it names one. The
//! README reaches each page.

use super::tree::joined;
use super::{File, Finding, Tree};

/// Links of pages without a target.
pub(super) fn leading_nowhere(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in tree.pages() {
        for (index, link) in links(&page.text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = target(page, path);
            if !tree.has(&target) {
                findings.push(Finding::at(page, index, format!("{link} leads nowhere")));
                continue;
            }
            let text = tree.text(&target).filter(|_| target.ends_with(".md"));
            let anchors = text.map(anchors).unwrap_or_default();
            if !heading.is_empty() && text.is_some() && !anchors.iter().any(|a| a == heading) {
                let text = format!("{link}: {target} has no heading for #{heading}");
                findings.push(Finding::at(page, index, text));
            }
        }
    }
    findings
}

/// Pages that no chain of links from the README reaches.
pub(super) fn unlinked_pages(tree: &Tree) -> Vec<Finding> {
    let mut reached = vec!["README.md".to_owned()];
    let mut next = 0;
    while let Some(path) = reached.get(next).cloned() {
        next += 1;
        let Some(page) = tree.texts.iter().find(|file| file.path == path) else { continue };
        for (_, link) in links(&page.text) {
            let target = target(page, link.split('#').next().unwrap_or_default());
            if target.ends_with(".md") && !reached.contains(&target) {
                reached.push(target);
            }
        }
    }
    // The pages of a published crate, which a registry shows without the repository.
    let is_readme = |page: &File| page.path.starts_with("crates/") && page.name() == "README.md";
    let unlinked = tree.pages().filter(|page| !is_readme(page) && !reached.contains(&page.path));
    unlinked.map(|page| Finding::new(&page.path, "no page links it: link or remove it")).collect()
}

fn target(page: &File, path: &str) -> String {
    if path.is_empty() { page.path.clone() } else { joined(page.directory(), path) }
}

/// Returns the targets of the links in a text with their lines, without blocks of code.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        is_code ^= line.starts_with("```");
        if is_code || line.starts_with("    ") {
            continue;
        }
        for rest in line.split("](").skip(1) {
            links.extend(rest.split_once(')').map(|(target, _)| (index, target)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::made;

    fn shown(findings: Vec<Finding>) -> Vec<String> {
        findings.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn links_and_anchors_are_found() {
        let text = "a [b](c.md) [d](e#f) (g)\n```\n[h](i)\n```\n";
        assert_eq!(links(text), [(0, "c.md"), (0, "e#f")]);
        assert_eq!(anchors("# A\n## H15: `b` c, d-e\n```\n# f\n```"), ["a", "h15-b-c-d-e"]);
    }

    #[test]
    fn a_link_needs_a_file_and_a_heading() {
        let tree = made(&[
            ("README.md", "[a](docs/a.md#good) [b](docs/a.md#bad)\n[c](docs/c.md) [d](https://e)"),
            ("docs/a.md", "## Good\n[up](../README.md) [here](#good) [root](../docs/)"),
        ]);
        let expected = [
            "README.md:1: docs/a.md#bad: docs/a.md has no heading for #bad",
            "README.md:2: docs/c.md leads nowhere",
        ];
        assert_eq!(shown(leading_nowhere(&tree)), expected);
    }

    #[test]
    fn a_page_is_reached_from_the_readme() {
        let tree = made(&[
            ("README.md", "[a](docs/a.md)"),
            ("docs/a.md", "[b](b.md#c)"),
            ("docs/b.md", ""),
            ("docs/lost.md", "[itself](lost.md)"),
            ("crates/env/README.md", ""),
        ]);
        assert_eq!(
            shown(unlinked_pages(&tree)),
            ["docs/lost.md: no page links it: link or remove it"]
        );
    }
}
