use serde::Serialize;

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    pub name: String,
    pub state: State,
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Ok,
    /// Works, but with limits.
    Warn,
    /// Does not work.
    Bad,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

impl Check {
    pub fn ok(name: &str, detail: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state: State::Ok, detail: detail.into(), fix: None }
    }

    pub fn warn(name: &str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state: State::Warn, detail: detail.into(), fix: Some(fix.into()) }
    }

    pub fn bad(name: &str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state: State::Bad, detail: detail.into(), fix: Some(fix.into()) }
    }
}
