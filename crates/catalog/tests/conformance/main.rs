//! The contract of the catalog, on both engines: each case runs as `…::sqlite::case` and as
//! `…::postgres::case`.
//!
//! To add a case: write a function that takes the fixture, and add its name to the list at the end
//! of its file.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[path = "../common/mod.rs"]
mod common;

/// Runs each case of a file on both engines.
macro_rules! on_both_engines {
    ($($case:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $case() {
                super::$case(&crate::common::Fixture::new(crate::common::Engine::sqlite()).await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $case() {
                super::$case(&crate::common::Fixture::new(crate::common::Engine::postgres()).await).await;
            })*
        }
    };
}

mod aliases;
mod apps;
mod blobs;
mod builds;
mod change;
mod checks;
mod delete;
mod deployments;
mod effects;
mod executions;
mod facts;
mod groups;
mod history;
mod in_use;
mod installs;
mod jobs;
mod live;
mod merge;
mod migrations;
mod nodes;
mod on_live;
mod overrides;
mod queue;
mod releases;
mod removal;
mod resend;
mod rollouts;
mod secrets;
mod selectors;
mod serving;
mod tags;
mod timers;
mod trials;
mod v1;
mod webhooks;
