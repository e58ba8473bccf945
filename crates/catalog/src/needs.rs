//! Finds what needs a version, a function or an alias besides releases, routes and timers: open
//! executions, jobs and webhooks. The lookups run under the lock of the app's row, which also
//! covers the creation of jobs and webhooks. Executions are accepted without that lock, so a delete
//! of versions locks their rows first (`versions::hold_for_delete`).

use milepost_model::{AliasName, Selector};

use crate::db::{Tx, Val};
use crate::error::Result;
use crate::tables::{executions, jobs, webhooks};

/// Maximum number of blockers listed per kind.
const NAMED: i64 = 20;

/// What a job or webhook refers to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Needed<'a> {
    /// The version that it is pinned to.
    Version(i64),
    Function(i64),
    /// A function by this selector.
    Selector(i64, &'a str),
}

impl Needed<'_> {
    /// Returns the condition for a table with the columns `unit_id`, `version_id` and `selector`.
    pub(crate) fn condition(self) -> (&'static str, Vec<Val>) {
        match self {
            Self::Version(id) => ("version_id = $1", vec![id.into()]),
            Self::Function(id) => ("unit_id = $1", vec![id.into()]),
            Self::Selector(id, selector) => ("unit_id = $1 AND selector = $2", vec![id.into(), selector.into()]),
        }
    }
}

/// Returns one line for each reference to this version; `what` describes the version.
pub(crate) async fn of_version(tx: &mut Tx, version_id: i64, what: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let (ids, count) = executions::open_of_version(tx, version_id, NAMED).await?;
    found.extend(ids.iter().map(|id| format!("execution {id} of {what} has not ended")));
    let more = count - ids.len() as i64;
    if more > 0 {
        found.push(format!("{more} more executions of {what} have not ended"));
    }
    let pinned = jobs::open(tx, Needed::Version(version_id), NAMED).await?;
    found.extend(pinned.iter().map(|job| format!("{job} is pinned to {what}")));
    let pinned = webhooks::ids(tx, Needed::Version(version_id), NAMED).await?;
    found.extend(pinned.iter().map(|id| format!("webhook {id} is pinned to {what}")));
    Ok(found)
}

/// Returns the unfinished jobs and the webhooks of a function, with any selector.
pub(crate) async fn of_function(tx: &mut Tx, unit_id: i64) -> Result<Vec<String>> {
    let mut found = jobs::open(tx, Needed::Function(unit_id), NAMED).await?;
    found.extend(webhooks::ids(tx, Needed::Function(unit_id), NAMED).await?.iter().map(|id| format!("webhook {id}")));
    Ok(found)
}

pub(crate) async fn of_alias(tx: &mut Tx, unit_id: i64, alias: &AliasName) -> Result<Vec<String>> {
    let selector = Selector::Alias(alias.clone()).to_string();
    let mut found = jobs::open(tx, Needed::Selector(unit_id, &selector), NAMED).await?;
    let webhooks = webhooks::ids(tx, Needed::Selector(unit_id, &selector), NAMED).await?;
    found.extend(webhooks.iter().map(|id| format!("webhook {id}")));
    Ok(found.into_iter().map(|by| format!("{by} follows it")).collect())
}
