//! How a folder is applied.

use milepost_model::base::Base;
use milepost_model::change::{Change, UnitKey};
use milepost_model::unit_put::Put;

/// How units are changed.
#[derive(Debug, Clone, Default)]
pub struct ChangeOptions {
    pub message: Option<String>,
    pub no_release: bool,
    pub no_check: bool,
    pub on: Base,
    pub dry_run: bool,
    /// The app version that must still be the newest.
    pub expect: Option<String>,
}

impl ChangeOptions {
    pub fn change(&self, puts: Vec<Put>, removes: Vec<UnitKey>) -> Change {
        Change {
            message: self.message.clone().unwrap_or_default(),
            git: None,
            expect: self.expect.clone(),
            expect_live: None,
            on: self.on,
            release: !self.no_release,
            check: !self.no_check,
            dry_run: self.dry_run,
            puts,
            removes,
            deployment: None,
        }
    }
}

/// How a folder is applied.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub change: ChangeOptions,
    pub prune_secrets: bool,
    pub allow_conflicts: bool,
    /// Allow files outside of the folder.
    pub allow_outside: bool,
    /// Repeated applies while the user edits: no questions, and no repeated messages.
    pub watching: bool,
    pub hand_edits: HandEdits,
}

/// What to do about changes made by hand that a folder would undo.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HandEdits {
    /// Asks for confirmation, and fails if it cannot ask.
    #[default]
    Ask,
    /// Warns and continues.
    Overwrite,
}
