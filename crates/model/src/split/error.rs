use super::{MAX_ARMS, MIN_ARMS, Target};
use crate::refusal::{Code, Refusal};

/// Why arms do not make a split.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    #[error("a split has {MIN_ARMS} to {MAX_ARMS} targets, not {0}")]
    Arms(usize),
    #[error("{0} is given twice")]
    Twice(Target),
    /// The sum, in hundredths of a percent.
    #[error("the weights sum to {}, not to 100 %", percent(*.0))]
    Sum(u32),
    #[error("the table does not agree with the weights")]
    Table,
}

fn percent(hundredths: u32) -> String {
    format!("{} %", f64::from(hundredths) / 100.0)
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Release(id) => write!(f, "release `{id}`"),
            Self::Version { function, number } => write!(f, "version {number} of function `{function}`"),
        }
    }
}

impl From<SplitError> for Refusal {
    fn from(error: SplitError) -> Self {
        let refusal = Self::new(Code::InvalidRequest, error.to_string());
        match error {
            SplitError::Arms(_) => refusal,
            SplitError::Twice(_) => refusal.correct("give each target once"),
            SplitError::Sum(_) => refusal.correct("give weights that sum to 100"),
            SplitError::Table => refusal.correct("leave the table out"),
        }
    }
}
