//! What an apply would undo or overwrite, as one sentence each.

use milepost_declared::apply::Overwritten;
use milepost_model::base::HandEdit;
use milepost_model::change::UnitKey;

use crate::output::{local, printable, reason_lines};

pub fn hand_edit(edit: &HandEdit) -> String {
    let key = UnitKey { kind: edit.kind, name: edit.name.clone() };
    if edit.removed {
        return format!(
            "{} was removed by {} at {}, not by this folder; this folder would create it again",
            printable(&key.to_string()),
            printable(&edit.by),
            local(edit.at)
        );
    }
    let what = match reason_lines(edit.kind, &edit.undone) {
        lines if lines.is_empty() => "this folder no longer declares it and would remove it".to_owned(),
        lines => format!("this folder would change it back: {}", lines.join("; ")),
    };
    format!(
        "{} was changed by {} at {} (version {}), not by this folder; {what}",
        printable(&key.to_string()),
        printable(&edit.by),
        local(edit.at),
        edit.number
    )
}

pub fn overwritten(overwritten: &Overwritten) -> String {
    let by = &overwritten.by;
    let mut from = String::new();
    if let Some(git) = &by.git {
        let commit: String = git.commit.chars().take(10).collect();
        let branch =
            if git.branch.is_empty() { String::new() } else { format!(" on branch {}", printable(&git.branch)) };
        let subject = git.subject.as_ref().map(|subject| format!(" \"{}\"", printable(subject))).unwrap_or_default();
        from = format!(", from commit {commit}{branch}{subject}");
    }
    // The token shows who ran the command. The commit shows whose work it was.
    let actor = printable(&by.created_by);
    let whose = overwritten.author.as_ref().map_or_else(
        || format!("the changes that {actor} applied"),
        |author| format!("the work of {}, applied by {actor}", printable(author)),
    );
    let units: Vec<String> = overwritten.units.iter().map(|key| printable(&key.to_string())).collect();
    format!(
        "your working tree does not contain {whose} at {}{from} (app version {}); this would overwrite {}",
        local(by.created_at),
        by.id,
        units.join(", ")
    )
}
