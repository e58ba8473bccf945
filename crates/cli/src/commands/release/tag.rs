use clap::Args;
use milepost_model::TagName;

use crate::context::Context;
use crate::failure::{Failure, Result};

/// Put a tag on a release
///
/// If the tag is on another release, it moves.
#[derive(Debug, Args)]
pub struct TagArgs {
    /// A release, a tag, `live` or `latest`
    release: String,
    /// The tag: lowercase letters, digits and hyphens; it becomes part of a host name
    tag: String,
    /// The reason, for the history
    #[arg(short = 'm', long, default_value = "", hide_default_value = true)]
    why: String,
}

pub async fn run(context: &Context<'_>, args: TagArgs) -> Result<()> {
    if args.tag == "live" {
        let hint = if args.release == "live" {
            "choose another name for the tag, like `milepost release tag live good`".to_owned()
        } else {
            format!("use `milepost release live {}`", args.release)
        };
        return Err(Failure::usage("`live` cannot be used as a tag").hint(hint));
    }
    let tag: TagName = args.tag.parse()?;
    let release = context.client.tag_set(&context.app, tag.as_str(), &args.release, args.why).await?;
    context.ui.show(
        &release,
        |release| vec![release.id.to_string()],
        |release| format!("Tagged release {} as {tag}.", release.id),
    )
}
