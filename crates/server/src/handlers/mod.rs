//! API handlers, one file per call. `router.rs` lists them.

pub(crate) mod aliases;
pub(crate) mod app_versions;
pub(crate) mod apps;
pub(crate) mod artifacts;
pub(crate) mod blobs;
pub(crate) mod builds;
pub(crate) mod changes;
pub(crate) mod channels;
pub(crate) mod executions;
pub(crate) mod functions;
pub(crate) mod groups;
pub(crate) mod health;
pub(crate) mod installs;
pub(crate) mod jobs;
pub(crate) mod latest;
pub(crate) mod live;
pub(crate) mod logs;
pub(crate) mod plans;
pub(crate) mod publications;
pub(crate) mod releases;
pub(crate) mod storage;
pub(crate) mod system;
pub(crate) mod tags;
pub(crate) mod timers;
pub(crate) mod tokens;
pub(crate) mod trees;
pub(crate) mod units;
pub(crate) mod versions;
pub(crate) mod webhooks;
pub(crate) mod wire;

pub(crate) type Shared = axum::extract::State<crate::state::State>;
