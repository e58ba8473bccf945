//! Checks that statements of SQL stand where ARCHITECTURE.md says.

use super::{Finding, Source};

const HOMES: [&str; 3] = ["crates/catalog/src/tables/", "crates/catalog/src/db/", "crates/testkit/"];
const STARTS: [&str; 6] =
    ["\"SELECT ", "\"INSERT INTO ", "\"UPDATE ", "\"DELETE FROM ", "\"WITH RECURSIVE ", "\"ALTER TABLE "];

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let own = |source: &&Source| {
        source.path.starts_with("crates/")
            && source.path.contains("/src/")
            && source.path.ends_with(".rs")
            && !HOMES.iter().any(|home| source.path.starts_with(home))
    };
    sources.iter().filter(own).flat_map(check_file).collect()
}

fn check_file(source: &Source) -> Vec<Finding> {
    let lines = source.text.lines().zip(1..);
    let found = lines.filter(|(line, _)| STARTS.iter().any(|start| line.contains(start)));
    let finding = |(_, number)| Finding::line(&source.path, number, "SQL belongs in crates/catalog/src/tables/");
    found.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_statements_outside_of_their_home() {
        let findings = |path: &str| {
            let text = "let sql =\n    \"SELECT name FROM apps\";\n".to_owned();
            check(&[Source { path: path.to_owned(), text }]).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let path = "crates/catalog/src/ops/app.rs";
        assert_eq!(findings(path), [format!("{path}:2: SQL belongs in crates/catalog/src/tables/")]);
        assert!(findings("crates/catalog/src/tables/apps.rs").is_empty());
        assert!(findings("crates/catalog/tests/common/mod.rs").is_empty());
    }
}
