//! Errors as users see them: one sentence, its causes, a hint, and the exit code.

use std::path::Path;
use std::process::ExitCode;

use milepost_client::ClientError;
use milepost_client::source::SourceError;
use milepost_model::{Code, NameError};

use crate::output::{Ui, harmless, harmless_json};

pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Decides the exit code; `docs/scripts.md` lists the codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Failed,
    Usage,
    /// The user answered no. That is no error, but nothing was done either.
    Cancelled,
}

#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    message: String,
    causes: Vec<String>,
    blockers: Vec<String>,
    hint: Option<String>,
    /// The server's error code, if the server refused the request.
    code: Option<Code>,
    /// Boxed to keep `Result` small: few failures have these.
    more: Box<More>,
}

/// Further mistakes found at the same time, and warnings, each with an optional hint.
#[derive(Debug, Default)]
struct More {
    mistakes: Vec<(String, Option<String>)>,
    warnings: Vec<(String, Option<String>)>,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Failed,
            message: message.into(),
            causes: Vec::new(),
            blockers: Vec::new(),
            hint: None,
            code: None,
            more: Box::default(),
        }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, ..Self::new(message) }
    }

    pub fn cancelled() -> Self {
        Self { kind: Kind::Cancelled, ..Self::new("cancelled; nothing was changed") }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }

    /// What prevents the operation, one line each.
    #[must_use]
    pub fn blockers(mut self, blockers: Vec<String>) -> Self {
        self.blockers = blockers;
        self
    }

    /// Adds mistakes and warnings that are reported with this failure. The mistakes are counted at
    /// the end.
    #[must_use]
    pub fn with_more(
        mut self,
        mistakes: Vec<(String, Option<String>)>,
        warnings: Vec<(String, Option<String>)>,
    ) -> Self {
        self.more = Box::new(More { mistakes, warnings });
        self
    }

    #[must_use]
    pub fn caused_by(mut self, error: &dyn std::error::Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            let cause = error.to_string();
            // Many libraries repeat the cause in their own message.
            if !self.causes.last().is_some_and(|last| last.ends_with(&cause)) {
                self.causes.push(cause);
            }
            next = error.source();
        }
        self
    }

    /// An error for a file given by the user that cannot be read.
    pub fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        let hint = match error.kind() {
            std::io::ErrorKind::NotFound => "check the path; it is relative to the current folder",
            std::io::ErrorKind::InvalidData => "save it as text in UTF-8",
            std::io::ErrorKind::IsADirectory => "it is a folder; name a file in it",
            _ => "check that you have permission to read it",
        };
        let message = format!("could not read `{}`", path.display());
        // Invalid UTF-8 is a mistake in the file's content, so it exits like every other one.
        let failure =
            if error.kind() == std::io::ErrorKind::InvalidData { Self::usage(message) } else { Self::new(message) };
        failure.caused_by(error).hint(hint)
    }

    #[must_use]
    fn with_source(self, error: &dyn std::error::Error) -> Self {
        match error.source() {
            Some(source) => self.caused_by(source),
            None => self,
        }
    }

    /// The server's error code, for callers that handle it.
    pub fn code(&self) -> Option<Code> {
        self.code
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// The failure as one line of JSON, for programs that run this one with `-o json`.
    pub fn json(&self) -> String {
        let code = match (self.code, self.kind) {
            (Some(code), _) => code.as_str(),
            (None, Kind::Failed) => "failed",
            (None, Kind::Usage) => "usage",
            (None, Kind::Cancelled) => "cancelled",
        };
        let each = |more: &[(String, Option<String>)]| -> Vec<serde_json::Value> {
            more.iter().map(|(message, hint)| serde_json::json!({ "message": message, "hint": hint })).collect()
        };
        let value = serde_json::json!({
            "code": code,
            "message": self.message,
            "causes": self.causes,
            "blockers": self.blockers,
            "hint": self.hint,
            "mistakes": each(&self.more.mistakes),
            "warnings": each(&self.more.warnings),
        });
        harmless_json(&value.to_string())
    }

    pub fn report(self, ui: &Ui) -> ExitCode {
        if ui.is_json() {
            eprintln!("{}", self.json());
            return self.exit_code();
        }
        for (warning, hint) in &self.more.warnings {
            ui.warn(warning);
            if let Some(hint) = hint {
                ui.hint(hint);
            }
        }
        if self.kind == Kind::Cancelled {
            eprintln!("Cancelled; nothing was changed.");
            return self.exit_code();
        }
        ui.error(&self.message);
        for cause in &self.causes {
            eprintln!("  caused by: {}", harmless(cause));
        }
        for blocker in &self.blockers {
            eprintln!("  - {}", harmless(blocker));
        }
        if let Some(hint) = &self.hint {
            ui.hint(hint);
        }
        for (mistake, hint) in &self.more.mistakes {
            ui.error(mistake);
            if let Some(hint) = hint {
                ui.hint(hint);
            }
        }
        if !self.more.mistakes.is_empty() {
            eprintln!("{} mistakes; nothing was changed.", self.more.mistakes.len() + 1);
        }
        self.exit_code()
    }

    fn exit_code(&self) -> ExitCode {
        match self.kind {
            Kind::Failed | Kind::Cancelled => ExitCode::from(1),
            Kind::Usage => ExitCode::from(2),
        }
    }
}

/// Removes the full stop: API messages end with one, error lines do not.
fn trimmed(text: &str) -> String {
    text.trim_end_matches('.').to_owned()
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(problem) => {
                let kind = if problem.code == "invalid_name" || problem.code == "invalid_selector" {
                    Kind::Usage
                } else {
                    Kind::Failed
                };
                let hint = crate::phrase::of_problem(&problem);
                Self {
                    kind,
                    message: trimmed(&problem.detail),
                    causes: Vec::new(),
                    blockers: problem.blockers,
                    hint,
                    code: Code::ALL.iter().copied().find(|code| code.as_str() == problem.code),
                    more: Box::default(),
                }
            }
            ClientError::Source(error) => error.into(),
            ClientError::Unreachable { .. } => {
                Self::new(error.to_string()).hint("start it with `milepost serve`, or pass another `--server URL`")
            }
            ClientError::Address(_) => Self::usage(error.to_string()),
            ClientError::EmptyName => {
                Self::usage(error.to_string()).hint("pass a name; if it comes from a variable, check that it is set")
            }
            ClientError::Broken(_) => Self::new(error.to_string())
                .with_source(&error)
                .hint("check that the server is running, then run the command again"),
            ClientError::Protocol { .. } => {
                Self::new(error.to_string()).hint("check that `--server` or MILEPOST_SERVER names a Milepost server")
            }
            other => Self::new(other.to_string()).with_source(&other),
        }
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        if let SourceError::Pattern { .. } = error {
            return Self::usage(error.to_string())
                .hint("write it like `*.map` or `video/`; `[[]` matches a literal `[`");
        }
        Self::new(error.to_string()).with_source(&error)
    }
}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Self {
        Self::usage(format!("`{}` is not a valid {} name", error.name, error.what)).hint(error.rule)
    }
}

impl From<milepost_model::selector::SelectorError> for Failure {
    fn from(error: milepost_model::selector::SelectorError) -> Self {
        Self::usage(error.sentence()).hint(milepost_model::selector::SELECTOR_HINT)
    }
}

/// A value that no server would accept, so it is a usage error.
impl From<milepost_model::unit_put::SpecError> for Failure {
    fn from(error: milepost_model::unit_put::SpecError) -> Self {
        let failure = Self::usage(error.sentence());
        if error.hint.is_empty() { failure } else { failure.hint(error.hint) }
    }
}

impl From<milepost_model::digest::DigestError> for Failure {
    fn from(error: milepost_model::digest::DigestError) -> Self {
        Self::usage(error.sentence()).hint(milepost_model::digest::DigestError::HINT)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<milepost_server::StartError> for Failure {
    fn from(error: milepost_server::StartError) -> Self {
        let failure = Self::new(error.to_string()).with_source(&error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn json_is_one_line_with_a_code() {
        let failure = Failure::usage("a\nb").hint("c").blockers(vec!["d".to_owned()]);
        let text = failure.json();
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert!(!text.contains('\n'), "{text}");
        assert_eq!((&value["code"], &value["message"]), (&"usage".into(), &"a\nb".into()));
        assert_eq!((&value["hint"], &value["blockers"][0]), (&"c".into(), &"d".into()));
        assert_eq!(Failure::cancelled().json().matches("cancelled").count(), 2);
    }

    #[test]
    fn unreadable_file_is_a_usage_error_only_if_it_is_not_text() {
        let kind = |kind: ErrorKind| Failure::unreadable(Path::new("milepost.yaml"), &kind.into()).kind;
        assert_eq!(kind(ErrorKind::InvalidData), Kind::Usage);
        assert_eq!(kind(ErrorKind::NotFound), Kind::Failed);
    }
}
