use clap::Args;
use milepost_channels::LatestAnswer;
use milepost_model::channel::{All, ArtifactId, Entry};
use serde::Serialize;

use super::place::{PlaceArgs, source};
use crate::args::Global;
use crate::failure::Result;
use crate::output::{Table, Ui, local};

/// List the versions of a channel, newest first
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Channel of the package, or the URL of any channel [default: stable]
    #[arg(value_name = "CHANNEL")]
    channel: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
    /// Author's public key; content that it did not sign is refused
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    package: &'a str,
    channel: &'a str,
    url: &'a str,
    /// Present if a key was given.
    serial: Option<u64>,
    /// Whether the file `latest` agrees with the list. It does not during a publish, or after one
    /// that was interrupted.
    settled: bool,
    latest: Option<&'a Entry>,
    versions: &'a [Entry],
    unpublished: &'a [Entry],
}

pub async fn run(ui: &Ui, global: &Global, args: ShowArgs) -> Result<()> {
    let source = source(ui, global, &args.place, args.channel.as_deref(), args.key.as_deref())?;
    let latest = match source.latest(None).await {
        Ok(LatestAnswer::Read(read)) => Some(read.latest),
        Ok(LatestAnswer::NotModified) => None,
        Err(milepost_channels::ChannelError::Gone { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let read = source.all().await?;
    let all = &read.all;
    let settled = latest.is_some_and(|latest| latest.latest.as_ref() == all.latest());
    let shown = Shown {
        package: all.package().as_str(),
        channel: all.name().as_str(),
        url: source.place(),
        serial: read.serial,
        settled,
        latest: all.latest(),
        versions: all.versions(),
        unpublished: all.unpublished(),
    };
    if !settled {
        ui.warn("the channel's `latest` does not match its list: a publish is in progress or was interrupted");
        ui.hint("the next `milepost publish` repairs it");
    }
    ui.show(&shown, |shown| shown.versions.iter().map(|entry| entry.version.to_string()).collect(), |_| table(all))
}

fn table(all: &All) -> String {
    let mut table = Table::new(["VERSION", "SHA", "PUBLISHED", "STATE", "REGISTRY"], "No versions are published here.");
    let mut row = |entry: &Entry, state: &str| {
        let id = match &entry.id {
            ArtifactId::Digest(digest) => digest.short(),
            ArtifactId::Short(text) => text.clone(),
        };
        let registry = entry.registry.clone().unwrap_or_default();
        table.row([entry.version.to_string(), id, local(entry.create_time), state.to_owned(), registry]);
    };
    for entry in all.versions() {
        let is_latest = all.latest().is_some_and(|latest| latest.version == entry.version);
        row(entry, if is_latest { "latest" } else { "" });
    }
    for entry in all.unpublished() {
        row(entry, "unpublished");
    }
    table.render()
}
