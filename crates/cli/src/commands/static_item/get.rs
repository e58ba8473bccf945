use clap::Args;
use milepost_model::Digest;
use milepost_model::UnitKind;

use crate::args::slots::VersionArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::Table;

/// Show a static item and its files
#[derive(Debug, Args)]
pub struct GetArgs {
    #[command(flatten)]
    version: VersionArgs,
}

pub async fn run(context: &Context<'_>, args: GetArgs) -> Result<()> {
    let version =
        context.client.version_get(&context.app, &args.version.key(UnitKind::Static)?, args.version.version()).await?;
    let tree: Option<Digest> =
        version.spec.get("tree").and_then(|tree| tree.as_str()).and_then(|tree| tree.parse().ok());
    let files = match &tree {
        Some(tree) => context.client.tree_get(&context.app, tree).await?,
        None => Vec::new(),
    };
    context.ui.show(
        &files,
        |files| files.iter().map(|file| file.path.clone()).collect(),
        |files| {
            let mut table = Table::new(["PATH", "SIZE", "DIGEST"], "It has no files.");
            for item in files {
                let (size, digest) = match (&item.file, &item.link) {
                    (Some(file), _) => (file.size.to_string(), file.digest.short()),
                    (None, link) => ("link".to_owned(), format!("-> {}", link.as_deref().unwrap_or_default())),
                };
                table.row([item.path.clone(), size, digest]);
            }
            format!("Static {} version {} (uid {})\n{}", version.name, version.number, version.uid, table.render())
        },
    )
}
