//! Differences and reasons as text.

mod amounts_of_functions;
mod files;
mod lines;
mod values;

use milepost_model::UnitKind;
use milepost_model::change::UnitKey;
use milepost_model::diff::{UnitDiff, UnitDiffKind};
use milepost_model::plan::{Reason, are_built};
use milepost_model::tree::FileChange;

use super::printable;

pub use lines::line_diffs;

/// Files beyond this are counted, not listed.
const FILES: usize = 50;

/// Which files a diff lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// The first `FILES` source files. Files that a build produced are only counted.
    Main,
    All,
}

pub fn diff_text(changes: &[UnitDiff]) -> String {
    diff_text_of(changes, Listed::Main)
}

pub fn diff_text_of(changes: &[UnitDiff], listed: Listed) -> String {
    let mut lines = Vec::new();
    for change in changes {
        let key = printable(&key(change).to_string());
        let (before, after) = (change.before.unwrap_or_default(), change.after.unwrap_or_default());
        lines.push(match change.change {
            UnitDiffKind::Added => format!("+ {key} (version {after})"),
            UnitDiffKind::Removed => format!("- {key} (version {before})"),
            UnitDiffKind::Changed => format!("~ {key} (version {before} -> {after})"),
            UnitDiffKind::Renumbered => format!("= {key} (version {before} -> {after}, same content)"),
        });
        lines
            .extend(reasons_listed(change.kind, &change.reasons, listed).into_iter().map(|line| format!("    {line}")));
    }
    lines.join("\n")
}

fn key(change: &UnitDiff) -> UnitKey {
    UnitKey { kind: change.kind, name: change.name.clone() }
}

/// Why a unit changed: one line for each field and file.
pub fn reason_lines(kind: UnitKind, reasons: &[Reason]) -> Vec<String> {
    reasons_listed(kind, reasons, Listed::Main)
}

fn reasons_listed(kind: UnitKind, reasons: &[Reason], listed: Listed) -> Vec<String> {
    let mut lines = Vec::new();
    for reason in reasons {
        match reason {
            Reason::New => lines.push("new".to_owned()),
            Reason::Asked => lines.push("requested explicitly, with the same content".to_owned()),
            Reason::Secret => lines.push("the value changed".to_owned()),
            Reason::Field { field, before, after } => {
                lines.extend(values::field_lines(kind, field, before.as_ref(), after.as_ref()));
            }
            Reason::Pinned { kind, name, before, after } => lines.push(pin_line(*kind, name, *before, *after)),
            Reason::Files { field, files, .. } if files.is_empty() => lines.push(format!("{field}: files changed")),
            Reason::Files { field, files, .. } => {
                let is_built = are_built(field, reasons);
                if is_built && listed == Listed::Main {
                    lines.push(format!("{field}: {}", files::count(files)));
                    continue;
                }
                if is_built {
                    lines.push(format!("{field}:"));
                }
                let indent = if is_built { "  " } else { "" };
                lines.extend(file_lines(files, listed).into_iter().map(|line| format!("{indent}{line}")));
            }
        }
    }
    lines
}

fn file_lines(files: &[FileChange], listed: Listed) -> Vec<String> {
    let most = if listed == Listed::All { usize::MAX } else { FILES };
    let mut lines: Vec<String> = files.iter().take(most).map(files::line).collect();
    match files.len().saturating_sub(most) {
        0 => {}
        1 => lines.push("and 1 more file".to_owned()),
        more => lines.push(format!("and {more} more files")),
    }
    lines
}

fn pin_line(kind: UnitKind, name: &str, before: Option<i64>, after: Option<i64>) -> String {
    let name = printable(name);
    match (before, after) {
        (Some(before), Some(after)) => format!("{kind} `{name}` changed: version {before} -> {after}"),
        (None, Some(after)) => format!("{kind} is now `{name}` version {after}"),
        (Some(before), None) => format!("{kind} `{name}` is no longer pinned to version {before}"),
        (None, None) => format!("{kind} `{name}` changed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_both_versions_of_a_changed_package() {
        let pinned = |before, after| {
            reason_lines(
                UnitKind::Function,
                &[Reason::Pinned { kind: UnitKind::Package, name: "src-pkg".into(), before, after }],
            )
            .join("\n")
        };
        assert_eq!(pinned(Some(1), Some(2)), "package `src-pkg` changed: version 1 -> 2");
        assert_eq!(pinned(None, Some(2)), "package is now `src-pkg` version 2");
        assert_eq!(pinned(Some(1), None), "package `src-pkg` is no longer pinned to version 1");
    }
}
