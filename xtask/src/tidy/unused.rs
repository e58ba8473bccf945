//! Dependencies that no line of a crate names. They cost build time and audits.

use super::manifest::{Kind, dependencies};
use super::{Finding, Source};

/// A comment that begins like this, on the line above, excuses a dependency that is there for its
/// features.
const EXCUSE: &str = "# Not called directly";

/// Packages whose library has another name.
const LIBRARIES: [(&str, &str); 1] = [("md-5", "md5")];

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut used_by_members = Vec::new();
    for manifest in sources.iter().filter(|source| source.path.ends_with("/Cargo.toml")) {
        let folder = manifest.path.trim_end_matches("Cargo.toml");
        let code: Vec<&Source> =
            sources.iter().filter(|source| source.path.starts_with(folder) && source.path.ends_with(".rs")).collect();
        for dependency in dependencies(&manifest.text) {
            let library = LIBRARIES.iter().find(|(package, _)| *package == dependency.name);
            let name = library.map_or_else(|| dependency.name.replace('-', "_"), |(_, library)| (*library).to_owned());
            let above = dependency.line.checked_sub(2).and_then(|above| manifest.text.lines().nth(above));
            let excused = above.is_some_and(|above| above.starts_with(EXCUSE));
            let tests_too =
                |source: &&&Source| dependency.kind != Kind::Normal || source.path[folder.len()..].starts_with("src/");
            if !excused && !code.iter().filter(tests_too).any(|source| names(&source.text, &name)) {
                let message = format!("`{}` is not used: remove it", dependency.name);
                findings.push(Finding::line(&manifest.path, dependency.line, message));
            }
            used_by_members.push(dependency.name);
        }
    }
    if let Some(root) = sources.iter().find(|source| source.path == "Cargo.toml") {
        let all = dependencies(&root.text.replace("[workspace.dependencies]", "[dependencies]"));
        let unused = all.into_iter().filter(|known| !used_by_members.contains(&known.name));
        findings.extend(unused.map(|known| {
            let message = format!("no crate uses `{}`: remove it", known.name);
            Finding::line(&root.path, known.line, message)
        }));
    }
    findings
}

/// Whether the code has the name as a word of its own, outside of comments.
fn names(code: &str, name: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    code.lines().filter(|line| !line.trim_start().starts_with("//")).any(|line| {
        line.match_indices(name)
            .any(|(at, _)| !line[..at].ends_with(part_of_word) && !line[at + name.len()..].starts_with(part_of_word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn finds_dependencies_that_no_code_names() {
        let manifest = "[dependencies]\nserde_json = \"1\"\n# Not called directly: its feature is.\nring = \"1\"\nmd-5 = \"1\"\nonly-in-tests = \"1\"\n\n[dev-dependencies]\ninsta = \"1\"\n";
        let sources = [
            source("crates/a/Cargo.toml", manifest),
            source("crates/a/src/lib.rs", "// md5 is in a comment only.\nuse serde_json::json;\nfn my_md5x() {}\n"),
            source("crates/a/tests/t.rs", "use insta::x;\nuse only_in_tests;\n"),
        ];
        let found: Vec<String> = check(&sources).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "crates/a/Cargo.toml:5: `md-5` is not used: remove it",
                "crates/a/Cargo.toml:6: `only-in-tests` is not used: remove it"
            ]
        );
    }

    #[test]
    fn finds_workspace_dependencies_that_no_crate_has() {
        let sources = [
            source("Cargo.toml", "[workspace.dependencies]\nserde = \"1\"\nrand = \"1\"\n"),
            source("crates/a/Cargo.toml", "[dependencies]\nserde.workspace = true\n"),
            source("crates/a/src/lib.rs", "use serde::Serialize;\n"),
        ];
        let found: Vec<String> = check(&sources).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["Cargo.toml:3: no crate uses `rand`: remove it"]);
    }
}
