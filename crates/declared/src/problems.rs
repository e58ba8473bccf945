//! Collects mistakes, so that all of them are reported at once.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::yaml::{Documents, Node, NotYaml};
use super::{Place, Problem};

/// Everything found while reading. Reading continues after a mistake with what could be read, but
/// the result is not sent.
#[derive(Debug, Default)]
pub struct Problems {
    errors: RefCell<Vec<Problem>>,
    warnings: RefCell<Vec<Problem>>,
    notes: RefCell<Vec<Problem>>,
}

/// Collects the mistakes of one file.
#[derive(Debug, Clone)]
pub struct Sink<'a> {
    pub file: PathBuf,
    /// Whether known keys of the file match regardless of case.
    pub any_case: bool,
    all: &'a Problems,
}

impl Problems {
    pub fn of_file(&self, file: &Path) -> Sink<'_> {
        Sink { file: file.to_owned(), any_case: false, all: self }
    }

    pub fn error(&self, place: Place, message: impl Into<String>, hint: Option<String>) {
        self.errors.borrow_mut().push(Problem::new(place, message, hint));
    }

    pub fn warn(&self, place: Place, message: impl Into<String>, hint: Option<String>) {
        self.warnings.borrow_mut().push(Problem::new(place, message, hint));
    }

    /// Returns the notes about dropped settings, in the order of the files.
    pub fn take_notes(&self) -> Vec<Problem> {
        let mut notes = self.notes.take();
        notes.sort_by(|one, other| one.place.cmp(&other.place));
        notes
    }

    /// Returns the errors and the warnings, each in the order of the files.
    pub fn into_parts(self) -> (Vec<Problem>, Vec<Problem>) {
        let mut errors = self.errors.into_inner();
        let mut warnings = self.warnings.into_inner();
        // The sort is stable: two mistakes on one line stay in the order they were found.
        errors.sort_by(|one, other| one.place.cmp(&other.place));
        warnings.sort_by(|one, other| one.place.cmp(&other.place));
        (errors, warnings)
    }
}

impl Sink<'_> {
    /// Matches known keys regardless of case.
    pub fn with_any_case(self) -> Self {
        Self { any_case: true, ..self }
    }

    /// Returns the documents of a text and reports YAML errors. None if it could not be parsed.
    pub fn documents(&self, documents: std::result::Result<Documents, NotYaml>) -> Option<Vec<Node>> {
        match documents {
            Ok(documents) => {
                for found in documents.repeated {
                    let message = format!("duplicate key `{}`", found.key);
                    self.wrong_hint(
                        found.line,
                        message,
                        format!("it is already set on line {}: keep one of them", found.first),
                    );
                }
                Some(documents.nodes)
            }
            Err(NotYaml { line, message, hint }) => {
                self.all.error(self.place(line), message, hint.map(str::to_owned));
                None
            }
        }
    }

    pub fn place(&self, line: u64) -> Place {
        Place { file: self.file.clone(), line }
    }

    pub fn wrong(&self, line: u64, message: impl Into<String>) {
        self.all.error(self.place(line), message, None);
    }

    pub fn wrong_hint(&self, line: u64, message: impl Into<String>, hint: impl Into<String>) {
        self.all.error(self.place(line), message, Some(hint.into()));
    }

    pub fn note(&self, line: u64, message: impl Into<String>, hint: impl Into<String>) {
        let note = Problem::new(self.place(line), message, Some(hint.into()));
        self.all.notes.borrow_mut().push(note);
    }

    pub fn warn(&self, line: u64, message: impl Into<String>) {
        self.all.warn(self.place(line), message, None);
    }

    pub fn warn_hint(&self, line: u64, message: impl Into<String>, hint: impl Into<String>) {
        self.all.warn(self.place(line), message, Some(hint.into()));
    }
}
