use clap::Args;
use milepost_model::TagName;

use crate::context::Context;
use crate::failure::Result;

/// Take a tag away, never a release
#[derive(Debug, Args)]
pub struct UntagArgs {
    /// The tag
    tag: TagName,
}

pub async fn run(context: &Context<'_>, args: UntagArgs) -> Result<()> {
    context.client.tag_delete(&context.app, args.tag.as_str()).await?;
    context.ui.say(&format!("Tag {} is gone; the release it was on stays until it expires.", args.tag));
    Ok(())
}
