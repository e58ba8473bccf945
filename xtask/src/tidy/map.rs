//! Checks that every crate says what it is for and is on the map.

use super::{Finding, Source};

const MAP: &str = "ARCHITECTURE.md";

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let map = sources.iter().find(|source| source.path == MAP);
    if map.is_none() {
        findings.push(Finding::file(MAP, "missing: it is the map of the crates"));
    }
    for folder in crates(sources) {
        let roots = [format!("{folder}/src/lib.rs"), format!("{folder}/src/main.rs")];
        for root in sources.iter().filter(|source| roots.contains(&source.path)) {
            if !root.text.starts_with("//! ") {
                findings.push(Finding::file(&root.path, "does not begin with `//!` saying what the crate is for"));
            } else if root.text.starts_with("//! (under construction)") {
                findings.push(Finding::file(&root.path, "the crate does not say yet what it is for"));
            }
        }
        if map.is_some_and(|map| !map.text.contains(folder)) {
            findings.push(Finding::file(MAP, format!("does not mention `{folder}`")));
        }
    }
    findings
}

/// The directories of the workspace's crates, such as `crates/model` and `xtask`.
fn crates(sources: &[Source]) -> impl Iterator<Item = &str> {
    let manifests = sources.iter().filter_map(|source| source.path.strip_suffix("/Cargo.toml"));
    manifests
        .filter(|folder| *folder == "xtask" || folder.strip_prefix("crates/").is_some_and(|name| !name.contains('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let source = |(path, text): &(&str, &str)| Source { path: (*path).to_owned(), text: (*text).to_owned() };
        let sources: Vec<Source> = files.iter().map(source).collect();
        check(&sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn requires_docs_and_a_place_on_the_map() {
        let manifest = ("crates/model/Cargo.toml", "");
        let map = (MAP, "- `crates/model`: names\n");
        assert!(findings(&[manifest, ("crates/model/src/lib.rs", "//! Names.\n"), map]).is_empty());
        assert_eq!(
            findings(&[manifest, ("crates/model/src/lib.rs", "mod name;\n"), (MAP, "")]),
            [
                "crates/model/src/lib.rs: does not begin with `//!` saying what the crate is for",
                "ARCHITECTURE.md: does not mention `crates/model`"
            ]
        );
        assert_eq!(findings(&[]), ["ARCHITECTURE.md: missing: it is the map of the crates"]);
    }
}
