//! Line diffs of text files.

use milepost_model::diff::UnitDiff;
use milepost_model::plan::{Reason, are_built};
use milepost_model::tree::TextOmitted;

use super::{Listed, key};
use crate::output::printable;

/// Longer lines are cut: they are rarely written by hand, and would bury the others.
const LONGEST: usize = 1000;

const BOLD: &str = "1";
const RED: &str = "31";
const GREEN: &str = "32";
const CYAN: &str = "36";

/// Unit by unit, in unified diff format. Empty if no text file differs.
pub fn line_diffs(changes: &[UnitDiff], listed: Listed, color: bool) -> String {
    let mut sections: Vec<String> = Vec::new();
    let mut left_out = 0;
    for change in changes {
        for reason in &change.reasons {
            let Reason::Files { field, files, .. } = reason else { continue };
            let is_built = are_built(field, &change.reasons);
            if is_built && listed == Listed::Main {
                continue;
            }
            left_out += files.iter().filter(|file| file.text_omitted == Some(TextOmitted::Limit)).count();
            let texts: Vec<&str> = files.iter().filter_map(|file| file.text.as_deref()).collect();
            if texts.is_empty() {
                continue;
            }
            let built = if is_built { format!(" ({field})") } else { String::new() };
            let mut lines = vec![paint(&format!("{}{built}", printable(&key(change).to_string())), BOLD, color)];
            for text in texts {
                lines.extend(text.split_terminator('\n').enumerate().map(|(at, line)| painted(at, line, color)));
            }
            sections.push(lines.join("\n"));
        }
    }
    if left_out > 0 {
        let files = if left_out == 1 { "1 more file".to_owned() } else { format!("{left_out} more files") };
        sections.push(format!("Lines of {files} not shown: the diff is too large."));
    }
    sections.join("\n\n")
}

/// Colors a line by its first character. The first two lines are file names.
fn painted(at: usize, line: &str, color: bool) -> String {
    let text = shown(line);
    let code = match line.as_bytes().first() {
        _ if at < 2 => BOLD,
        Some(b'+') => GREEN,
        Some(b'-') => RED,
        Some(b'@') => CYAN,
        _ => return text,
    };
    paint(&text, code, color)
}

/// Escapes control characters except tabs, and cuts long lines.
fn shown(line: &str) -> String {
    let text = line.split('\t').map(printable).collect::<Vec<_>>().join("\t");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}... ({} characters)", &text[..end], line.chars().count().saturating_sub(1)),
        None => text,
    }
}

fn paint(text: &str, code: &str, color: bool) -> String {
    if color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(text: &str) -> Vec<UnitDiff> {
        let files = serde_json::json!([{"path": "a.py", "change": "changed", "text": text}]);
        let reasons = serde_json::json!([{"type": "files", "field": "deployment", "files": files}]);
        let unit = serde_json::json!([{"kind": "package", "name": "p", "change": "changed", "reasons": reasons}]);
        serde_json::from_value(unit).expect("a diff")
    }

    const TEXT: &str = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n same\n--- x\n+\ty\n";

    #[test]
    fn colors_added_and_removed_lines() {
        let expected = [
            "\x1b[1mpackage p\x1b[0m",
            "\x1b[1m--- a/a.py\x1b[0m",
            "\x1b[1m+++ b/a.py\x1b[0m",
            "\x1b[36m@@ -1,2 +1,2 @@\x1b[0m",
            " same",
            "\x1b[31m--- x\x1b[0m",
            "\x1b[32m+\ty\x1b[0m",
        ];
        assert_eq!(line_diffs(&changes(TEXT), Listed::Main, true), expected.join("\n"));
        assert_eq!(line_diffs(&changes(TEXT), Listed::Main, false), format!("package p\n{}", TEXT.trim_end()));
    }

    #[test]
    fn escapes_control_characters_in_file_content() {
        let text = line_diffs(&changes("--- a/x\n+++ b/x\n@@ -1 +1 @@\n+\u{1b}[2Jhidden\r\n"), Listed::Main, false);
        assert!(text.ends_with("+\\u{1b}[2Jhidden\\r"), "{text:?}");
    }

    #[test]
    fn cuts_long_lines() {
        let text = format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n+{}\n", "ä".repeat(5000));
        let shown = line_diffs(&changes(&text), Listed::Main, false);
        assert!(shown.ends_with("ä... (5000 characters)"), "{shown}");
        assert!(shown.chars().count() < LONGEST + 100);
    }
}
