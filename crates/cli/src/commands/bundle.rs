use std::path::PathBuf;

use clap::Args;
use indicatif::ProgressBar;
use milepost_channels::bundle;
use milepost_model::channel::SemVer;
use serde_json::json;

use crate::args::Global;
use crate::commands::channel::place::{PlaceArgs, source};
use crate::failure::{Failure, Result};
use crate::output::Ui;

/// Write a channel to one file, for machines without network access
///
/// The file contains the index, its signatures and the artifacts, including those in a registry.
/// Install from it with `milepost install --bundle FILE`. The output is reproducible: the same
/// channel content gives the same bytes.
#[derive(Debug, Args)]
pub struct BundleArgs {
    /// Channel of the package, or the URL of any channel [default: stable]
    #[arg(value_name = "CHANNEL")]
    channel: Option<String>,
    /// Version to include (can be repeated) [default: all]
    #[arg(long = "version", value_name = "VERSION")]
    versions: Vec<String>,
    /// File to write [default: PACKAGE-CHANNEL.bundle]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
    /// Author's public key; content that it did not sign is refused
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub async fn run(ui: &Ui, global: &Global, args: BundleArgs) -> Result<()> {
    let source = source(ui, global, &args.place, args.channel.as_deref(), args.key.as_deref())?;
    let parse = |text: &String| text.parse().map_err(|error| Failure::usage(format!("{error}")));
    let versions: Vec<SemVer> = args.versions.iter().map(parse).collect::<Result<_>>()?;
    let chosen = (!versions.is_empty()).then_some(versions.as_slice());
    let file = match args.file {
        Some(file) => file,
        None => {
            let all = source.all().await?.all;
            PathBuf::from(format!("{}-{}.bundle", all.package().as_str().replace('/', "-"), all.name()))
        }
    };
    let bar = if ui.shows_progress() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    let mut progress = |version: &SemVer| {
        bar.set_message(format!("Fetching {version}"));
        bar.tick();
    };
    let written = bundle::write(&source, &file, chosen, &mut progress).await;
    bar.finish_and_clear();
    let written = written?;
    let report = json!({
        "file": file,
        "package": written.all.package(),
        "channel": written.all.name(),
        "versions": written.versions,
        "bytes": written.bytes,
        "signed": written.signed,
    });
    ui.show(
        &report,
        |_| vec![file.display().to_string()],
        |_| {
            let signed = if written.signed { "signed" } else { "not signed" };
            let count = written.versions.len();
            // `install --bundle` installs the latest version by default. If it was left out, the
            // command must name a version.
            let latest = written.all.latest().map(|latest| &latest.version);
            let named = match written.versions.first() {
                Some(first) if latest.is_none_or(|latest| !written.versions.contains(latest)) => {
                    format!("{}:{first} ", written.all.package())
                }
                _ => String::new(),
            };
            format!(
                "Wrote {} with {count} version{} of {} {} ({} bytes, {signed}).\nInstall it with `milepost install {named}--bundle {}`.",
                file.display(),
                if count == 1 { "" } else { "s" },
                written.all.package(),
                written.all.name(),
                written.bytes,
                file.display(),
            )
        },
    )
}
