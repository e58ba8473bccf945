//! The domain of Milepost, without storage: names, selectors, units and their canonical form,
//! changes and their reasons, file trees, releases and retention, plans, roles.
//!
//! This crate does no I/O, holds no state and fails only because of its arguments. Time and
//! randomness are passed in through [`Clock`] and [`IdSource`]. Wire types that are also the model
//! (specs, versions, change outcomes) derive their camelCase JSON here, so that the catalog, the
//! API and the CLI use the same names.
//!
//! To add a unit kind: add a file in `spec/`, an arm in [`UnitKind`], [`UnitSpec`] and [`UnitPut`],
//! and a golden digest in `tests/golden_digests.rs`.

pub mod backoff;
pub mod base;
pub mod build;
pub mod canonical;
pub mod chain;
pub mod change;
pub mod channel;
pub mod check;
pub mod clock;
pub mod diff;
pub mod digest;
pub mod event;
pub mod execution;
pub mod host;
pub mod ids;
pub mod install;
pub mod job;
pub mod kind;
pub mod metadata;
pub mod name;
pub mod pack;
pub mod plan;
pub mod pointer;
pub mod quota;
pub mod raw_json;
pub mod refusal;
pub mod release;
pub mod retention;
pub mod role;
pub mod rollout;
pub mod route_path;
pub mod schedule;
pub mod selector;
pub mod snapshot;
pub mod spec;
pub mod split;
pub mod suggest;
pub mod timer;
pub mod tree;
pub mod unit_put;
pub mod webhook;

pub use backoff::Backoff;
pub use change::{ChangeOutcome, GitFacts};
pub use clock::{Clock, ManualClock, SystemClock, Timestamp};
pub use digest::Digest;
pub use ids::{IdSource, OsIds, SeededIds};
pub use kind::UnitKind;
pub use name::{AliasName, AppName, DEFAULT_APP, GroupName, Label, NameError, TagName, UnitName};
pub use quota::PlanName;
pub use raw_json::RawJson;
pub use refusal::{Code, Next, Refusal, Warning};
pub use role::{Permission, Role};
pub use selector::Selector;
pub use spec::UnitSpec;
pub use unit_put::UnitPut;
