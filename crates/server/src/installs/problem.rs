//! Why an install stays at its version.

use milepost_channels::ChannelError;
use milepost_model::channel::Stay;
use milepost_model::install::{Check, CheckResult};
use milepost_model::refusal::Class;
use milepost_model::{Code, Refusal, Timestamp};

use crate::error::ApiError;
use crate::phrase;

/// A reason, shown in the install's status and returned to a waiting user.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    /// A stable identifier.
    pub kind: String,
    pub message: String,
    /// Whether a retry may help.
    pub transient: bool,
    refusal: Option<Box<Refusal>>,
}

impl Problem {
    /// Whether the problem is in the channel rather than in a user's request.
    pub(super) fn is_channels(&self) -> bool {
        let artifacts = [Code::ArtifactRefused, Code::ArtifactBroken, Code::DigestMismatch];
        self.refusal.as_ref().is_none_or(|refusal| artifacts.contains(&refusal.code))
    }

    /// Replaces the kind by one more specific than the error code.
    pub(super) fn of_kind(self, kind: &str) -> Self {
        Self { kind: kind.to_owned(), ..self }
    }

    pub(super) fn check(&self, at: Timestamp, failures: i64) -> Check {
        let result = if self.transient { CheckResult::Retrying } else { CheckResult::Refused };
        Check { at, result, kind: self.kind.clone(), message: self.message.clone(), failures }
    }
}

impl From<ChannelError> for Problem {
    fn from(error: ChannelError) -> Self {
        let (kind, transient) = (error.kind().to_owned(), error.is_transient());
        Self { kind, message: error.to_string(), transient, refusal: None }
    }
}

impl From<Stay> for Problem {
    fn from(stay: Stay) -> Self {
        let kind = match stay {
            Stay::Lesser { .. } => "lesser",
            Stay::Replaced { .. } => "replaced",
        };
        Self { kind: kind.to_owned(), message: stay.to_string(), transient: false, refusal: None }
    }
}

impl From<ApiError> for Problem {
    fn from(error: ApiError) -> Self {
        let refusal = error.0;
        let transient = matches!(
            refusal.code.class(),
            Class::Unavailable | Class::NoDiskSpace | Class::Internal | Class::Upstream | Class::UpstreamTimeout
        ) || refusal.code == Code::InstallBusy;
        let mut message = refusal.message.clone();
        let blockers = phrase::blockers(&refusal.facts);
        if !blockers.is_empty() {
            message = format!("{message}: {}", blockers.join(", "));
        }
        if let Some(hint) = phrase::hint(&refusal) {
            message = format!("{message}; {hint}");
        }
        let kind = refusal.code.as_str().to_owned();
        Self { kind, message, transient, refusal: Some(Box::new(refusal)) }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        ApiError(refusal).into()
    }
}

impl From<milepost_catalog::CatalogError> for Problem {
    fn from(error: milepost_catalog::CatalogError) -> Self {
        ApiError::from(error).into()
    }
}

/// The error for a user who waits for the result.
impl From<Problem> for ApiError {
    fn from(problem: Problem) -> Self {
        if let Some(refusal) = problem.refusal {
            return Self(*refusal);
        }
        let code = if problem.transient { Code::ChannelUnavailable } else { Code::ChannelRefused };
        // Channel errors end with the next step, after the last semicolon.
        let (what, next) = match problem.message.rsplit_once("; ") {
            Some((what, next)) => (what.to_owned(), next.to_owned()),
            None => (problem.message.clone(), "check where it comes from, or ask its operator".to_owned()),
        };
        Self(Refusal::new(code, what).correct(next))
    }
}
