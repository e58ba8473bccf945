//! All other writes: apps, aliases, builds, releases, tags, live, descriptions, groups and tokens;
//! executions and what triggers them (jobs, timers, webhooks); and the OpenStack interface.

pub(crate) mod alias;
pub(crate) mod app;
pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod claim;
pub(crate) mod execution;
pub(crate) mod fire;
mod fire_step;
pub(crate) mod give_back;
pub(crate) mod group;
pub(crate) mod install;
pub(crate) mod install_lease;
pub(crate) mod install_live;
mod install_overrides;
mod install_settings;
pub(crate) mod install_trial;
pub(crate) mod job;
pub(crate) mod live;
mod publication;
pub(crate) mod qinling;
pub(crate) mod rekey;
pub(crate) mod release;
pub(crate) mod tag;
pub(crate) mod token;
pub(crate) mod version;
pub(crate) mod webhook;
