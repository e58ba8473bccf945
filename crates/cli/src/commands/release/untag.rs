use clap::Args;
use milepost_model::TagName;

use crate::context::Context;
use crate::failure::Result;

/// Remove a tag; its release is kept
#[derive(Debug, Args)]
pub struct UntagArgs {
    /// The tag
    tag: TagName,
}

pub async fn run(context: &Context<'_>, args: UntagArgs) -> Result<()> {
    context.client.tag_delete(&context.app, args.tag.as_str()).await?;
    context.ui.say(&format!("Removed tag {}; its release stays until it expires.", args.tag));
    Ok(())
}
