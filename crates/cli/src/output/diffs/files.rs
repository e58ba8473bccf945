//! One changed file in one line.

use milepost_model::tree::{FileChange, FileChangeKind, TextOmitted};

use crate::output::printable;

pub fn line(file: &FileChange) -> String {
    let path = printable(&file.path);
    let before = || side(file.size_before, file.link_before.as_deref());
    let after = || side(file.size_after, file.link_after.as_deref());
    let (sign, subject, mut facts) = match file.change {
        FileChangeKind::Added => ('+', path, vec![after()]),
        FileChangeKind::Removed => ('-', path, vec![before()]),
        FileChangeKind::Changed => ('~', path, vec![format!("{} -> {}", before(), after())]),
        FileChangeKind::Moved => {
            let from = printable(file.moved_from.as_deref().unwrap_or_default());
            ('R', format!("{from} -> {path}"), vec![after()])
        }
        FileChangeKind::Mode => ('~', path, Vec::new()),
    };
    match (file.executable, file.change) {
        (Some(true), FileChangeKind::Added) => facts.push("executable".to_owned()),
        (Some(true), _) => facts.push("executable now".to_owned()),
        (Some(false), _) => facts.push("no longer executable".to_owned()),
        (None, _) => {}
    }
    match file.text_omitted {
        Some(TextOmitted::Binary) => facts.push("binary".to_owned()),
        Some(TextOmitted::Large) => facts.push("too large to compare by line".to_owned()),
        Some(TextOmitted::Limit) | None => {}
    }
    format!("{sign} {subject} ({})", facts.join(", "))
}

/// `132 files changed`.
pub fn count(files: &[FileChange]) -> String {
    let all = |kind| files.iter().all(|file| file.change == kind);
    let verb = match () {
        () if all(FileChangeKind::Added) => "added",
        () if all(FileChangeKind::Removed) => "removed",
        () => "changed",
    };
    let noun = if files.len() == 1 { "file" } else { "files" };
    format!("{} {noun} {verb}", files.len())
}

fn side(size: Option<u64>, link: Option<&str>) -> String {
    match (size, link) {
        (Some(size), _) => human(size),
        (None, Some(target)) => format!("link to {}", printable(target)),
        (None, None) => "link".to_owned(),
    }
}

/// `12 B`, `1.2 KiB`.
fn human(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut unit: u128 = 1024;
    let mut name = UNITS[0];
    let tenths = |unit: u128| (u128::from(bytes) * 10 + unit / 2) / unit;
    for next in &UNITS[1..] {
        // A value that rounds to 1024.0 becomes 1.0 of the next unit.
        if tenths(unit) < 10_240 {
            break;
        }
        unit *= 1024;
        name = next;
    }
    let tenths = tenths(unit);
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        let expected = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1229, "1.2 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (5 << 30, "5.0 GiB"),
        ];
        for (bytes, text) in expected {
            assert_eq!(human(bytes), text);
        }
        assert_eq!(human(u64::MAX), "16777216.0 TiB");
    }

    #[test]
    fn escapes_control_characters_in_file_names() {
        let json = serde_json::json!({"path": "a\u{1b}[2Jb", "change": "added", "sizeAfter": 3});
        let file: FileChange = serde_json::from_value(json).expect("a change");
        assert_eq!(line(&file), "+ a\\u{1b}[2Jb (3 B)");
    }
}
