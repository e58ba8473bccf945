//! Checks for Markdown: links lead to files and headings that exist, and prose wraps.

use std::collections::HashSet;

use super::{Finding, Source};
use crate::shell::root;

const WIDTH: usize = 100;

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let pages: Vec<&Source> = sources.iter().filter(|source| source.path.ends_with(".md")).collect();
    pages.iter().flat_map(|page| check_page(page, sources)).collect()
}

fn check_page(page: &Source, sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Generated pages hold what programs print; ARCHITECTURE.md is wrapped when its areas rest.
    let ours = !page.path.starts_with("docs/reference/") && page.path != "ARCHITECTURE.md";
    for (number, line) in prose(&page.text) {
        let mut found = |message: String| findings.push(Finding::line(&page.path, number, message));
        let whole = line.starts_with(['|', '#']) || line.starts_with("![");
        if ours && !whole && !line.contains("http") && line.chars().count() > WIDTH {
            found(format!("longer than {WIDTH} characters: wrap it"));
        }
        for target in links(line) {
            if let Some(problem) = broken(&page.path, target, sources) {
                found(problem);
            }
        }
    }
    findings
}

/// The lines outside of code blocks and comments, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut fenced, mut comment) = (false, false);
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        comment |= line.starts_with("<!--");
        let shown = !fenced && !fence && !comment;
        comment &= !line.contains("-->");
        shown.then_some((index + 1, line))
    })
}

fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|target| !target.contains("://"))
}

fn broken(page: &str, target: &str, sources: &[Source]) -> Option<String> {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { page.to_owned() } else { beside(page, file) };
    let below = format!("{}/", path.trim_end_matches('/'));
    let Some(source) = sources.iter().find(|source| source.path == path) else {
        let exists = root().join(&path).exists() || sources.iter().any(|source| source.path.starts_with(&below));
        return (!exists).then(|| format!("link to `{target}`, which does not exist"));
    };
    let missing = !heading.is_empty() && path.ends_with(".md") && !headings(&source.text).contains(heading);
    missing.then(|| format!("link to `{target}`, but the page has no such heading"))
}

/// The path of a link, from the root of the repository.
fn beside(page: &str, file: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            ".." => {
                parts.pop();
            }
            "." | "" => {}
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The anchors that GitHub gives to the headings of a page.
fn headings(text: &str) -> HashSet<String> {
    let anchor = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    prose(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| anchor(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let page = Source { path: "docs/a.md".to_owned(), text: text.to_owned() };
        let other = Source { path: "README.md".to_owned(), text: "# Milepost\n## A `tour`, here\n".to_owned() };
        check(&[page, other]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn finds_links_to_missing_files_and_headings() {
        assert!(findings("[a](../README.md) [b](../README.md#a-tour-here) [c](https://example.org/x)\n").is_empty());
        assert_eq!(findings("[a](b.md)\n"), ["docs/a.md:1: link to `b.md`, which does not exist"]);
        let heading = "docs/a.md:1: link to `../README.md#b`, but the page has no such heading";
        assert_eq!(findings("[a](../README.md#b)\n"), [heading]);
    }

    #[test]
    fn finds_long_lines_outside_of_blocks_and_tables() {
        let long = "word ".repeat(21);
        assert_eq!(findings(&format!("{long}\n")), ["docs/a.md:1: longer than 100 characters: wrap it"]);
        assert!(findings(&format!("| {long} |\n```text\n{long}\n```\n<!-- run\n{long}\n-->\n")).is_empty());
    }
}
