//! Changes made by hand since the last deploy of a folder, which the deploy would undo.

use milepost_model::ChangeOutcome;
use milepost_model::base::HandEdit;
use milepost_model::change::UnitKey;

use super::{Apply, HandEdits};
use crate::failure::{Failure, Result};
use crate::output::{local, printable, reason_lines};

impl Apply<'_> {
    /// Reports what would be undone, once, and asks for confirmation. `--yes` is not enough,
    /// because it was given before these changes were known.
    pub(super) fn ask_about_hand_edits(&mut self, plan: &ChangeOutcome) -> Result<()> {
        let mut is_new = false;
        for sentence in plan.hand_edits.iter().map(sentence) {
            if !self.told.contains(&sentence) {
                self.context.ui.warn(&sentence);
                self.told.push(sentence);
                is_new = true;
            }
        }
        let goes_on = self.options.watching || self.options.change.dry_run;
        if !is_new || goes_on || self.options.hand_edits == HandEdits::Overwrite {
            return Ok(());
        }
        if !self.context.asks() {
            return Err(Failure::new("this would undo changes made by hand")
                .hint("copy them into the folder, or pass `--overwrite` to undo them"));
        }
        if self.context.ui.ask("Undo these changes?")? {
            Ok(())
        } else {
            Err(Failure::new("cancelled, nothing was changed"))
        }
    }
}

fn sentence(edit: &HandEdit) -> String {
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
