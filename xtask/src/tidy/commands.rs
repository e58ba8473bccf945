//! Checks that only the command line names its commands: the crates below it give steps as data
//! (`docs/decisions/014-errors-are-data.md`).

use super::{Finding, Source};

const HOMES: [&str; 2] = ["crates/cli/", "crates/testkit/"];
const COMMAND: &str = "`milepost ";

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let below = |source: &&Source| {
        source.path.starts_with("crates/")
            && source.path.contains("/src/")
            && source.path.ends_with(".rs")
            && !HOMES.iter().any(|home| source.path.starts_with(home))
    };
    sources.iter().filter(below).flat_map(check_file).collect()
}

fn check_file(source: &Source) -> Vec<Finding> {
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    let lines = source.text.lines().zip(1..);
    let found = lines.filter(|(line, _)| line.contains(COMMAND) && !is_comment(line));
    let message = "a command line belongs in crates/cli: give the step as data, which `crates/cli/src/phrase` phrases";
    found.map(|(_, number)| Finding::line(&source.path, number, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_commands_below_the_command_line() {
        let findings = |path: &str| {
            let text = "/// See `milepost app list`.\nlet hint = \"run `milepost app list`\";\n".to_owned();
            check(&[Source { path: path.to_owned(), text }]).iter().map(|found| found.line).collect::<Vec<_>>()
        };
        assert_eq!(findings("crates/server/src/auth.rs"), [Some(2)]);
        assert!(findings("crates/cli/src/phrase/next.rs").is_empty());
        assert!(findings("crates/server/tests/api/main.rs").is_empty());
    }
}
