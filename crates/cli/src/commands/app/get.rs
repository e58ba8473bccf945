use clap::Args;
use milepost_model::release::{Live, LiveMode};

use crate::args::slots::OneAppArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::local;

/// Show an app
#[derive(Debug, Args)]
pub struct GetArgs {
    #[command(flatten)]
    name: OneAppArgs,
}

pub async fn run(context: &Context<'_>, args: GetArgs) -> Result<()> {
    let app = context.client.app_get(args.name.find("name").unwrap_or(&context.app)).await?;
    context.ui.show(
        &app,
        |app| vec![app.name.to_string()],
        |app| {
            let head = app.head.as_deref().unwrap_or("none yet");
            format!(
                "Name:    {}\nPlan:    {}\nHead:    {head}\nLive:    {}\nStored:  {} bytes\nCreated: {} by {}",
                app.name,
                app.plan,
                live_text(&app.live),
                app.stored_bytes,
                local(app.created_at),
                app.created_by
            )
        },
    )
}

/// The live release and its mode. Output never shows live without the mode.
pub fn live_text(live: &Live) -> String {
    let mode = match live.mode {
        LiveMode::Following => "following",
        LiveMode::Pinned => "pinned",
    };
    match &live.release {
        Some(release) => format!("{} ({mode})", release.id),
        None => format!("nothing ({mode})"),
    }
}
