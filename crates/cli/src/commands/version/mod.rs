//! Verbs on versions, the same for functions and packages.

pub mod delete;
pub mod describe;
pub mod download;
pub mod get;
pub mod list;

use clap::Args;

use super::shared::NameArgs;

/// A unit and one of its versions.
#[derive(Debug, Clone, Args)]
pub struct VersionArgs {
    #[command(flatten)]
    pub name: NameArgs,
    /// `latest`, a number, a uid, a label, `@alias` or `sha256:…`
    #[arg(long, value_name = "VERSION", default_value = "latest")]
    pub version: String,
}
