//! The check of a release: its new functions are loaded once before users may get it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::name::UnitName;

/// Log lines that are kept of a function that did not load, newest.
const LINES: usize = 20;
/// Longest kept line, in characters.
const LINE: usize = 500;
/// Functions that did not load whose log is kept; of the others only the reason is.
const LOGS: usize = 20;

/// What is known about whether a release works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseCheck {
    pub state: CheckState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub checked_at: Option<Timestamp>,
    /// The functions that were loaded: those whose version the release before did not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionCheck>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// There was nothing to load.
    #[default]
    None,
    Passed,
    /// Not known yet: the release is neither latest nor live by following.
    Pending,
    /// A function did not load: as with `pending`, for good.
    Failed,
    /// The user asked for no check.
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FunctionCheck {
    pub name: UnitName,
    pub number: i64,
    pub state: LoadState,
    /// Why it did not load.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The last lines that it wrote while it was loaded, if it did not load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoadState {
    Ok,
    Failed,
}

impl ReleaseCheck {
    pub fn is_none(&self) -> bool {
        self.state == CheckState::None
    }

    /// Functions that did not load.
    pub fn failed(&self) -> impl Iterator<Item = &FunctionCheck> {
        self.functions.iter().filter(|function| function.state == LoadState::Failed)
    }
}

impl CheckState {
    /// Whether the release may not become latest, nor live by following.
    pub fn holds_back(self) -> bool {
        matches!(self, Self::Pending | Self::Failed)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Passed => "passed",
            Self::Pending => "pending",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    pub fn from_text(text: &str) -> Option<Self> {
        let all = [Self::None, Self::Passed, Self::Pending, Self::Failed, Self::Skipped];
        all.into_iter().find(|state| state.as_str() == text)
    }
}

/// Bounds what is kept about functions: the newest lines of each, and logs of the first failures only.
pub fn bounded(mut functions: Vec<FunctionCheck>) -> Vec<FunctionCheck> {
    let mut logs = 0;
    for function in &mut functions {
        cut(&mut function.reason);
        if function.state == LoadState::Ok {
            function.log.clear();
            continue;
        }
        logs += 1;
        let kept = if logs > LOGS { 0 } else { LINES };
        let excess = function.log.len().saturating_sub(kept);
        function.log.drain(..excess);
        function.log.iter_mut().for_each(cut);
    }
    functions
}

fn cut(line: &mut String) {
    if let Some((at, _)) = line.char_indices().nth(LINE) {
        line.truncate(at);
        line.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(lines: usize, length: usize) -> FunctionCheck {
        let log = (0..lines).map(|line| format!("{line}{}", "ä".repeat(length))).collect();
        FunctionCheck {
            name: "f".parse().expect("a name"),
            number: 1,
            state: LoadState::Failed,
            reason: String::new(),
            log,
        }
    }

    #[test]
    fn keeps_the_newest_lines_and_cuts_long_ones_between_characters() {
        let kept = bounded(vec![failed(100, 2 * LINE)]);
        assert_eq!(kept[0].log.len(), LINES);
        assert!(kept[0].log.iter().all(|line| line.chars().count() == LINE + 1));
        assert!(kept[0].log[0].starts_with("80"));
    }

    #[test]
    fn a_hundred_failures_keep_the_logs_of_the_first() {
        let kept = bounded((0..100).map(|_| failed(LINES, 1)).collect());
        assert_eq!(kept.iter().filter(|function| !function.log.is_empty()).count(), LOGS);
    }

    #[test]
    fn states_are_read_as_they_are_written() {
        for state in
            [CheckState::None, CheckState::Passed, CheckState::Pending, CheckState::Failed, CheckState::Skipped]
        {
            assert_eq!(CheckState::from_text(state.as_str()), Some(state));
        }
    }
}
