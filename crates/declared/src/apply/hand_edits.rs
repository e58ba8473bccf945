//! Changes made by hand since the last deploy of a folder, which the deploy would undo.

use milepost_model::ChangeOutcome;

use super::{Apply, HandEdits};
use crate::error::{Error, Result};
use crate::reporter::{Answer, Event, Question};

impl Apply<'_> {
    /// Reports what would be undone, once, and asks for confirmation.
    pub(super) async fn ask_about_hand_edits(&mut self, plan: &ChangeOutcome) -> Result<()> {
        let mut is_new = false;
        for edit in &plan.hand_edits {
            if !self.hand_edits.contains(edit) {
                self.session.reporter.report(Event::HandEdit(edit));
                self.hand_edits.push(edit.clone());
                is_new = true;
            }
        }
        let goes_on = self.options.watching || self.options.change.dry_run;
        if !is_new || goes_on || self.options.hand_edits == HandEdits::Overwrite {
            return Ok(());
        }
        match self.session.reporter.ask(Question::UndoHandEdits).await? {
            Answer::Yes => Ok(()),
            Answer::No => Err(Error::Cancelled),
            Answer::Unattended => Err(Error::HandEdits),
        }
    }
}
