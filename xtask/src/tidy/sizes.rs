//! Limits the length of Rust files.

use super::{Finding, Source};

/// A file should stay under this.
pub const HABIT: usize = 300;

/// A file must stay under this.
const LIMIT: usize = 500;

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let long = over(sources, LIMIT);
    long.map(|(path, lines)| Finding::file(path, format!("{lines} lines, more than {LIMIT}: split it"))).collect()
}

/// The files that are still allowed but should not grow.
pub fn notes(sources: &[Source]) -> Vec<String> {
    over(sources, HABIT).map(|(path, lines)| format!("{path} ({lines})")).collect()
}

fn over(sources: &[Source], limit: usize) -> impl Iterator<Item = (&str, usize)> {
    let rust = sources.iter().filter(|source| source.path.ends_with(".rs"));
    rust.map(|source| (source.path.as_str(), source.text.lines().count())).filter(move |(_, lines)| *lines > limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_only_rust_files_over_the_limit() {
        let source = |path: &str, lines: usize| Source { path: path.to_owned(), text: "x\n".repeat(lines) };
        let sources = [source("a.rs", LIMIT), source("b.rs", LIMIT + 1), source("c.md", LIMIT + 1)];
        let found: Vec<String> = check(&sources).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["b.rs: 501 lines, more than 500: split it"]);
        assert_eq!(notes(&sources), ["a.rs (500)", "b.rs (501)"]);
    }
}
