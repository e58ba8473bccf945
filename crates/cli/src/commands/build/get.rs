use clap::Args;
use milepost_model::build::Build;

use super::{length, state};
use crate::context::Context;
use crate::failure::Result;
use crate::output::{local, printable};

/// Show a build
#[derive(Debug, Args)]
pub struct GetArgs {
    /// Build id, from `build list`
    #[arg(value_name = "ID")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: GetArgs) -> Result<()> {
    let build = context.client.build_get(&context.app, &args.id).await?;
    context.ui.show(&build, |build| vec![build.id.clone()], text)
}

fn text(build: &Build) -> String {
    let mut lines = vec![
        format!("Build    {} of package {}", build.id, build.package),
        format!("State    {}, took {}", state(build), length(build)),
        format!("Started  {} by {}", local(build.started_at), printable(&build.started_by)),
        format!("Command  {}", printable(&build.command)),
        format!("Source   {}", build.source),
    ];
    if let Some(deployment) = &build.deployment {
        lines.push(format!("Result   {deployment}"));
    }
    if !build.reason.is_empty() {
        lines.push(format!("Reason   {}", printable(&build.reason)));
    }
    lines.push(format!("Run `milepost build log {}` to see its output.", build.id));
    lines.join("\n")
}
