//! One file per table: its row type and its statements. Everything here runs inside the caller's
//! transaction. Calls name the table first (`versions::find_by_number`).

pub(crate) mod aliases;
pub(crate) mod app_versions;
pub(crate) mod apps;
pub(crate) mod attempts;
#[cfg(feature = "bench")]
pub(crate) mod bench;
pub(crate) mod blobs;
pub(crate) mod builds;
pub(crate) mod contents;
pub(crate) mod deployments;
pub(crate) mod events;
pub(crate) mod execution_input;
pub(crate) mod execution_retention;
pub(crate) mod execution_version;
pub(crate) mod executions;
pub(crate) mod groups;
pub(crate) mod idempotency;
pub(crate) mod installs;
pub(crate) mod jobs;
pub(crate) mod keyed_secrets;
pub(crate) mod memberships;
pub(crate) mod nodes;
pub(crate) mod pointer_moves;
pub(crate) mod qinling;
pub(crate) mod release_checks;
pub(crate) mod releases;
pub(crate) mod served_versions;
pub(crate) mod server_facts;
pub(crate) mod tags;
pub(crate) mod timers;
pub(crate) mod tokens;
pub(crate) mod units;
pub(crate) mod versions;
pub(crate) mod webhooks;
