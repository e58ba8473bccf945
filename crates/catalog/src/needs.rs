//! Finds what needs a version, a function or an alias besides releases, routes and timers: open
//! executions, jobs and webhooks. The lookups run under the lock of the app's row, which also
//! covers the creation of jobs and webhooks. Executions are accepted without that lock, so a delete
//! of versions locks their rows first (`versions::hold_for_delete`).

use milepost_model::change::UnitKey;
use milepost_model::refusal::{Use, User, UserKind};
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

/// Returns every reference to this version; `what` describes the version.
pub(crate) async fn of_version(tx: &mut Tx, version_id: i64, what: &str) -> Result<Vec<User>> {
    let mut found = Vec::new();
    let (ids, count) = executions::open_of_version(tx, version_id, NAMED).await?;
    let more = count - ids.len() as i64;
    found.extend(ids.into_iter().map(|id| User::new(UserKind::Execution, id, Use::Runs, what)));
    if more > 0 {
        found.push(User::more(UserKind::Execution, more.unsigned_abs(), Use::Runs, what));
    }
    found.extend(of(tx, Needed::Version(version_id), Use::PinnedTo, what).await?);
    Ok(found)
}

/// Returns the unfinished jobs and the webhooks of a function, with any selector.
pub(crate) async fn of_function(tx: &mut Tx, unit_id: i64, function: &UnitKey) -> Result<Vec<User>> {
    of(tx, Needed::Function(unit_id), Use::Needs, &function.to_string()).await
}

pub(crate) async fn of_alias(tx: &mut Tx, unit_id: i64, alias: &AliasName) -> Result<Vec<User>> {
    let selector = Selector::Alias(alias.clone()).to_string();
    of(tx, Needed::Selector(unit_id, &selector), Use::Follows, "").await
}

async fn of(tx: &mut Tx, needed: Needed<'_>, how: Use, what: &str) -> Result<Vec<User>> {
    let jobs = jobs::open(tx, needed, NAMED).await?;
    let mut found: Vec<User> = jobs.into_iter().map(|job| User::new(UserKind::Job, job, how, what)).collect();
    let webhooks = webhooks::ids(tx, needed, NAMED).await?;
    found.extend(webhooks.into_iter().map(|id| User::new(UserKind::Webhook, id, how, what)));
    Ok(found)
}
