use clap::Args;
use milepost_model::TagName;

use crate::context::Context;
use crate::failure::{Failure, Result};

/// Put a tag on a release, taking it from wherever it was
#[derive(Debug, Args)]
pub struct TagArgs {
    /// A release, a tag, `live` or `latest`
    release: String,
    /// The tag: lowercase letters, digits and hyphens, since it becomes a part of a host name
    tag: String,
    /// Why, for the history
    #[arg(short = 'm', long, default_value = "")]
    why: String,
}

pub async fn run(context: &Context<'_>, args: TagArgs) -> Result<()> {
    if args.tag == "live" {
        let hint = if args.release == "live" {
            "give the tag a name of its own, like `milepost release tag live good`".to_owned()
        } else {
            format!("use `milepost release live {}`", args.release)
        };
        return Err(Failure::usage("live is not set like other tags").hint(hint));
    }
    let tag: TagName = args.tag.parse()?;
    let release = context.client.tag_set(&context.app, tag.as_str(), &args.release, args.why).await?;
    context.ui.show(
        &release,
        |release| vec![release.id.to_string()],
        |release| format!("Tag {tag} is on release {}.", release.id),
    )
}
