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
    /// A channel of the package, or the address of any channel [default: stable]
    #[arg(value_name = "CHANNEL")]
    channel: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
    /// The author's public key: refuse what it did not sign
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    package: &'a str,
    channel: &'a str,
    url: &'a str,
    /// Known when a key was given.
    serial: Option<u64>,
    /// The file `latest` says the same as the list; not so while a publish is under way or was cut off.
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
        ui.warn("`latest` of the channel is not that of its list: a publish is under way, or was cut off");
        ui.hint("the next `milepost publish` mends it");
    }
    ui.show(&shown, |shown| shown.versions.iter().map(|entry| entry.version.to_string()).collect(), |_| table(all))
}

fn table(all: &All) -> String {
    let mut table = Table::new(["VERSION", "SHA", "PUBLISHED", "STATE", "REGISTRY"], "Nothing is published here.");
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
