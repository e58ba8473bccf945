use clap::Args;
use milepost_model::Digest;

use crate::context::Context;
use crate::failure::Result;

/// Show what references a blob
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// Digest of the blob, `sha256:…`
    digest: String,
}

pub async fn run(context: &Context<'_>, args: WhyArgs) -> Result<()> {
    let digest: Digest = args.digest.parse()?;
    let found = context.client.storage_why(&digest.to_string()).await?;
    context.ui.show(
        &found,
        |found| found.kept_by.clone(),
        |found| {
            if found.kept_by.is_empty() {
                "Nothing references this blob; a sweep deletes it after the grace period.".to_owned()
            } else {
                format!("Referenced by:\n  {}", found.kept_by.join("\n  "))
            }
        },
    )
}
