//! Parses a configuration file: YAML, or its subset JSON.

use std::path::Path;

use serde_json::Value;

use crate::failure::{Failure, Result};

/// Lines shown with an error: the one it is on, and those before it.
const SNIPPET: usize = 3;

/// `file` is used only in error messages.
pub fn parse(text: &str, file: &Path) -> Result<Value> {
    let options = serde_saphyr::options! { with_snippet: false };
    let document: Value =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| unreadable(&error, text, file))?;
    match document {
        Value::Null => Err(Failure::usage(format!("`{}` is empty", file.display())).hint("write `{}` to clear it")),
        Value::Object(_) => Ok(document),
        _ => {
            Err(Failure::usage(format!("`{}` contains no keys", file.display()))
                .hint("write one `key: value` per line"))
        }
    }
}

fn unreadable(error: &serde_saphyr::Error, text: &str, file: &Path) -> Failure {
    let (reason, hint) = reason(error);
    let Some(place) = error.location() else {
        return Failure::usage(format!("{}: {reason}", file.display())).hint(hint);
    };
    let (line, column) = (place.line() as usize, place.column() as usize);
    let message = format!("{}:{line}:{column}: {reason}", file.display());
    Failure::usage(format!("{message}{}", snippet(text, line))).hint(hint)
}

fn snippet(text: &str, line: usize) -> String {
    let lines = text.lines().enumerate().take(line).skip(line.saturating_sub(SNIPPET));
    let width = line.to_string().len();
    lines.map(|(at, text)| format!("\n  {:width$} | {text}", at + 1)).collect()
}

/// Returns the error and a hint. The parser's own hints are for programmers who call it.
fn reason(error: &serde_saphyr::Error) -> (String, &'static str) {
    use serde_saphyr::Error;
    match error {
        Error::AliasError { error, .. } => reason(error),
        Error::DuplicateMappingKey { key: Some(key), .. } => (format!("duplicate key `{key}`"), "remove one of them"),
        Error::DuplicateMappingKey { .. } => ("duplicate key".to_owned(), "remove one of them"),
        Error::MultipleDocuments { .. } => {
            ("a second document begins here".to_owned(), "remove the `---`: the configuration is one document")
        }
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            ("the YAML aliases expand to more than a configuration may hold".to_owned(), "use fewer `*aliases`")
        }
        Error::NonFiniteFloat { value, .. } => {
            (format!("`{value}` is not a valid JSON number"), "write it as text, in quotes")
        }
        other => {
            let rendered = other.render_with_formatter(&serde_saphyr::UserMessageFormatter);
            let first = rendered.lines().next().unwrap_or_default();
            let first = first.strip_prefix("error: ").unwrap_or(first);
            let bare =
                first.strip_prefix("line ").and_then(|rest| rest.split_once(": ")).map_or(first, |(_, rest)| rest);
            let bare = bare.rfind(" at line ").map_or(bare, |at| &bare[..at]);
            (bare.to_owned(), "fix this line, or the one before it")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let failure = parse(text, Path::new("c.yaml")).expect_err("a text that is wrong");
        assert_eq!(failure.message(), expected, "of\n{text}");
    }

    #[test]
    fn errors_carry_the_position_and_a_snippet() {
        refused("a: 1\na: 2\n", "c.yaml:2:1: duplicate key `a`\n  1 | a: 1\n  2 | a: 2");
        refused("a: 1\n---\nb: 2\n", "c.yaml:3:1: a second document begins here\n  1 | a: 1\n  2 | ---\n  3 | b: 2");
        refused("a: .nan\n", "c.yaml:1:4: `.nan` is not a valid JSON number\n  1 | a: .nan");
        refused("- 1\n", "`c.yaml` contains no keys");
        refused("# nothing\n", "`c.yaml` is empty");
        let many = "a: 1\nb: 1\nc: 1\nd: 1\nx: [1, 2\ny: 3\n";
        let failure = parse(many, Path::new("c.yaml")).expect_err("an open bracket");
        assert!(failure.message().starts_with("c.yaml:6:2: "), "{}", failure.message());
        assert!(failure.message().ends_with("\n  4 | d: 1\n  5 | x: [1, 2\n  6 | y: 3"), "{}", failure.message());
    }

    #[test]
    fn rejects_exponential_aliases_with_one_sentence() {
        let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for at in 1..9 {
            let before = vec![format!("*a{}", at - 1); 9].join(",");
            laughs.push_str(&format!("a{at}: &a{at} [{before}]\n"));
        }
        let failure = parse(&laughs, Path::new("c.yaml")).expect_err("a billion laughs");
        assert!(failure.message().contains("expand to more"), "{}", failure.message());
        assert!(failure.message().lines().count() <= 1 + SNIPPET, "{}", failure.message());
    }
}
