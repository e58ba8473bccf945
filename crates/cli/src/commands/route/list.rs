use clap::Args;
use milepost_model::UnitKind;

use crate::commands::shared::{self, cell};
use crate::context::Context;
use crate::failure::Result;

/// List routes
#[derive(Debug, Args)]
pub struct ListArgs {}

pub async fn run(context: &Context<'_>, _args: ListArgs) -> Result<()> {
    shared::list(context, UnitKind::Route, "TARGET", target).await
}

/// `hello`, `hello @stable` or `hello version 3`
pub fn target(spec: &serde_json::Value) -> String {
    let alias = spec["alias"].as_str().map(|alias| format!(" @{alias}")).unwrap_or_default();
    let version = spec["version"]["number"].as_i64().map(|number| format!(" version {number}")).unwrap_or_default();
    format!("{}{alias}{version}", cell(&spec["function"]))
}
