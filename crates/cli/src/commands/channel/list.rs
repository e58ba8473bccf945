use clap::Args;
use serde::Serialize;

use super::place::PlaceArgs;
use crate::args::Global;
use crate::failure::Result;
use crate::output::{Table, Ui};

/// List the channels of a server, a folder or a bucket
#[derive(Debug, Args)]
pub struct ListArgs {
    /// List only channels of this package
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    /// Channel location: a folder, an S3 bucket or a server [default: the server]
    ///
    /// Write a bucket as `s3://bucket/prefix`, and a server as its URL followed by `/channels`.
    #[arg(long, value_name = "URL", env = "MILEPOST_CHANNELS", hide_env_values = true)]
    to: Option<String>,
    /// Token for the server in `--to`, if it is not the default server
    #[arg(long, value_name = "TOKEN", env = "MILEPOST_CHANNELS_TOKEN", hide_env_values = true)]
    to_token: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    package: String,
    channel: String,
    latest: Option<String>,
    versions: usize,
    url: String,
}

pub async fn run(ui: &Ui, global: &Global, args: ListArgs) -> Result<()> {
    let place = PlaceArgs { package: args.package, to: args.to, to_token: args.to_token };
    let context = place.context(ui, global)?;
    let store = place.store(ui, context.as_ref(), None)?;
    let only = place.package.as_ref().map(|_| place.package(None)).transpose()?;
    let mut rows = Vec::new();
    for (package, channel) in store.list().await? {
        if only.as_ref().is_some_and(|only| *only != package) {
            continue;
        }
        let Some(all) = store.read(&package, &channel).await? else { continue };
        rows.push(Row {
            url: store.channel_url(&package, &channel),
            package: package.to_string(),
            channel: channel.to_string(),
            latest: all.latest().map(|entry| entry.version.to_string()),
            versions: all.versions().len(),
        });
    }
    ui.show(
        &rows,
        |rows| rows.iter().map(|row| row.url.clone()).collect(),
        |rows| {
            let mut table = Table::new(
                ["PACKAGE", "CHANNEL", "LATEST", "VERSIONS"],
                "No channels yet. Run `milepost publish` to create one.",
            );
            for row in rows {
                let latest = row.latest.clone().unwrap_or_else(|| "-".to_owned());
                table.row([row.package.clone(), row.channel.clone(), latest, row.versions.to_string()]);
            }
            table.render()
        },
    )
}
