//! Differences and reasons as text.

use milepost_model::change::UnitKey;
use milepost_model::diff::{UnitDiff, UnitDiffKind};
use milepost_model::plan::Reason;
use milepost_model::tree::{FileChange, FileChangeKind};
use serde_json::Value;

/// Files beyond this are counted, not listed.
const FILES: usize = 50;

pub fn diff_text(changes: &[UnitDiff]) -> String {
    let mut lines = Vec::new();
    for change in changes {
        let key = UnitKey { kind: change.kind, name: change.name.clone() };
        let (before, after) = (change.before.unwrap_or_default(), change.after.unwrap_or_default());
        lines.push(match change.change {
            UnitDiffKind::Added => format!("+ {key} (version {after})"),
            UnitDiffKind::Removed => format!("- {key} (version {before})"),
            UnitDiffKind::Changed => format!("~ {key} (version {before} -> {after})"),
            UnitDiffKind::Renumbered => format!("= {key} (version {before} -> {after}, same content)"),
        });
        lines.extend(reason_lines(&change.reasons).into_iter().map(|line| format!("    {line}")));
    }
    lines.join("\n")
}

pub fn reason_lines(reasons: &[Reason]) -> Vec<String> {
    let mut lines = Vec::new();
    for reason in reasons {
        match reason {
            Reason::New => lines.push("new".to_owned()),
            Reason::Asked => lines.push("asked for, with the same content".to_owned()),
            Reason::Secret => lines.push("the value changed".to_owned()),
            Reason::Field { field, before, after } => {
                lines.push(format!("{field}: {} -> {}", value(before.as_ref()), value(after.as_ref())));
            }
            Reason::Pinned { kind, name, before, after } => {
                let number =
                    |number: &Option<i64>| number.map_or_else(|| "none".to_owned(), |number| number.to_string());
                lines.push(format!("{kind} {name}: version {} -> {}", number(before), number(after)));
            }
            Reason::Files { field, files, .. } => {
                if files.is_empty() {
                    lines.push(format!("{field}: other files"));
                }
                lines.extend(files.iter().take(FILES).map(file_line));
                if files.len() > FILES {
                    lines.push(format!("and {} more files", files.len() - FILES));
                }
            }
        }
    }
    lines
}

fn value(value: Option<&Value>) -> String {
    value.map_or_else(|| "(none)".to_owned(), Value::to_string)
}

fn file_line(file: &FileChange) -> String {
    let size = |size: Option<u64>| size.map_or_else(|| "link".to_owned(), |size| format!("{size} B"));
    match file.change {
        FileChangeKind::Added => format!("+ {} ({})", file.path, size(file.size_after)),
        FileChangeKind::Removed => format!("- {} ({})", file.path, size(file.size_before)),
        FileChangeKind::Changed => format!("~ {} ({} -> {})", file.path, size(file.size_before), size(file.size_after)),
        FileChangeKind::Mode => format!("~ {} (executable bit)", file.path),
    }
}
