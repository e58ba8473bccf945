use std::path::Path;

use crate::failure::Failure;

/// What is wrong with a manifest, where, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestError {
    pub line: u64,
    pub message: String,
    pub hint: Option<String>,
}

impl ManifestError {
    pub fn new(line: u64, message: impl Into<String>) -> Self {
        Self { line, message: message.into(), hint: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// `milepost.yaml:7: …`, which editors and terminals turn into a link.
    pub fn into_failure(self, file: &Path) -> Failure {
        let failure = Failure::usage(format!("{}:{}: {}", file.display(), self.line, self.message));
        match self.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
