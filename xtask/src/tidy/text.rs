//! Checks for text that must not be in any file, and how a file ends.

use super::{Finding, Source};

/// Leftovers in Rust code. Split in two here and below, so that this file does not match itself.
const LEFTOVERS: [(&str, &str); 3] = [
    (concat!("todo", "!("), "finish it or leave it out"),
    (concat!("unimplemented", "!("), "finish it or leave it out"),
    (concat!("#[", "ignore"), "a test that does not run proves nothing: name it `slow_…` if it is slow"),
];

/// Directories of a particular machine.
const MACHINE_PATHS: [&str; 3] = [concat!("/", "work/"), concat!("/", "root/"), concat!("/", "home/")];

pub fn check(sources: &[Source]) -> Vec<Finding> {
    sources.iter().flat_map(check_file).collect()
}

fn check_file(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    // A snapshot holds a program's output verbatim.
    let ours = !source.path.ends_with(".snap");
    let rust = source.path.ends_with(".rs");
    for (index, line) in source.text.lines().enumerate() {
        let mut found = |message: String| findings.push(Finding::line(&source.path, index + 1, message));
        if ours && line.ends_with([' ', '\t']) {
            found("trailing white space".to_owned());
        }
        for path in MACHINE_PATHS {
            if names_path(line, path) {
                found(format!("`{path}` is a folder of one machine"));
            }
        }
        for (leftover, advice) in LEFTOVERS {
            if rust && line.contains(leftover) {
                found(format!("`{leftover}`: {advice}"));
            }
        }
    }
    if ours && !source.text.is_empty() && !source.text.ends_with('\n') {
        findings.push(Finding::file(&source.path, "does not end with a newline"));
    }
    findings
}

/// Whether the line contains the absolute path, rather than a part of a longer path, as in
/// `target/mine/`, or of a URL.
fn names_path(line: &str, path: &str) -> bool {
    let begins = |before: &str| !before.ends_with(|c: char| c.is_alphanumeric() || "_-.~$})]*".contains(c));
    line.match_indices(path).any(|(at, _)| begins(&line[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let source = Source { path: path.to_owned(), text: text.to_owned() };
        check(&[source]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn finds_trailing_white_space_except_in_snapshots() {
        assert_eq!(findings("a.md", "a \nb"), ["a.md:1: trailing white space", "a.md: does not end with a newline"]);
        assert!(findings("a.snap", "a \nb").is_empty());
        assert!(findings("empty", "").is_empty());
    }

    #[test]
    fn finds_paths_of_a_particular_machine() {
        let absolute = format!("cd {}main\n", MACHINE_PATHS[0]);
        assert_eq!(findings("a.sh", &absolute).len(), 1);
        assert!(findings("a.sh", &format!("cd target{0}x $HOME{0}y ~{0}z\n", MACHINE_PATHS[0])).is_empty());
    }

    #[test]
    fn finds_leftovers_only_in_rust() {
        let line = format!("    {});\n", LEFTOVERS[0].0);
        assert_eq!(findings("a.rs", &line), [format!("a.rs:1: `{}`: finish it or leave it out", LEFTOVERS[0].0)]);
        assert!(findings("a.md", &line).is_empty());
    }
}
