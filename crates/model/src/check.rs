//! The check of a release: its new functions are loaded once before it becomes latest or live.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::name::UnitName;

/// How many log lines, the newest, are kept per function that failed to load.
const LINES: usize = 20;
/// Longest kept line, in characters.
const LINE: usize = 500;
/// How many failed functions keep their log; the others keep only the reason.
const LOGS: usize = 20;

/// The result of the check of a release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseCheck {
    pub state: CheckState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub checked_at: Option<Timestamp>,
    /// The functions that were loaded: those whose version is not in the previous release.
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
    /// Not known yet: the release cannot become latest, nor live by following.
    Pending,
    /// A function failed to load: the same restrictions as `pending`, permanently.
    Failed,
    /// The user skipped the check.
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FunctionCheck {
    pub name: UnitName,
    pub number: i64,
    pub state: LoadState,
    /// Why it failed to load.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The last lines that the function wrote while loading, if it failed to load.
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

    /// The functions that failed to load.
    pub fn failed(&self) -> impl Iterator<Item = &FunctionCheck> {
        self.functions.iter().filter(|function| function.state == LoadState::Failed)
    }
}

impl CheckState {
    /// Whether the release must not become latest, nor live by following.
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

/// Limits what is kept: the newest lines of each function, and logs of the first failures only.
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
    fn keeps_only_the_logs_of_the_first_failures() {
        let kept = bounded((0..100).map(|_| failed(LINES, 1)).collect());
        assert_eq!(kept.iter().filter(|function| !function.log.is_empty()).count(), LOGS);
    }

    #[test]
    fn states_round_trip_through_text() {
        for state in
            [CheckState::None, CheckState::Passed, CheckState::Pending, CheckState::Failed, CheckState::Skipped]
        {
            assert_eq!(CheckState::from_text(state.as_str()), Some(state));
        }
    }
}
